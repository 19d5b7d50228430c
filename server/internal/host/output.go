package host

import (
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

var errReconfigured = errors.New(
	"the ensemble was reconfigured, but reconfigEnabled is false here: start it again with the new configuration")

// drain does what the core asks for, until the core asks for nothing more.
func (m *Host) drain() {
	for {
		m.again = false
		out := m.core.Take()
		m.followConfigurations()
		if len(out.Send) > 0 {
			m.send(out.Send)
		}
		if len(out.Persist) > 0 {
			m.toJournal(out.Persist)
		}
		if out.Lineage != nil {
			m.journal.Note(out.Lineage)
		}
		m.dropOrphans()
		if len(out.Deliver) > 0 {
			m.deliver(out.Deliver)
		}
		if len(out.Synced) > 0 && m.role != nil {
			m.role.synced(out.Synced)
		}
		m.Changed(out.Status)
		if lead, ok := m.role.(*leading); ok && out.Renew {
			lead.renew()
		}
		if m.role != nil {
			m.role.flush()
		}
		for _, l := range m.touched {
			if m.calm.Load() {
				l.FlushNow()
			} else {
				l.Flush()
			}
		}
		m.applier.Come(m.calm.Load())
		clear(m.touched)
		m.touched = m.touched[:0]
		for _, d := range out.Dial {
			m.peers.Dial(d.Link, d.Peer, d.Port)
		}
		m.throttled(out.Throttled)
		for _, id := range out.Close {
			m.peers.Close(id)
			m.forget(id)
		}
		if m.again {
			continue
		}
		if m.published.IsZero() {
			m.publish(m.Clock.Steady())
		}
		return
	}
}

// send puts messages on their links, or on the election channel.
func (m *Host) send(messages []zab.Message) {
	for i := range messages {
		msg := &messages[i]
		if msg.Link == 0 {
			m.peers.SendElection(msg)
			continue
		}
		l := m.links[msg.Link]
		if l == nil {
			continue // the link has closed; the core will be told
		}
		switch msg.Type {
		case zab.Replay:
			m.replay(l, msg.After, msg.Zxid)
		case zab.Snap:
			m.Metrics.Quorum.Snaps.Inc()
			m.countSyncs()
			m.sendSnapshot(l, msg.Zxid)
		case zab.Ping:
			if !l.Dialled {
				l.SendPacket(m.Ping(l, msg))
			} else {
				l.SendPacket(m.pong(l, msg))
			}
		case zab.UpToDate: // the learner answers every PING after this
			if m.lease.exchanges[l.ID] == nil {
				m.lease.exchanges[l.ID] = &exchange{}
			}
			l.Send(msg)
			m.countSyncs()
			m.published = time.Time{} // there is one more learner in sync
		case zab.NewLeader:
			if m.lease.offered == 0 {
				m.lease.offered = m.Clock.Now()
			}
			l.Send(msg)
		case zab.Diff, zab.Trunc:
			m.Metrics.Quorum.Diffs.Inc()
			m.countSyncs()
			l.Send(msg)
		case zab.SyncReply:
			switch r := m.role.(type) {
			case *leading:
				l.Send(msg)
				r.answeredSync(msg.Token)
			case *following:
				r.below.answer(l, msg.Token)
			}
		default:
			l.Send(msg)
		}
		m.touch(l)
	}
}

// throttled logs that observers are sent away because too many learners are synchronizing.
func (m *Host) throttled(links []zab.LinkID) {
	for _, id := range links {
		snaps, diffs := m.core.Syncing()
		fields := []zap.Field{zap.Int("snap_syncs", snaps), zap.Int("diff_syncs", diffs)}
		if l := m.links[id]; l != nil {
			fields = append(fields, zap.Int64("server", int64(l.Peer)))
		}
		m.Log.Warn("an observer has to come again: too many learners are being brought up to date", fields...)
	}
}

// countSyncs measures how many learners are synchronizing.
func (m *Host) countSyncs() {
	snaps, diffs := m.core.Syncing()
	m.Metrics.Quorum.InflightSnaps.Observe(int64(snaps))
	m.Metrics.Quorum.InflightDiffs.Observe(int64(diffs))
}

// touch notes that l has output to be flushed in this turn.
func (m *Host) touch(l *peers.Link) {
	for _, t := range m.touched {
		if t == l {
			return
		}
	}
	m.touched = append(m.touched, l)
}

// deliver hands committed txns to the applier, each with the client that gets the answer.
func (m *Host) deliver(txns []zab.Txn) {
	if m.Weak(weakness.AppliedTwice) && len(m.twice) > 0 {
		txns, m.twice = append(slices.Clone(m.twice), txns...), nil
	}
	b := m.ApplyPool.Get()
	b.Last = txns[len(txns)-1].Zxid
	if m.role != nil {
		m.role.deliver(txns, b)
	} else {
		noRole{}.deliver(txns, b)
		// A txn that is delivered while the role opens may not be applied yet when the role begins: opened must not
		// rely on the state.
		m.delivered = b.Last
	}
	m.Queued.Add(b.Bytes)
	m.applier.Put(b)
}

// forget drops a link that has closed, and what arrived on it.
func (m *Host) forget(id zab.LinkID) {
	delete(m.links, id)
	delete(m.warren, id)
	m.published = time.Time{}
	delete(m.lease.exchanges, id)
	switch r := m.role.(type) {
	case *leading:
		r.gone(id)
	case *following:
		r.below.gone(id)
	}
	m.orphans = append(m.orphans, id)
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
