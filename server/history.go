package server

import (
	"errors"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

// history answers the core's questions about the log. Source: zab.History.
type history struct{ m *member }

// Locate implements zab.History.
func (h history) Locate(z proto.Zxid) (at, next proto.Zxid, ok bool) {
	s := h.m.disk
	p, ok, err := s.wal.Locate(z)
	switch {
	case err != nil:
		s.log.Warn("looking for a txn in the log", zap.Stringer("zxid", z), zap.Error(err))
		return 0, 0, false
	case !ok:
		return 0, 0, false
	}
	if v := h.m.view.Load(); v.State == zab.Leading {
		if s.cfg.SnapshotSizeFactor < 0 {
			return 0, 0, false
		}
		size := max(s.snapshotter.size.Load(), replayLeast)
		if float64(p.Rest) > s.cfg.SnapshotSizeFactor*float64(size) {
			return 0, 0, false
		}
	} else if _, err := s.snaps.AtOrBelow(p.At); errors.Is(err, snapshot.ErrNone) {
		return 0, 0, false // the state before that txn cannot be made again
	}
	return p.At, p.Next, true
}

// Sum implements zab.History.
func (h history) Sum(z proto.Zxid) (uint32, bool) {
	p, ok, err := h.m.disk.wal.Locate(z)
	if err != nil {
		h.m.log.Warn("looking for a txn in the log", zap.Stringer("zxid", z), zap.Error(err))
	}
	return p.Sum, err == nil && ok && p.At == z
}

// replayLeast is the size in bytes that a snapshot is taken for at least when a DIFF from the log is weighed against it.
const replayLeast = 64 << 20

// The member is what its journal tells of what it has done.
var _ owner = (*member)(nil)

// persisted implements owner.
func (m *member) persisted(seq zab.Seq) {
	m.events.Add(event{seq: seq})
	m.came()
}

// written implements owner.
func (m *member) written(bytes int64) { m.queued.Add(-bytes) }

// acknowledges implements owner: an observer acknowledges nothing, and a standalone server has nothing to acknowledge to.
func (m *member) acknowledges() bool {
	return m.cfg.Distributed() && m.view.Load().State != zab.Observing
}

// arrivedState implements owner.
func (m *member) arrivedState(link zab.LinkID) *loading {
	m.received.Lock()
	defer m.received.Unlock()
	return m.received.wanted[link]
}

// installed implements owner.
func (m *member) installed(link zab.LinkID, state *datatree.State) {
	m.swap(state)
	m.received.Lock()
	defer m.received.Unlock()
	delete(m.received.wanted, link)
}

// swap implements owner.
func (m *member) swap(state *datatree.State) { m.applier.swap(state) }

// journalEnds implements owner.
func (m *member) journalEnds() { m.applier.close() }

// toJournal hands writes to the journal.
func (m *member) toJournal(writes []zab.Persist) {
	for i := range writes {
		m.queued.Add(bytesOf(writes[i].Append))
		if in := writes[i].Install; in != nil {
			m.want(in.Link)
		}
	}
	m.journal.submit(writes)
}
