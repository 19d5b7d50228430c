package zab

import "github.com/seed94657493/warren/proto"

// Learner is a connected learner, as its leader or observer master sees it.
type Learner struct {
	Link     LinkID
	Peer     proto.ServerID // below 0: it has not sent its id, or has none
	Observer bool
	Voter    bool // its promises and ACKs count
	Warren   bool
	Synced   bool       // UPTODATE was sent
	Sent     proto.Zxid // proposals, or INFORMs, were sent up to this one
	Acked    proto.Zxid // these are durable there up to this one; not known for an observer
}

// Learners appends the connected learners of this leader, or the observers of this follower, to all, oldest
// connection first.
func (c *Core) Learners(all []Learner) []Learner {
	for _, l := range c.links {
		if c.serves(l) {
			all = append(all, Learner{Link: l.id, Peer: l.peer, Observer: l.observer, Voter: l.voter >= 0,
				Warren: l.warren, Synced: l.stage == linkUpToDate, Sent: l.sent, Acked: l.acked})
		}
	}
	return all
}

// learners are the accepted links, and what a leader and an observer master do alike for the learners on them.
// ZooKeeper: LearnerMaster.
type learners struct {
	*replica
	links      []*link // by number
	nextLink   LinkID  // of the next connection, accepted or not
	claims     int     // at most so many links have a claim
	renewAfter int64   // tick before which no renewal begins

	proposed   proto.Zxid     // the last proposal of this leader; (epoch, 0) before the first
	reconfig   proto.Zxid     // the last reconfiguration whose commit reached this role
	designated proto.ServerID // and the server that leads by it
}
