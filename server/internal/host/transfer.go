package host

import (
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

// memberHandler is the host as package peers sees it: everything becomes an event of the host goroutine. The
// goroutines of peers call the methods.
type memberHandler struct{ *Host }

var _ peers.Handler = memberHandler{}

// Election implements peers.Handler.
func (h memberHandler) Election(msg zab.Message) {
	h.Do(func() {
		h.hearsList(&msg, h.Clock.Steady())
		h.core.Step(msg)
	})
}

// PeerUp implements peers.Handler.
func (h memberHandler) PeerUp(id proto.ServerID) { h.Do(func() { h.core.PeerUp(id) }) }

// Accept implements peers.Handler.
func (h memberHandler) Accept(port zab.Port) zab.LinkID {
	accepted := sched.NewGate(h.Runtime)
	var number zab.LinkID // set before accepted
	accept := func() {
		if number = h.core.Accept(port); number != 0 {
			h.links[number] = nil // the link is known; its first packet sets the value
		}
		accepted.Open()
	}
	if !h.Do(accept) {
		return 0
	}
	sched.WaitAny(h.Runtime, accepted, h.Host.done)
	if !accepted.IsOpen() {
		return 0
	}
	return number
}

// Connected implements peers.Handler.
func (h memberHandler) Connected(l *peers.Link) {
	h.Do(func() {
		h.links[l.ID] = l
		h.core.LinkUp(l.ID)
	})
}

// Packets implements peers.Handler. If the disk or the state of a learner lags behind, the learner stops reading,
// which its leader notices.
func (h memberHandler) Packets(l *peers.Link, batch []peers.Packet) {
	for l.Dialled && h.Queued.Load() > memberQueueMax {
		if h.Host.done.WaitFor(time.Millisecond) {
			return
		}
	}
	h.events.Add(event{link: l, packets: append([]peers.Packet(nil), batch...)})
	h.Came()
}

// heardEvery is how often the core is told that a snapshot is still arriving.
const heardEvery = 100 * time.Millisecond

// Snapshot implements peers.Handler: it loads the snapshot that a leader sends into a separate state.
func (h memberHandler) Snapshot(l *peers.Link, zxid proto.Zxid, r io.Reader) error {
	began := h.Clock.Steady()
	h.Log.Info("receiving a snapshot", zap.Stringer("zxid", zxid), zap.Int64("server", int64(l.Peer)))
	loader := datatree.NewLoader(datatree.Config{SkipACL: h.Config.SkipACL})
	if err := snapshot.ReadStream(&heardReader{r: r, m: h.Host, link: l.ID}, loader); err != nil {
		h.Log.Warn("loading the leader's snapshot", zap.Stringer("zxid", zxid), zap.Error(err))
		return err
	}
	state, err := loader.Done(zxid)
	if err != nil {
		return err
	}
	h.Log.Info("received a snapshot", zap.Stringer("zxid", zxid), zap.Int("znodes", state.NumNodes()),
		zap.Duration("took", h.Clock.Steady().Sub(began)))
	h.received.Lock()
	h.received.byLink[l.ID] = &durable.Loading{State: state, Began: began}
	h.received.Unlock()
	return nil
}

// want keeps a received state until the journal has installed it: the link may close first.
func (m *Host) want(id zab.LinkID) {
	m.received.Lock()
	defer m.received.Unlock()
	if got := m.received.byLink[id]; got != nil {
		m.received.wanted[id] = got
		delete(m.received.byLink, id)
	}
}

// heardReader tells the core now and then that the leader is alive.
type heardReader struct {
	r    io.Reader
	m    *Host
	link zab.LinkID
	last time.Time
}

// Read implements io.Reader.
func (h *heardReader) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	if now := h.m.Clock.Steady(); now.Sub(h.last) > heardEvery {
		h.last = now
		h.m.Do(func() { h.m.core.Heard(h.link) })
	}
	return n, err
}

// Closed implements peers.Handler.
func (h memberHandler) Closed(id zab.LinkID) {
	h.Do(func() {
		h.forget(id)
		h.core.LinkDown(id)
	})
}

// sendSnapshot sends the state while txns are applied to it: at least up to zxid, and fuzzy above. The core is told
// how far it reaches.
func (m *Host) sendSnapshot(l *peers.Link, zxid proto.Zxid) {
	// A TRUNC or SNAP of an earlier leader may still have to replace the state.
	settled := sched.NewGate(m.Runtime)
	if m.Weak(weakness.SnapWhileReplaced) {
		settled.Open()
	} else {
		m.applier.Do(settled.Open)
	}
	l.SendSnapshot(zxid, func(w io.Writer) error {
		began := m.Clock.Steady()
		defer m.Metrics.Quorum.SnapBegins()()
		if sched.WaitAny(m.Runtime, settled, m.Stopping); !settled.IsOpen() {
			return durable.ErrStopping
		}
		if err := m.waitApplied(zxid); err != nil {
			return err
		}
		m.Store.Mu.RLock()
		walker := m.Store.State.NewWalker()
		m.Store.Mu.RUnlock()
		defer func() {
			m.Store.Mu.Lock()
			walker.Close()
			m.Store.Mu.Unlock()
		}()
		if err := snapshot.WriteStream(w, durable.NewLockedSource(m.Env, walker)); err != nil {
			return err
		}
		m.Store.Mu.RLock()
		upTo, _ := walker.End()
		m.Store.Mu.RUnlock()
		m.Log.Info("sent a snapshot", zap.Int64("server", int64(l.Peer)), zap.Stringer("zxid", zxid),
			zap.Stringer("up_to", upTo),
			zap.Duration("took", m.Clock.Steady().Sub(began)))
		if m.Weak(weakness.SnapshotBehind) {
			upTo += 2
		}
		m.Do(func() { m.core.Streamed(l.ID, upTo) })
		return nil
	})
}

// waitApplied waits until the state holds all txns up to z. They are committed, so they will be applied.
func (m *Host) waitApplied(z proto.Zxid) error {
	for m.Store.LastZxid() < z {
		if m.Stopping.WaitFor(time.Millisecond) {
			return durable.ErrStopping
		}
	}
	return nil
}

var errReplay = errors.New("server: the log does not hold what a learner needs any more")

// replay sends the txns in (after, upTo] of the log as proposals and commits.
func (m *Host) replay(l *peers.Link, after, upTo proto.Zxid) {
	l.Stream(func(w io.Writer) error {
		began := m.Clock.Steady()
		defer m.Metrics.Quorum.DiffBegins()()
		if m.Weak(weakness.DiffTooLate) {
			after++
		}
		it, err := m.Disk.WAL.Records(after + 1)
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
				continue // logs of Java may contain a txn twice
			}
			last = r.Zxid
			b = peers.AppendCommit(peers.AppendTxn(b[:0], r.Zxid, r.Payload), r.Zxid)
			if _, err := w.Write(b); err != nil {
				return err
			}
			n++
		}
		m.Log.Info("sent txns of the log", zap.Int64("server", int64(l.Peer)), zap.Stringer("after", after),
			zap.Stringer("up_to", upTo),
			zap.Int("txns", n), zap.Duration("took", m.Clock.Steady().Sub(began)))
		return nil
	})
}
