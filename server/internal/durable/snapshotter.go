package durable

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// snapshotter writes snapshots, one at a time, while txns go on, and removes snapshots and logs that are not needed
// any more.
type snapshotter struct {
	srv  *Disk
	wake sched.Parker // of the snapshotter goroutine
	Size atomic.Int64 // of the newest snapshot, in bytes
	// Held is true on a member of an ensemble that has not served yet: the state that it has recovered may never
	// have been agreed on.
	Held atomic.Bool
	// purgeTrouble is why the last purge has failed; nil if it has not.
	purgeTrouble atomic.Pointer[error]

	mu struct {
		sync.Mutex
		wanted bool // a snapshot is wanted
		purge  bool // it is time to purge
		// orders are snapshots for which a goroutine waits. The goroutine that takes an order answers it.
		orders []chan<- delivery
	}
}

func newSnapshotter(s *Disk) *snapshotter {
	sn := &snapshotter{srv: s, wake: s.Runtime.Parker()}
	if all, err := s.Snaps.List(); err == nil && len(all) > 0 {
		sn.Size.Store(all[0].Size)
	}
	sn.mu.wanted = s.renew && !s.Config.Distributed()
	return sn
}

// Allow permits snapshots from now on.
func (sn *snapshotter) Allow() {
	if sn.Held.Swap(false) && (sn.srv.renew || sn.srv.replayed > sn.srv.Config.SnapCount) {
		sn.Request() // the log has grown while no snapshot was permitted
	}
}

var errHeld = errors.New("server: no snapshot before the ensemble has agreed on the state")

// Request asks for a snapshot. While one is being written, it asks for one more after it.
func (sn *snapshotter) Request() { sn.set(&sn.mu.wanted) }

// set sets one of the flags in mu and wakes the snapshotter.
func (sn *snapshotter) set(flag *bool) {
	sn.mu.Lock()
	*flag = true
	sn.mu.Unlock()
	sn.wake.Unpark()
}

// take clears a flag, and reports whether it was set.
func (sn *snapshotter) take(flag *bool) bool {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	was := *flag
	*flag = false
	return was
}

func (sn *snapshotter) Run() {
	s := sn.srv
	purges := s.Config.Autopurge.PurgeInterval > 0
	if purges {
		cancel := sched.Every(s.Runtime, s.Config.Autopurge.PurgeInterval, func() { sn.set(&sn.mu.purge) })
		defer cancel()
		sn.Purge()
	}
	for !s.Stopping.IsOpen() {
		order, ordered := sn.nextOrder()
		switch {
		case ordered:
			order <- sn.deliver()
		case sn.take(&sn.mu.wanted):
			_, _ = sn.Write() // it logs its errors
			if purges {
				sn.Purge()
			}
		case sn.take(&sn.mu.purge):
			sn.Purge()
		default:
			sn.wake.Park()
		}
	}
}

// Write takes one snapshot. A disk without room for it does no harm: the log keeps everything, and the next request
// tries again.
func (sn *snapshotter) Write() (snapshot.Meta, error) {
	s := sn.srv
	if sn.Held.Load() {
		return snapshot.Meta{}, errHeld
	}
	began := s.Runtime.Elapsed()
	s.Store.Mu.RLock()
	w := s.Store.State.NewWalker()
	zxid := w.Zxid()
	s.Store.Mu.RUnlock()
	defer func() {
		s.Store.Mu.Lock()
		w.Close()
		s.Store.Mu.Unlock()
	}()
	m, err := s.Snaps.Write(zxid, NewLockedSource(s.Env, w))
	took := s.Runtime.Elapsed() - began
	switch {
	case errors.Is(err, snapshot.ErrClosed):
		return m, err
	case err != nil:
		s.Metrics.SnapshotErrors.Inc()
		if errors.Is(err, vfs.ErrNoSpace) {
			sn.Purge()
		}
		s.Log.Error("cannot write a snapshot", zap.Stringer("zxid", zxid), zap.Duration("took", took), zap.Error(err))
		return m, err
	}
	sn.Size.Store(m.Size)
	s.Metrics.SnapshotTime.Observe(took.Seconds())
	s.Stats.SnapshotTime.Observe(took.Milliseconds())
	s.Log.Info("wrote snapshot", zap.String("file", m.Name), zap.Int64("bytes", m.Size), zap.Duration("took", took))
	return m, nil
}

// PurgeTrouble returns why old files could not be removed the last time, or nil. Any goroutine may ask.
func (sn *snapshotter) PurgeTrouble() error {
	if err := sn.purgeTrouble.Load(); err != nil {
		return *err
	}
	return nil
}

