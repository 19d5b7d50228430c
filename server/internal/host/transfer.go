package host

import (
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

// heardEvery is how often the core is told that a snapshot, or a long history, is still on its way.
const heardEvery = 100 * time.Millisecond

// arrivals are states that leaders have sent: from when one is loaded until it is installed, or until its link has
// closed and nobody wants it. Readers of links put them in, and the journal takes them.
type arrivals struct {
	mu     sync.Mutex
	byLink map[zab.LinkID]*durable.Loading
	// wanted are the states that the journal will install, even if their link closes first.
	wanted map[zab.LinkID]*durable.Loading
}

func newArrivals() arrivals {
	return arrivals{byLink: map[zab.LinkID]*durable.Loading{}, wanted: map[zab.LinkID]*durable.Loading{}}
}

func (a *arrivals) put(id zab.LinkID, state *durable.Loading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byLink[id] = state
}

// want keeps a state until the journal has installed it: the link may close first.
func (a *arrivals) want(id zab.LinkID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := a.byLink[id]; got != nil {
		a.wanted[id] = got
		delete(a.byLink, id)
	}
}

// on returns the wanted state that has arrived on a link.
func (a *arrivals) on(id zab.LinkID) *durable.Loading {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wanted[id]
}

func (a *arrivals) installed(id zab.LinkID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, id)
}

// drop frees the states received on links that have closed, but for those that are wanted.
func (a *arrivals) drop(links []zab.LinkID) {
	if len(links) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range links {
		delete(a.byLink, id)
	}
}

// sender brings learners up to date, by a snapshot or by txns of the log. The host goroutine calls it; the goroutines
// of the links send. Only members of an ensemble have one.
type sender struct {
	*env.Env
	disk    *durable.Disk
	member  *zab.Core
	applied func(fn func())      // runs fn when everything queued before it is applied
	do      func(fn func()) bool // runs fn in the host goroutine
}

// sendSnapshot sends the state while txns are applied to it: at least up to zxid, and fuzzy above. The core is told
// how far it reaches.
func (s *sender) sendSnapshot(l *peers.Link, zxid proto.Zxid) {
	// A TRUNC or SNAP of an earlier leader may still have to replace the state.
	settled := sched.NewGate(s.Runtime)
	s.applied(settled.Open)
	l.SendSnapshot(zxid, func(w io.Writer) error {
		began := s.Clock.Steady()
		defer s.Metrics.Quorum.SnapBegins()()
		if sched.WaitAny(s.Runtime, settled, s.Stopping); !settled.IsOpen() {
			return durable.ErrStopping
		}
		for s.Store.LastZxid() < zxid { // its txns are committed, so they will be applied
			if s.Stopping.WaitFor(time.Millisecond) {
				return durable.ErrStopping
			}
		}
		s.Store.Mu.RLock()
		walker := s.Store.State.NewWalker()
		s.Store.Mu.RUnlock()
		defer func() {
			s.Store.Mu.Lock()
			walker.Close()
			s.Store.Mu.Unlock()
		}()
		source := durable.NewLockedSource(s.Env, walker)
		if err := snapshot.WriteStream(s.taken(l, w), source); err != nil {
			return err
		}
		upTo, _ := source.End()
		s.Log.Info("sent a snapshot", zap.Int64("server", int64(l.Peer)), zap.Stringer("zxid", zxid),
			zap.Stringer("up_to", upTo), zap.Duration("took", s.Clock.Steady().Sub(began)))
		s.do(func() { s.member.Streamed(l.ID, upTo) })
		return nil
	})
}

// replay sends the txns in (after, upTo] of the log as proposals and commits. If the log does not hold them all, the
// link ends with those that it holds, and nothing follows them.
func (s *sender) replay(l *peers.Link, after, upTo proto.Zxid) {
	l.Stream(func(w io.Writer) error {
		began := s.Clock.Steady()
		defer s.Metrics.Quorum.DiffBegins()()
		n := 0
		var b []byte
		w = s.taken(l, w)
		err := s.disk.Txns(after, upTo, func(zxid proto.Zxid, payload []byte) error {
			n++
			b = peers.AppendCommit(peers.AppendTxn(b[:0], zxid, payload), zxid)
			_, err := w.Write(b)
			return err
		})
		if err != nil {
			return err
		}
		s.Log.Info("sent txns of the log", zap.Int64("server", int64(l.Peer)), zap.Stringer("after", after),
			zap.Stringer("up_to", upTo), zap.Int("txns", n), zap.Duration("took", s.Clock.Steady().Sub(began)))
		return nil
	})
}

// throttled logs that observers are sent away because too many learners are synchronizing.
func (s *sender) throttled(ids []zab.LinkID, k *links) {
	for _, id := range ids {
		snaps, diffs := s.member.Syncing()
		fields := []zap.Field{zap.Int("snap_syncs", snaps), zap.Int("diff_syncs", diffs)}
		if l := k.open[id]; l != nil {
			fields = append(fields, zap.Int64("server", int64(l.Peer)))
		}
		s.Log.Warn("sending an observer away, which tries again: too many learners are synchronizing", fields...)
	}
}

// countSyncs measures how many learners are synchronizing.
func (s *sender) countSyncs() {
	snaps, diffs := s.member.Syncing()
	s.Metrics.Quorum.InflightSnaps.Observe(int64(snaps))
	s.Metrics.Quorum.InflightDiffs.Observe(int64(diffs))
}

// taken returns a writer to a learner which tells the core now and then that the learner takes what is written. The
// learner itself says nothing before it has everything, which may take longer than initLimit.
func (s *sender) taken(l *peers.Link, w io.Writer) io.Writer {
	heard := func() { s.do(func() { s.member.Heard(l.ID) }) }
	return &heardWriter{w: w, signs: signs{now: s.Clock.Steady, heard: heard}}
}

// signs are signs of life of a server, which the core is told of now and then.
type signs struct {
	now   func() time.Time
	heard func()
	last  time.Time // when heard was called
}

// seen notes one.
func (s *signs) seen() {
	if now := s.now(); now.Sub(s.last) > heardEvery {
		s.last = now
		s.heard()
	}
}

// heardReader reads what a leader sends.
type heardReader struct {
	r io.Reader
	signs
}

func (h *heardReader) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	h.seen()
	return n, err
}

// heardWriter writes what a learner is sent.
type heardWriter struct {
	w io.Writer
	signs
}

func (h *heardWriter) Write(b []byte) (int, error) {
	n, err := h.w.Write(b)
	if err == nil {
		h.seen()
	}
	return n, err
}
