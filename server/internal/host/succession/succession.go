// Package succession decides when a leader hands its leadership over of its own accord, and to whom: to any server
// with room if its own disk is almost full, or to a follower with a higher priority. What an operator orders is not
// decided here.
//
// # Room
//
// The leader alone decides whether writes are refused, for all servers, because every voter logs every txn. Writes go
// on while the voters with room are a quorum. A leader without room hands over to a server with room, if the servers
// with room are a quorum without the leader. See adr 0006.
//
// # Priorities
//
// A leader hands over to the follower with the highest priority, if that is higher than its own, by the same hand-over
// that an operator orders: elections know nothing of priorities. So a priority decides only between servers that could
// lead as well as each other, and agreement does not depend on it. See adr 0020.
//
// The leadership must not move to and fro. The follower has to be fit to lead without a break for a pause, and the
// leader has to have led for as long. Each time that this leader hands over to the same server again within
// priorityMemory, it waits twice as long.
//
// The package decides and does nothing: it is given facts, asks the agreement by functions, and returns what is to be
// done. It has no goroutine and no lock. A Policy belongs to the host goroutine.
package succession

import (
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

const (
	// yieldPause is the least time between two hand-overs by one server for lack of room: each costs its clients a
	// connection.
	yieldPause = 10 * time.Second
	// priorityMemory is how long a hand-over for a priority counts.
	priorityMemory = time.Hour
	// priorityDoublings bounds how often the wait doubles.
	priorityDoublings = 7
)

// None stands for no server.
const None proto.ServerID = -1

// Policy is what a server decides by, with what it remembers from one leadership to the next.
type Policy struct {
	cfg     Config
	yielded time.Time                 // when this server last handed over for lack of room
	yields  map[proto.ServerID]yields // hand-overs because of a priority

	// Of the present leadership.
	heir   heir
	before proto.Zxid // what was prepared when the policy was asked last
}

// Config is what an operator has set.
type Config struct {
	TickTime time.Duration
	Priority int64         // of this server
	Pause    time.Duration // how long a follower has to be fit before it leads because of its priority
}

// Facts is what a leader knows when it asks.
type Facts struct {
	Now, Since time.Time // the present time, and when it began to lead
	// Full says that its own disk has no room. Room says that the voters with room are a quorum.
	Full, Room bool
	HandsOver  bool // a hand-over has begun, or is being prepared
	// Candidates are the followers with a priority, in any order.
	Candidates []Candidate
	Learners   []zab.Learner
	// Prepared and Committed are the newest zxids of this leader.
	Prepared, Committed proto.Zxid

	// FitSuccessor reports whether a server with room can take over.
	FitSuccessor func() bool
	// CanLead reports whether this server can take over.
	CanLead func(proto.ServerID) bool
}

// Candidate is a follower with a priority.
type Candidate struct {
	ID       proto.ServerID
	Priority int64
}

// Decision is what a leader has to do.
type Decision struct {
	Refuse bool // clients' writes are to be refused
	// Yield is a hand-over to any server with room, To one to a server with a higher priority; else it is None. There
	// is one of the two at most.
	Yield bool
	To    proto.ServerID
}

// heir is the follower that is to lead, because of its priority.
type heir struct {
	id    proto.ServerID // None if there is none
	since time.Time      // when it was fit to lead first; without a break since then
}

// yields are the hand-overs of this server for the priority of another one.
type yields struct {
	n    int
	last time.Time
}

// New returns the policy of a server that has not led yet.
func New(cfg Config) *Policy { return &Policy{cfg: cfg, yields: map[proto.ServerID]yields{}} }

// Begin begins a leadership.
func (p *Policy) Begin() { p.heir, p.before = heir{id: None}, 0 }

// Decide decides. A leader asks now and then, and does what is decided: a hand-over that is returned is remembered as
// one that has taken place.
func (p *Policy) Decide(f *Facts) Decision {
	d := Decision{Refuse: f.Full || !f.Room, To: None}
	// After one tick followers have reported on their disks.
	if f.Full && f.Now.Sub(f.Since) > p.cfg.TickTime && f.Now.Sub(p.yielded) > yieldPause && f.FitSuccessor() {
		p.yielded, d.Yield = f.Now, true
		p.heir, p.before = heir{id: None}, f.Prepared
		return d
	}
	d.To = p.preferred(f)
	return d
}

// preferred returns the follower that is to lead now because of its priority.
func (p *Policy) preferred(f *Facts) proto.ServerID {
	before := p.before
	p.before = f.Prepared
	id, ok := p.highest(f.Candidates)
	if !ok || !keepsUp(f, id, before) || !f.CanLead(id) {
		p.heir = heir{id: None}
		return None
	}
	if p.heir.id != id {
		p.heir = heir{id, f.Now}
	}
	y := p.yields[id]
	wait := y.wait(p.cfg.Pause, f.Now)
	if f.HandsOver || f.Now.Sub(p.heir.since) < wait || f.Now.Sub(f.Since) < wait {
		return None
	}
	p.yields[id] = y.again(f.Now)
	return id
}

// highest returns the candidate with the highest priority, the one with the higher id of two alike. ok is false if
// none has a higher priority than this server.
func (p *Policy) highest(all []Candidate) (id proto.ServerID, ok bool) {
	most := p.cfg.Priority
	for _, c := range all {
		if c.Priority > most || ok && c.Priority == most && c.ID > id {
			id, most, ok = c.ID, c.Priority, true
		}
	}
	return id, ok
}

// keepsUp reports whether a follower has acknowledged everything that was prepared up to z: a hand-over to it does not
// let clients wait.
func keepsUp(f *Facts, id proto.ServerID, z proto.Zxid) bool {
	for i := range f.Learners {
		if l := &f.Learners[i]; l.Peer == id && !l.Observer {
			return l.Synced && l.Acked >= min(z, f.Committed)
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
