package durable

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// delivery is a snapshot that was ordered: its file, open for reading, or why there is none.
type delivery struct {
	Meta snapshot.Meta
	File vfs.File
	Err  error
}

var ErrStopping = errors.New("server: stopping")

// Order writes a snapshot now, or after the one that is being written, and opens it. The caller closes the file. It
// gives up when ctx is done before the snapshot was begun, and when the server stops.
func (sn *snapshotter) Order(ctx context.Context) delivery {
	done := make(chan delivery, 1)
	sn.mu.Lock()
	sn.mu.orders = append(sn.mu.orders, done)
	sn.mu.Unlock()
	sn.wake.Unpark()
	select {
	case d := <-done:
		return d
	case <-ctx.Done():
		if sn.withdraw(done) {
			return delivery{Err: ctx.Err()}
		}
	case <-sn.srv.Stopping.Done():
		if sn.withdraw(done) {
			return delivery{Err: ErrStopping}
		}
	}
	return <-done
}

// withdraw takes back an order, unless the snapshot was begun.
func (sn *snapshotter) withdraw(done chan<- delivery) bool {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	i := slices.Index(sn.mu.orders, done)
	if i >= 0 {
		sn.mu.orders = slices.Delete(sn.mu.orders, i, i+1)
	}
	return i >= 0
}

// nextOrder takes the first order; ok is false if there is none.
func (sn *snapshotter) nextOrder() (done chan<- delivery, ok bool) {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if len(sn.mu.orders) == 0 {
		return nil, false
	}
	done, sn.mu.orders = sn.mu.orders[0], sn.mu.orders[1:]
	return done, true
}

// deliver answers one order. The file is open before anything can be purged again, so its bytes stay.
func (sn *snapshotter) deliver() delivery {
	m, err := sn.Write()
	if err != nil {
		return delivery{Err: err}
	}
	f, err := sn.srv.FS.Open(filepath.Join(sn.srv.SnapDir(), m.Name))
	return delivery{Meta: m, File: f, Err: err}
}
