package host

import (
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

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
		h.m.Do(func() { h.m.member.Heard(h.link) })
	}
	return n, err
}

// dropOrphans frees the states received on links that have closed. By now the core has said which of these states
// it wants installed.
func (m *Host) dropOrphans() {
	if len(m.orphans) == 0 {
		return
	}
	m.received.Lock()
	defer m.received.Unlock()
	for _, id := range m.orphans {
		delete(m.received.byLink, id)
	}
	m.orphans = m.orphans[:0]
}

// sendSnapshot sends the state while txns are applied to it: at least up to zxid, and fuzzy above. The core is told
// how far it reaches.
func (m *Host) sendSnapshot(l *peers.Link, zxid proto.Zxid) {
	// A TRUNC or SNAP of an earlier leader may still have to replace the state.
	settled := sched.NewGate(m.Runtime)
	m.applier.Do(settled.Open)
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
		source := durable.NewLockedSource(m.Env, walker)
		if err := snapshot.WriteStream(w, source); err != nil {
			return err
		}
		upTo, _ := source.End()
		m.Log.Info("sent a snapshot", zap.Int64("server", int64(l.Peer)), zap.Stringer("zxid", zxid),
			zap.Stringer("up_to", upTo),
			zap.Duration("took", m.Clock.Steady().Sub(began)))
		m.Do(func() { m.member.Streamed(l.ID, upTo) })
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

// replay sends the txns in (after, upTo] of the log as proposals and commits. If the log does not hold them all, the
// link ends with those that it holds, and nothing follows them.
func (m *Host) replay(l *peers.Link, after, upTo proto.Zxid) {
	l.Stream(func(w io.Writer) error {
		began := m.Clock.Steady()
		defer m.Metrics.Quorum.DiffBegins()()
		n := 0
		var b []byte
		err := m.Disk.Txns(after, upTo, func(zxid proto.Zxid, payload []byte) error {
			n++
			b = peers.AppendCommit(peers.AppendTxn(b[:0], zxid, payload), zxid)
			_, err := w.Write(b)
			return err
		})
		if err != nil {
			return err
		}
		m.Log.Info("sent txns of the log", zap.Int64("server", int64(l.Peer)), zap.Stringer("after", after),
			zap.Stringer("up_to", upTo),
			zap.Int("txns", n), zap.Duration("took", m.Clock.Steady().Sub(began)))
		return nil
	})
}

// throttled logs that observers are sent away because too many learners are synchronizing.
func (m *Host) throttled(links []zab.LinkID) {
	for _, id := range links {
		snaps, diffs := m.member.Syncing()
		fields := []zap.Field{zap.Int("snap_syncs", snaps), zap.Int("diff_syncs", diffs)}
		if l := m.links[id]; l != nil {
			fields = append(fields, zap.Int64("server", int64(l.Peer)))
		}
		m.Log.Warn("an observer has to come again: too many learners are being brought up to date", fields...)
	}
}

// countSyncs measures how many learners are synchronizing.
func (m *Host) countSyncs() {
	snaps, diffs := m.member.Syncing()
	m.Metrics.Quorum.InflightSnaps.Observe(int64(snaps))
	m.Metrics.Quorum.InflightDiffs.Observe(int64(diffs))
}
