package words

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// Restore implements admin.Node for a standalone server. A member of an ensemble refuses, because the other servers
// would keep the old state.
func (n AdminNode) Restore(ctx context.Context, r io.Reader) (int64, error) {
	s := n.Reporter
	if s.Config.Distributed() || !s.Doors.IsOpen() {
		return 0, admin.ErrCannotRestore
	}
	path, err := s.receiveSnapshot(r)
	if path != "" {
		defer func() {
			if err := s.FS.Remove(path); err != nil {
				s.Log.Warn("removing a snapshot that was received", zap.String("file", path), zap.Error(err))
			}
		}()
	}
	if err != nil {
		return 0, err
	}
	loader := datatree.NewLoader(datatree.Config{SkipACL: s.Config.SkipACL})
	trailer, err := snapshot.Load(s.FS, path, loader)
	if err != nil {
		return 0, err
	}
	zxid, err := s.host.Restore(loader, trailer)
	if errors.Is(err, host.ErrCannotRestore) {
		err = admin.ErrCannotRestore
	}
	return int64(zxid), err
}

// restoreName is the file into which a snapshot is received, without the suffix for its compression.
const restoreName = "restore.tmp"

// receiveSnapshot writes the snapshot that a client sends to a file. It returns the path of the file, if there is
// one.
func (s *Reporter) receiveSnapshot(r io.Reader) (path string, err error) {
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
	path = filepath.Join(s.SnapDir(), restoreName+suffix)
	f, err := s.FS.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := make([]byte, 256<<10)
	for off := int64(0); ; {
		if s.Guard.Full() {
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

// RestoreRefused implements admin.Node.
func (n AdminNode) RestoreRefused() { n.Metrics.RestoreRefused.Inc() }
