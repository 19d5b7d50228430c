package server

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// delivery is a snapshot that was ordered: its file, open for reading, or why there is none.
type delivery struct {
	meta snapshot.Meta
	file vfs.File
	err  error
}

var errStopping = errors.New("server: stopping")

// order writes a snapshot now, or after the one that is being written, and opens it. The caller closes the file. It
// gives up when ctx is done before the snapshot was begun, and when the server stops.
func (sn *snapshotter) order(ctx context.Context) delivery {
	done := make(chan delivery, 1)
	select {
	case sn.orders <- done:
		return <-done
	case <-ctx.Done():
		return delivery{err: ctx.Err()}
	case <-sn.srv.stopping:
		return delivery{err: errStopping}
	}
}

// deliver answers one order. The file is open before anything can be purged again, so its bytes stay.
func (sn *snapshotter) deliver() delivery {
	m, err := sn.write()
	if err != nil {
		return delivery{err: err}
	}
	f, err := sn.srv.fs.Open(filepath.Join(sn.srv.snapDir(), m.Name))
	return delivery{meta: m, file: f, err: err}
}
