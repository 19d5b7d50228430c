package zab

import "github.com/seed94657493/warren/proto"

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
func (c *Core) source() Dial {
	d := Dial{Link: c.ln.link, Peer: c.ln.leader, Port: LearnerPort}
	if c.role == Observing && c.cfg.Masters && (c.next == nil || !c.next.Votes(c.cfg.ID)) { // else see welcomes
		if id, ok := c.nextMaster(); ok {
			d.Peer, d.Port = id, MasterPort
		}
	}
	c.ln.master, c.status.Master = d.Peer, d.Peer
	return d
}

// nextMaster returns the follower to try next, or false if the leader is next.
func (c *Core) nextMaster() (id proto.ServerID, ok bool) {
	q := &c.masterQueue
	if q.leader != c.ln.leader || q.version != c.active.Version {
		c.refill()
	}
	if q.refused {
		q.refused = false
		return 0, false // the leader may not be able to lead without this server: see welcomes
	}
	if q.next == len(q.all) {
		q.next = 0
		if len(q.all) == 0 || c.now-q.since >= int64(masterPatience*c.cfg.Timing.TickTime) {
			q.since = c.now
			return 0, false
		}
	}
	q.next++
	return q.all[q.next-1], true
}

// refill begins anew with the present followers.
func (c *Core) refill() {
	q := &c.masterQueue
	q.leader, q.version, q.all, q.next, q.since, q.refused = c.ln.leader, c.active.Version, nil, 0, c.now, false
	lost := false
	for _, id := range c.active.Quorum.Voters() {
		switch id {
		case q.leader:
		case q.last:
			lost = true
		default:
			q.all = append(q.all, id)
		}
	}
	c.cfg.Rand.Shuffle(len(q.all), func(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] })
	if lost {
		q.all = append(q.all, q.last)
	}
}