// Purge removes superseded snapshots, and the logs that only they need. Source: storage 9.
func (sn *snapshotter) Purge() {
	if err := sn.purge(); err != nil {
		sn.srv.Metrics.PurgeErrors.Inc()
		sn.purgeTrouble.Store(&err)
		return
	}
	sn.purgeTrouble.Store(nil)
}

func (sn *snapshotter) purge() error {
	s := sn.srv
	oldest, snaps, err := s.Snaps.Prune(s.Config.Autopurge.SnapRetainCount)
	switch {
	case errors.Is(err, snapshot.ErrNone) && sn.hasNoFile():
		return nil // a new server has none before it has synchronized
	case err != nil:
		s.Log.Warn("cannot purge snapshots", zap.Error(err))
		return err
	}
	logs, err := s.WAL.Purge(oldest)
	if err != nil {
		s.Log.Warn("cannot purge logs", zap.Error(err))
	}
	if len(snaps)+len(logs) > 0 {
		s.Log.Info("purged", zap.Strings("snapshots", snaps), zap.Strings("logs", logs))
	}
	return err
}

// hasNoFile reports whether there is no snapshot, not even a damaged one.
func (sn *snapshotter) hasNoFile() bool {
	names, err := sn.srv.FS.List(sn.srv.SnapDir())
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		_, _, ok := snapshot.ParseName(name)
		return ok
	})
}

// sliceBytes is how much of the tree is serialised under one hold of the read lock.
const sliceBytes = 32 << 10

// restBytes is how much of a snapshot is written before its writer pauses.
const restBytes = 256 << 10

// lockedSource is a walker that takes the read lock for each slice. It pauses for as long as it works, so that
// clients get at least half of every core.
type lockedSource struct {
	rt     sched.Runtime
	store  *env.Store
	walker *datatree.Walker
	since  time.Duration // end of the last pause, on the clock of Elapsed
	bytes  int           // bytes since then
}

func NewLockedSource(s *env.Env, w *datatree.Walker) *lockedSource {
	return &lockedSource{rt: s.Runtime, store: s.Store, walker: w, since: s.Runtime.Elapsed()}
}

// restMost bounds one pause: a slow disk must not make the snapshot slower still.
const restMost = 20 * time.Millisecond

var _ snapshot.Source = (*lockedSource)(nil)

// Next implements snapshot.Source.
func (l *lockedSource) Next(b []byte) ([]byte, bool) {
	if l.bytes >= restBytes {
		sched.Sleep(l.rt, min(l.rt.Elapsed()-l.since, restMost))
		l.bytes, l.since = 0, l.rt.Elapsed()
	}
	l.store.Mu.RLock()
	defer l.store.Mu.RUnlock()
	out, done := l.walker.Next(b, sliceBytes)
	l.bytes += len(out) - len(b)
	return out, done
}

// End implements snapshot.Source.
func (l *lockedSource) End() (proto.Zxid, int64) {
	l.store.Mu.RLock()
	defer l.store.Mu.RUnlock()
	return l.walker.End()
}

// walkerSource is a walker over a state that does not change.
type walkerSource struct{ w *datatree.Walker }

// Next implements snapshot.Source.
func (s walkerSource) Next(b []byte) ([]byte, bool) { return s.w.Next(b, 1<<20) }

// End implements snapshot.Source.
func (s walkerSource) End() (proto.Zxid, int64) { return s.w.End() }

// WholeSource is a source for a snapshot of a state that does not change.
func WholeSource(w *datatree.Walker) snapshot.Source { return walkerSource{w} }

// delivery is the answer to an order: the file of the snapshot, open for reading, or an error.
type delivery struct {
	Meta snapshot.Meta
	File vfs.File
	Err  error
}

var ErrStopping = errors.New("server: stopping")

// Order writes a snapshot now, or after the one that is being written, and opens it. The caller closes the file.
// Order gives up when ctx is done before the snapshot was begun, and when the server stops.
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

// withdraw takes back an order, unless its snapshot was begun.
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

// deliver answers one order. The file is opened before the next purge, so it stays readable.
func (sn *snapshotter) deliver() delivery {
	m, err := sn.Write()
	if err != nil {
		return delivery{Err: err}
	}
	f, err := sn.srv.FS.Open(filepath.Join(sn.srv.SnapDir(), m.Name))
	return delivery{Meta: m, File: f, Err: err}
}
