package orders

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
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// Snapshot is a snapshot file that is complete and durable.
type Snapshot struct {
	Zxid int64 // in its name
	Size int64 // bytes in the file
	Body io.ReadCloser
}

// ErrCannotRestore is returned by Restore if this server cannot replace its state.
var ErrCannotRestore = errors.New("admin: this server cannot replace its state")

// Snapshot writes a snapshot and opens it. It gives up when ctx is done.
func (n *Live) Snapshot(ctx context.Context) (*Snapshot, error) {
	d := n.disk.Snapshotter.Order(ctx)
	if d.Err != nil {
		return nil, d.Err
	}
	return &Snapshot{Zxid: int64(d.Meta.Zxid), Size: d.Meta.Size, Body: d.File}, nil
}

// Restore replaces the state of this server by that of a snapshot file, compressed or not, and returns its last zxid.
// It reads and checks all of r before it changes anything. A member of an ensemble refuses without reading r, because
// the other servers would keep the old state, and so does a server that receives another snapshot: ErrCannotRestore.
func (n *Live) Restore(r io.Reader) (int64, error) {
	if n.Config.Distributed() || !n.Doors.IsOpen() {
		return 0, ErrCannotRestore
	}
	if !n.restoring.TryLock() { // both would write to the same file
		return 0, fmt.Errorf("%w: another restore is in progress", ErrCannotRestore)
	}
	defer n.restoring.Unlock()
	path, err := n.receiveSnapshot(r)
	if path != "" {
		defer func() {
			if err := n.FS.Remove(path); err != nil {
				n.Log.Warn("cannot remove a received snapshot that is no longer needed",
					zap.String("file", path), zap.Error(err))
			}
		}()
	}
	if err != nil {
		return 0, err
	}
	loader := datatree.NewLoader(datatree.Config{SkipACL: n.Config.SkipACL})
	trailer, err := snapshot.Load(n.FS, path, loader)
	if err != nil {
		return 0, err
	}
	zxid, err := n.host.Restore(loader, trailer)
	if errors.Is(err, host.ErrCannotRestore) {
		err = ErrCannotRestore
	}
	return int64(zxid), err
}

// restoreName is the file into which a snapshot is received, without the suffix for its compression. What a crash
// leaves of it is removed by the next start, as an unfinished snapshot.
const restoreName = "tmp.snapshot.restore"

// receiveSnapshot writes the snapshot that a client sends to a file. It returns the path of the file, if there is
// one.
func (n *Live) receiveSnapshot(r io.Reader) (path string, err error) {
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
	path = filepath.Join(n.SnapDir(), restoreName+suffix)
	f, err := n.FS.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := make([]byte, 256<<10)
	for off := int64(0); ; {
		if n.Guard.Full() {
			return path, fmt.Errorf("server: receiving a snapshot: %w", vfs.ErrNoSpace)
		}
		size, err := io.ReadFull(in, b)
		if size > 0 {
			if _, err := f.WriteAt(b[:size], off); err != nil {
				return path, err
			}
			off += int64(size)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return path, nil
		case err != nil:
			return path, err
		}
	}
}
