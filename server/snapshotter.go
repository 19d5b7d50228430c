package server

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal/vfs"
)

// snapshotter writes snapshots, one at a time, while txns go on, and removes what is superseded.
type snapshotter struct {
	srv  *disk
	wake sched.Parker // of the goroutine
	size atomic.Int64 // of the newest snapshot, in bytes
	// held is true in a member that has not served yet: what it has recovered may never have been agreed on.
	held atomic.Bool

	mu struct {
		sync.Mutex
		wanted bool              // a snapshot is wanted
		purge  bool              // it is time to purge
		orders []chan<- delivery // snapshots for which a goroutine waits; what takes an order answers it
	}
}

func newSnapshotter(s *disk) *snapshotter {
	sn := &snapshotter{srv: s, wake: s.rt.Parker()}
	if all, err := s.snaps.List(); err == nil && len(all) > 0 {
		sn.size.Store(all[0].Size)
	}
	return sn
}

// allow lets snapshots be written from now on.
func (sn *snapshotter) allow() {
	if sn.held.Swap(false) && sn.srv.replayed > sn.srv.cfg.SnapCount {
		sn.request() // the log has grown while nobody could write one
	}
}

var errHeld = errors.New("server: no snapshot is written before the ensemble has agreed on the state")

// request asks for a snapshot. While one is being written, it asks for another after it.
func (sn *snapshotter) request() {
	sn.set(&sn.mu.wanted)
}

// set notes something to be done, one of the flags in mu.
func (sn *snapshotter) set(flag *bool) {
	sn.mu.Lock()
	*flag = true
	sn.mu.Unlock()
	sn.wake.Unpark()
}

// take reports whether something was to be done, and clears its flag.
func (sn *snapshotter) take(flag *bool) bool {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	was := *flag
	*flag = false
	return was
}

func (sn *snapshotter) run() {
	s := sn.srv
	purges := s.cfg.Autopurge.PurgeInterval > 0
	if purges {
		cancel := sched.Every(s.rt, s.cfg.Autopurge.PurgeInterval, func() { sn.set(&sn.mu.purge) })
		defer cancel()
		sn.purge()
	}
	for !s.stopping.IsOpen() {
		order, ordered := sn.nextOrder()
		switch {
		case ordered:
			order <- sn.deliver()
		case sn.take(&sn.mu.wanted):
			_, _ = sn.write() // it says itself what went wrong
			if purges {
				sn.purge()
			}
		case sn.take(&sn.mu.purge):
			sn.purge()
		default:
			sn.wake.Park()
		}
	}
}

// write takes one snapshot. A disk without room for it is no failure: the log keeps everything,
// and the next request tries again.
func (sn *snapshotter) write() (snapshot.Meta, error) {
	s := sn.srv
	if sn.held.Load() {
		return snapshot.Meta{}, errHeld
	}
	began := time.Now()
	s.store.mu.RLock()
	w := s.store.state.NewWalker()
	zxid := w.Zxid()
	s.store.mu.RUnlock()
	defer func() {
		s.store.mu.Lock()
		w.Close()
		s.store.mu.Unlock()
	}()
	m, err := s.snaps.Write(zxid, newLockedSource(s.env, w))
	took := time.Since(began)
	switch {
	case errors.Is(err, snapshot.ErrClosed):
		return m, err
	case err != nil:
		s.metrics.snapshotErrors.Inc()
		if errors.Is(err, vfs.ErrNoSpace) {
			sn.purge()
		}
		s.log.Error("writing a snapshot", zap.Stringer("zxid", zxid), zap.Duration("took", took), zap.Error(err))
		return m, err
	}
	sn.size.Store(m.Size)
	s.metrics.snapshotTime.Observe(took.Seconds())
	s.stats.SnapshotTime.Observe(took.Milliseconds())
	s.log.Info("wrote snapshot", zap.String("file", m.Name), zap.Int64("bytes", m.Size), zap.Duration("took", took))
	return m, nil
}

// purge removes snapshots that are superseded and the logs that only they need. Source:
// storage 9.
func (sn *snapshotter) purge() {
	s := sn.srv
	oldest, snaps, err := s.snaps.Prune(s.cfg.Autopurge.SnapRetainCount)
	switch {
	case errors.Is(err, snapshot.ErrNone) && sn.hasNoFile():
		return // a new member has none before it has synchronized
	case err != nil:
		s.log.Warn("purging snapshots", zap.Error(err))
		return
	}
	logs, err := s.wal.Purge(oldest)
	if err != nil {
		s.log.Warn("purging logs", zap.Error(err))
	}
	if len(snaps)+len(logs) > 0 {
		s.log.Info("purged", zap.Strings("snapshots", snaps), zap.Strings("logs", logs))
	}
}

// hasNoFile reports whether there is no snapshot, not even a damaged one.
func (sn *snapshotter) hasNoFile() bool {
	names, err := sn.srv.fs.List(sn.srv.snapDir())
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		_, _, ok := snapshot.ParseName(name)
		return ok
	})
}

// sliceBytes is how much of the tree is serialised under one hold of the read lock.
const sliceBytes = 32 << 10

// restBytes is how much of a snapshot is written before its writer rests.
const restBytes = 256 << 10

// lockedSource is a walker that takes the read lock for each slice, and rests as long as it works,
// so that clients keep the better half of every core.
type lockedSource struct {
	rt     sched.Runtime
	store  *store
	walker *datatree.Walker
	since  time.Duration // when it last rested, on the clock of Elapsed
	bytes  int           // since then
}

func newLockedSource(s *env, w *datatree.Walker) *lockedSource {
	return &lockedSource{rt: s.rt, store: s.store, walker: w, since: s.rt.Elapsed()}
}

// restMost bounds one rest: a disk that is slow is not to make the snapshot slower still.
const restMost = 20 * time.Millisecond

var _ snapshot.Source = (*lockedSource)(nil)

// Next implements snapshot.Source.
func (l *lockedSource) Next(b []byte) ([]byte, bool) {
	if l.bytes >= restBytes {
		sched.Sleep(l.rt, min(l.rt.Elapsed()-l.since, restMost))
		l.bytes, l.since = 0, l.rt.Elapsed()
	}
	l.store.mu.RLock()
	defer l.store.mu.RUnlock()
	out, done := l.walker.Next(b, sliceBytes)
	l.bytes += len(out) - len(b)
	return out, done
}

// End implements snapshot.Source.
func (l *lockedSource) End() (proto.Zxid, int64) {
	l.store.mu.RLock()
	defer l.store.mu.RUnlock()
	return l.walker.End()
}

// walkerSource is a walker over a state that nobody changes.
type walkerSource struct{ w *datatree.Walker }

// Next implements snapshot.Source.
func (s walkerSource) Next(b []byte) ([]byte, bool) { return s.w.Next(b, 1<<20) }

// End implements snapshot.Source.
func (s walkerSource) End() (proto.Zxid, int64) { return s.w.End() }
