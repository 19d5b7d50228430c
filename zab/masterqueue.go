package zab

import (
	"math/rand/v2"

	"github.com/seed94657493/warren/proto"
)

// masterQueue is the order in which an observer tries to learn from other servers. It begins with the followers,
// in a random order for each observer, with the server that the observer learned from last at the end. It repeats
// them for some time, because they may not serve yet. The leader follows, or follows at once if one of them
// refuses. The order is kept as long as the leader and the configuration are the same. Source: quorum-protocol
// 12.2.
type masterQueue struct {
	leader  proto.ServerID   // -1: begin anew
	version proto.Zxid       // of the configuration
	all     []proto.ServerID // the followers
	next    int              // index into all
	since   int64            // tick at which the first follower was tried
	last    proto.ServerID   // the server that the observer learned from last, -1 if there is none
	refused bool             // the server that was tried last refused before it said anything: try the leader
}

// masterPatience is for how many ZooKeeper ticks followers are tried before the leader. A Java follower opens its
// port only when it has synchronised.
const masterPatience = 2

// found notes that the observer has synchronised with a server.
func (q *masterQueue) found(master proto.ServerID) { q.leader, q.last = -1, master }

// source returns where to connect to learn: the leader, or for an observer the next server of the queue.
func (ln *learner) source() Dial {
	d := Dial{Link: ln.link, Peer: ln.leader, Port: LearnerPort}
	if ln.role == Observing && ln.cfg.Masters && (ln.next == nil || !ln.next.Votes(ln.cfg.ID)) { // else see welcomes
		if id, ok := ln.queue.take(ln.leader, ln.active, ln.now,
			int64(masterPatience*ln.cfg.Timing.TickTime), ln.cfg.Rand); ok {
			d.Peer, d.Port = id, MasterPort
		}
	}
	ln.master, ln.status.Master = d.Peer, d.Peer
	return d
}

// take returns the follower to try next, or false if the leader is next.
func (q *masterQueue) take(leader proto.ServerID, active *Ensemble, now, patience int64,
	rng *rand.Rand) (id proto.ServerID, ok bool) {
	if q.leader != leader || q.version != active.Version {
		q.refill(leader, active, now, rng)
	}
	if q.refused {
		q.refused = false
		return 0, false // the leader may not be able to lead without this server: see welcomes
	}
	if q.next == len(q.all) {
		q.next = 0
		if len(q.all) == 0 || now-q.since >= patience {
			q.since = now
			return 0, false
		}
	}
	q.next++
	return q.all[q.next-1], true
}

// refill begins anew with the present followers.
func (q *masterQueue) refill(leader proto.ServerID, active *Ensemble, now int64, rng *rand.Rand) {
	*q = masterQueue{leader: leader, version: active.Version, since: now, last: q.last}
	lost := false
	for _, id := range active.Quorum.Voters() {
		switch id {
		case q.leader:
		case q.last:
			lost = true
		default:
			q.all = append(q.all, id)
		}
	}
	rng.Shuffle(len(q.all), func(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] })
	if lost {
		q.all = append(q.all, q.last)
	}
}
