package server

import (
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

// memberHandler is a member as peers see it: everything becomes an event of the node goroutine. Its methods are called by
// the goroutines of peers.
type memberHandler struct{ *member }

var _ peers.Handler = memberHandler{}

// Election implements peers.Handler.
func (h memberHandler) Election(msg zab.Message) { h.do(func() { h.core.Step(msg) }) }

// PeerUp implements peers.Handler.
func (h memberHandler) PeerUp(id proto.ServerID) { h.do(func() { h.core.PeerUp(id) }) }

// Accept implements peers.Handler.
func (h memberHandler) Accept(port zab.Port) zab.LinkID {
	accepted := sched.NewGate(h.rt)
	var number zab.LinkID // set before accepted
	accept := func() {
		if number = h.core.Accept(port); number != 0 {
			h.links[number] = nil // known, and to be filled in with its first packet
		}
		accepted.Open()
	}
	if !h.do(accept) {
		return 0
	}
	sched.WaitAny(h.rt, accepted, h.member.done)
	if !accepted.IsOpen() {
		return 0
	}
	return number
}

// Connected implements peers.Handler.
func (h memberHandler) Connected(l *peers.Link) {
	h.do(func() {
		h.links[l.ID] = l
		h.core.LinkUp(l.ID)
	})
}

// Packets implements peers.Handler. A learner whose disk or state lags behind stops reading, until its leader notices.
func (h memberHandler) Packets(l *peers.Link, batch []peers.Packet) {
	for l.Dialled && h.queued.Load() > memberQueueMax {
		if h.member.done.WaitFor(time.Millisecond) {
			return
		}
	}
	h.events.Add(event{link: l, packets: append([]peers.Packet(nil), batch...)})
	h.came()
}

// heardEvery is how often the core is told that a snapshot is still arriving.
const heardEvery = 100 * time.Millisecond

// Snapshot implements peers.Handler: it loads what a leader sends into a state of its own.
func (h memberHandler) Snapshot(l *peers.Link, zxid proto.Zxid, r io.Reader) error {
	began := h.clock.steady()
	h.log.Info("receiving a snapshot", zap.Stringer("zxid", zxid), zap.Int64("server", int64(l.Peer)))
	loader := datatree.NewLoader(datatree.Config{SkipACL: h.cfg.SkipACL})
	if err := snapshot.ReadStream(&heardReader{r: r, m: h.member, link: l.ID}, loader); err != nil {
		h.log.Warn("loading the leader's snapshot", zap.Stringer("zxid", zxid), zap.Error(err))
		return err
	}
	state, err := loader.Done(zxid)
	if err != nil {
		return err
	}
	h.log.Info("received a snapshot", zap.Stringer("zxid", zxid), zap.Int("znodes", state.NumNodes()), zap.Duration("took", h.clock.steady().Sub(began)))
	h.received.Lock()
	h.received.byLink[l.ID] = &loading{state: state, began: began}
	h.received.Unlock()
	return nil
}

// want keeps a received state until the journal has installed it: the link may end before.
func (m *member) want(id zab.LinkID) {
	m.received.Lock()
	defer m.received.Unlock()
	if got := m.received.byLink[id]; got != nil {
		m.received.wanted[id] = got
		delete(m.received.byLink, id)
	}
}

// heardReader tells the core now and then that the leader lives.
type heardReader struct {
	r    io.Reader
	m    *member
	link zab.LinkID
	last time.Time
}

// Read implements io.Reader.
func (h *heardReader) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	if now := h.m.clock.steady(); now.Sub(h.last) > heardEvery {
		h.last = now
		h.m.do(func() { h.m.core.Heard(h.link) })
	}
	return n, err
}

// Closed implements peers.Handler.
func (h memberHandler) Closed(id zab.LinkID) {
	h.do(func() {
		h.forget(id)
		h.core.LinkDown(id)
	})
}

// sendSnapshot sends the state as it is applied: at least up to zxid, and fuzzy above. The core hears how far it reaches.
func (m *member) sendSnapshot(l *peers.Link, zxid proto.Zxid) {
	s := m
	settled := sched.NewGate(s.rt) // a TRUNC or SNAP of an earlier leader may still have to replace the state
	m.applier.do(settled.Open)
	l.SendSnapshot(zxid, func(w io.Writer) error {
		began := s.clock.steady()
		defer s.metrics.quorum.SnapBegins()()
		if sched.WaitAny(s.rt, settled, s.stopping); !settled.IsOpen() {
			return errStopping
		}
		if err := s.waitApplied(zxid); err != nil {
			return err
		}
		s.store.mu.RLock()
		walker := s.store.state.NewWalker()
		s.store.mu.RUnlock()
		defer func() {
			s.store.mu.Lock()
			walker.Close()
			s.store.mu.Unlock()
		}()
		if err := snapshot.WriteStream(w, newLockedSource(s.env, walker)); err != nil {
			return err
		}
		s.store.mu.RLock()
		upTo, _ := walker.End()
		s.store.mu.RUnlock()
		s.log.Info("sent a snapshot", zap.Int64("server", int64(l.Peer)), zap.Stringer("zxid", zxid), zap.Stringer("up_to", upTo),
			zap.Duration("took", s.clock.steady().Sub(began)))
		m.do(func() { m.core.Streamed(l.ID, upTo) })
		return nil
	})
}

// waitApplied waits until the state holds all up to z: what is committed will be applied.
func (s *member) waitApplied(z proto.Zxid) error {
	for s.store.lastZxid() < z {
		if s.stopping.WaitFor(time.Millisecond) {
			return errStopping
		}
	}
	return nil
}

var errReplay = errors.New("server: the log does not hold what a learner needs any more")

// replay sends the txns in (after, upTo] of the log as proposals and commits.
func (m *member) replay(l *peers.Link, after, upTo proto.Zxid) {
	s := m
	l.Stream(func(w io.Writer) error {
		began := s.clock.steady()
		defer s.metrics.quorum.DiffBegins()()
		it, err := s.disk.wal.Records(after + 1)
		if err != nil {
			return err
		}
		defer it.Close()
		n := 0
		var b []byte
		for last := after; last < upTo; {
			r, err := it.Next()
			if err != nil {
				return fmt.Errorf("%w: %v of (%v, %v]: %w", errReplay, last, after, upTo, err)
			}
			if r.Zxid <= last {
				continue // Java repeats itself
			}
			last = r.Zxid
			b = peers.AppendCommit(peers.AppendTxn(b[:0], r.Zxid, r.Payload), r.Zxid)
			if _, err := w.Write(b); err != nil {
				return err
			}
			n++
		}
		s.log.Info("sent txns of the log", zap.Int64("server", int64(l.Peer)), zap.Stringer("after", after), zap.Stringer("up_to", upTo),
			zap.Int("txns", n), zap.Duration("took", s.clock.steady().Sub(began)))
		return nil
	})
}
