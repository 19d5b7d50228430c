package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// Restore implements admin.Node for a standalone server. A member of an ensemble refuses: the others would not know of it.
func (n adminNode) Restore(ctx context.Context, r io.Reader) (int64, error) {
	s := n.Server
	if s.cfg.Distributed() || !s.serving.Load() {
		return 0, admin.ErrCannotRestore
	}
	path, err := s.receiveSnapshot(r)
	if path != "" {
		defer func() {
			if err := s.fs.Remove(path); err != nil {
				s.log.Warn("removing a snapshot that was received", zap.String("file", path), zap.Error(err))
			}
		}()
	}
	if err != nil {
		return 0, err
	}
	loader := datatree.NewLoader(datatree.Config{SkipACL: s.cfg.SkipACL})
	trailer, err := snapshot.Load(s.fs, path, loader)
	if err != nil {
		return 0, err
	}
	re := &restoration{m: s.member, loader: loader, trailer: trailer, done: make(chan error, 1)}
	if !s.member.do(re.begin) {
		return 0, admin.ErrCannotRestore
	}
	select {
	case err = <-re.done:
	case <-s.applied.Done(): // the server has stopped before its turn came
		err = errStopping
	}
	return int64(re.zxid), err
}

// restoreName is the file that a snapshot is received in, without the suffix that says how it is packed.
const restoreName = "restore.tmp"

// receiveSnapshot writes what a client sends to a file and returns its path, if there is one.
func (s *Server) receiveSnapshot(r io.Reader) (path string, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(10)
	if err != nil {
		return "", fmt.Errorf("server: a snapshot of less than %d bytes: %w", 10, err)
	}
	suffix := ""
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		suffix = ".gz"
	case bytes.HasPrefix(head, []byte("\x82SNAPPY")), bytes.HasPrefix(head, []byte("\xff\x06\x00\x00sNaPpY")):
		suffix = ".snappy"
	}
	path = filepath.Join(s.snapDir(), restoreName+suffix)
	f, err := s.fs.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := make([]byte, 256<<10)
	for off := int64(0); ; {
		if s.guard.full() {
			return path, fmt.Errorf("server: receiving a snapshot: %w", vfs.ErrNoSpace)
		}
		n, err := io.ReadFull(in, b)
		if n > 0 {
			if _, err := f.WriteAt(b[:n], off); err != nil {
				return path, err
			}
			off += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return path, nil
		case err != nil:
			return path, err
		}
	}
}

// restoration replaces the state of a standalone server by one that was received. The service ends when all that was received is
// finished, the journal replaces the database, and the service begins anew.
type restoration struct {
	m       *member
	loader  *datatree.Loader
	trailer snapshot.Trailer
	began   time.Time
	zxid    proto.Zxid
	done    chan error
}

// begin is called in the node goroutine.
func (re *restoration) begin() {
	a, ok := re.m.core.(*alone)
	if !ok || !a.Pause(func() { re.m.journal.call(func() { re.replace(a) }) }) {
		re.done <- admin.ErrCannotRestore
		return
	}
	re.began = time.Now()
	re.m.again = true
}

// replace is called in the goroutine of the journal while nothing is on its way to the log or to the state.
func (re *restoration) replace(a *alone) {
	s := re.m.srv
	last := s.store.lastZxid()
	re.zxid = max(last, re.trailer.LastZxid, re.trailer.DigestZxid)
	state, err := re.install()
	if err != nil {
		re.zxid = last
	} else {
		re.m.applier.swap(state)
	}
	re.m.do(func() {
		re.m.afterOpening = func() { re.done <- err }
		a.Resume(re.zxid)
	})
	if err == nil {
		s.log.Info("restored a snapshot", zap.Stringer("zxid", re.zxid), zap.Int("znodes", state.NumNodes()), zap.Duration("took", time.Since(re.began)))
	}
}

// install makes the state durable: as a snapshot that is newer than the whole log, so that a restart comes to the same.
func (re *restoration) install() (*datatree.State, error) {
	s, j := re.m.srv, re.m.journal
	state, err := re.loader.Done(re.zxid)
	if err != nil {
		return nil, err
	}
	if re.trailer.HasDigest && re.trailer.DigestVersion == proto.DigestVersion && re.trailer.Digest != state.Digest() {
		s.log.Warn("the snapshot was taken while txns went on: what they created meanwhile is not in it")
	}
	w := state.NewWalker()
	_, err = s.snaps.Write(re.zxid, walkerSource{w})
	w.Close()
	if err != nil {
		return nil, err
	}
	if err := j.log.Reset(re.zxid); err != nil {
		s.fatal("emptying the log after a restore", err)
		return nil, err
	}
	j.txns, j.before = 0, 0
	return state, nil
}

// RestoreRefused implements admin.Node.
func (n adminNode) RestoreRefused() { n.metrics.restoreRefused.Inc() }
