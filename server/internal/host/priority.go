package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Priorities. A follower with a priority tells its Warren leader in its answers to PING. A leader hands over to the
// follower with the highest priority, if that is higher than its own, by the same hand-over that an operator gives:
// elections know nothing of priorities. So a priority decides only between servers that could lead as well as each
// other, and agreement does not depend on it. See adr 0020.
//
// The leadership must not move to and fro. The follower has to be fit to lead without a break for PriorityPause, and
// the leader has to have led for as long. Each time that this leader hands over to the same server again within
// priorityMemory, it waits twice as long.

const (
	// priorityMemory is how long a hand-over for a priority counts.
	priorityMemory = time.Hour
	// priorityDoublings bounds how often the wait doubles.
	priorityDoublings = 7
)

// appendPriority appends the priority of this server to the answer to a PING, if it has one and takes clients: a
// server that is drained is about to be restarted.
func (m *Host) appendPriority(b []byte) []byte {
	if _, drained := m.clients.Draining(); drained || m.Config.Priority <= 0 {
		return b
	}
	return appendMarked(b, uint64(m.Config.Priority), priorityMark)
}

// heir is the follower that is to lead, because of its priority.
type heir struct {
	id    proto.ServerID
	since time.Time // when it was fit to lead first; without a break since then
}

// yields are the hand-overs of this server for the priority of another one.
type yields struct {
	n    int
	last time.Time
}

// checkPriority hands over to a follower with a higher priority, when it is time. It is called now and then.
func (l *leading) checkPriority(now time.Time, learners []zab.Learner) {
	m := l.m
	before := l.before
	l.before = l.next - 1
	id, ok := l.preferred()
	if !ok || !l.keepsUp(id, learners, before) || m.core.HandOverTo(id, true) != nil {
		l.heir = heir{id: -1}
		return
	}
	if l.heir.id != id {
		l.heir = heir{id, now}
	}
	y := m.yields[id]
	wait := y.wait(m.Config.PriorityPause, now)
	if l.handing != nil || now.Sub(l.heir.since) < wait || now.Sub(m.since) < wait {
		return
	}
	if m.yields == nil {
		m.yields = map[proto.ServerID]yields{}
	}
	m.yields[id] = y.again(now)
	m.Log.Info("handing over to a server with a higher priority", zap.Int64("server", int64(id)))
	if err := l.handOver(func() error { return m.core.HandOverTo(id, false) }); err != nil {
		m.Log.Warn("no hand-over", zap.Error(err))
	}
}

// preferred returns the follower with the highest priority, the one with the higher id of two alike. ok is false if
// none has a higher priority than this server.
func (l *leading) preferred() (id proto.ServerID, ok bool) {
	most := int64(l.m.Config.Priority)
	for _, link := range l.m.links {
		if link != nil && (link.priority > most || ok && link.priority == most && link.Peer > id) {
			id, most, ok = link.Peer, link.priority, true
		}
	}
	return id, ok
}

// keepsUp reports whether a follower has acknowledged everything that was prepared up to z: a hand-over to it does not
// let clients wait.
func (l *leading) keepsUp(id proto.ServerID, learners []zab.Learner, z proto.Zxid) bool {
	for i := range learners {
		if learners[i].Peer == id && !learners[i].Observer {
			return learners[i].Synced && learners[i].Acked >= min(z, l.m.committed)
		}
	}
	return false
}

// wait returns how long the server has to be fit before it gets the leadership.
func (y yields) wait(pause time.Duration, now time.Time) time.Duration {
	if now.Sub(y.last) > priorityMemory {
		y.n = 0
	}
	return pause << min(y.n, priorityDoublings)
}

// again returns the hand-overs with one more.
func (y yields) again(now time.Time) yields {
	if now.Sub(y.last) > priorityMemory {
		y.n = 0
	}
	return yields{y.n + 1, now}
}
