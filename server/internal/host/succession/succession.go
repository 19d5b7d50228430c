// Package succession decides when a leader hands its leadership over of its own accord, and to whom: to any server
// with a better disk if its own is almost full or lags behind, to a follower without clients if leaders are to have
// none, to one with a higher priority, or to any follower before its epoch is out of zxids. What an operator orders is
// not decided here.
//
// # Room
//
// The leader alone decides whether writes are refused, for all servers, because every voter logs every txn. Writes go
// on while the voters with room are a quorum. A leader without room hands over to a server with room, if the servers
// with room are a quorum without the leader. See adr 0006.
//
// # A disk that lags behind
//
// What a quorum of the others has logged is committed, but a leader delivers only what is in its own log. While its
// disk stands still, the others serve everything, its own clients get no answer, and all that is committed stays in
// its memory. A follower in that state stops reading, and is left behind; so a leader that has not logged for
// syncLimit ticks what a quorum of the others has, or less long if much waits for its disk, hands over. Nothing is
// lost by it: those who have logged everything are a quorum without this server.
//
// # Priorities
//
// A leader hands over to the follower with the highest priority, if that is higher than its own, by the same handover
// that an operator orders: elections know nothing of priorities. So a priority decides only between servers that could
// lead as well as each other, and agreement does not depend on it. See adr 0020.
//
// The leadership must not move to and fro. The follower has to be fit to lead without a break for a pause, and the
// leader has to have led for as long. Each time that this leader hands over to the same server again within
// priorityMemory, it waits twice as long.
//
// # Leaders without clients
//
// With leaderServes=no a leader takes no clients, but a server that has some may be elected. Once a follower has none,
// as after its restart, the leader hands over to it under the same conditions, so that the death of the next leader
// ends no client's connection either. Among servers without clients priorities decide. This handover never waits
// longer than the pause: it costs no client anything, and cannot be followed by one in the other direction.
//
// # The end of an epoch
//
// An epoch has 2^32 zxids, which a busy ensemble uses up within hours. The leader hands over when an eighth of them is
// left, while its clients can still be held; without zxids it would have to give up at once. The next leader, which
// may be this server, begins a new epoch.
//
// The package decides and does nothing: it is given facts, asks the agreement by functions, and returns what is to be
// done. It has no goroutine and no lock. A Policy belongs to the host goroutine.
package succession

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

const (
	// yieldPause is the least time between two handovers by one server because of its disk: each costs its clients a
	// connection.
	yieldPause = 10 * time.Second
	// priorityMemory is how long a handover for a priority counts.
	priorityMemory = time.Hour
	// priorityDoublings bounds how often the wait doubles.
	priorityDoublings = 7
	// queuedMax is how many bytes may wait for a disk that lags behind for more than a tick.
	queuedMax = 128 << 20
)

// None stands for no server.
const None proto.ServerID = -1

// Policy is what a server decides by, with what it remembers from one leadership to the next.
type Policy struct {
	cfg     Config
	yielded time.Time                 // when this server last handed over because of its disk
	yields  map[proto.ServerID]yields // handovers because of a priority

	// Of the present leadership.
	heir   heir
	before proto.Zxid // what was prepared when the policy was asked last
	lag    lag
}

// Config is what an operator has set.
type Config struct {
	TickTime  time.Duration
	SyncLimit time.Duration // how long a disk may lag behind those of the others
	Priority  int64         // of this server
	Pause     time.Duration // how long a follower has to be fit before it leads because of its priority
	EpochTxns uint32        // how many txns an epoch can have
}

// Facts is what a leader knows when it asks.
type Facts struct {
	Now, Since time.Time // the present time, and when it began to lead
	// Full says that its own disk has no room. Room says that the voters with room are a quorum.
	Full, Room bool
	HandsOver  bool // a handover has begun, or is being prepared
	Idle       bool // has no clients, where leaders should have none
	// Candidates are the followers with a priority or without clients, in any order.
	Candidates []Candidate
	Learners   []zab.Learner
	// Prepared is the newest txn of this leader, Delivered the newest that is committed and in its own log.
	Prepared, Delivered proto.Zxid
	Queued              int64 // bytes that wait for the disk and the state of this server

	// Decides reports whether servers are a quorum.
	Decides func(ids ...proto.ServerID) bool
	// FitSuccessor reports whether a server with room can take over.
	FitSuccessor func() bool
	// CanLead reports whether this server can take over.
	CanLead func(proto.ServerID) bool
}

// Candidate is a follower with a priority or without clients.
type Candidate struct {
	ID       proto.ServerID
	Priority int64
	Idle     bool // has no clients, where leaders should have none
}

// before reports whether one server is to lead rather than another.
func (c *Candidate) before(other *Candidate) bool {
	if c.Idle != other.Idle {
		return c.Idle
	}
	return c.Priority > other.Priority
}

// Decision is what a leader has to do.
type Decision struct {
	Refuse bool          // clients' writes are to be refused
	Lag    time.Duration // how long this server's disk has been behind, if it yields because of that
	// Yield is a handover to any server with a better disk, To one to a server with a higher priority, or with Idle
	// to one without clients; else it is None. There is one of the two at most.
	Yield bool
	To    proto.ServerID
	Idle  bool
	Ends  bool // the epoch nears its end, so any follower should lead, in the next one
}

// heir is the follower that is to lead, because of its priority or because it has no clients.
type heir struct {
	id    proto.ServerID // None if there is none
	since time.Time      // when it was fit to lead first; without a break since then
}

// yields are the handovers of this server for the priority of another one.
type yields struct {
	n    int
	last time.Time
}

// New returns the policy of a server that has not led yet.
func New(cfg Config) *Policy { return &Policy{cfg: cfg, yields: map[proto.ServerID]yields{}} }

// Begin begins a leadership.
func (p *Policy) Begin() { p.heir, p.before, p.lag = heir{id: None}, 0, lag{} }

// Decide decides. A leader asks now and then, and does what is decided: a handover that is returned is remembered as
// one that has taken place.
func (p *Policy) Decide(f *Facts) Decision {
	d := Decision{Refuse: f.Full || !f.Room, To: None}
	lag := p.lag.behind(f)
	behind := lag > p.cfg.SyncLimit || lag > p.cfg.TickTime && f.Queued > queuedMax
	if !behind || f.Full {
		lag = 0
	}
	// After one tick followers have reported on their disks.
	if f.Now.Sub(f.Since) > p.cfg.TickTime && f.Now.Sub(p.yielded) > yieldPause &&
		(f.Full && f.FitSuccessor() || lag > 0) {
		p.yielded, d.Yield, d.Lag = f.Now, true, lag
		p.heir, p.before = heir{id: None}, f.Prepared
		return d
	}
	if d.Ends = !f.HandsOver && f.Prepared.Counter() >= p.cfg.EpochTxns-p.cfg.EpochTxns/8 && f.FitSuccessor(); d.Ends {
		return d
	}
	if d.To, d.Idle = p.preferred(f); d.To != None && !d.Idle {
		p.yields[d.To] = p.yields[d.To].again(f.Now)
	}
	return d
}

// lag is how far the disk of a leader is behind those of the others.
type lag struct {
	zxid  proto.Zxid // a txn that a quorum of the others has logged, and this server has not; 0 if there is none
	since time.Time
}

// behind returns how long this server has lacked a txn that a quorum of the others has; 0 if it lacks none.
func (g *lag) behind(f *Facts) time.Duration {
	if f.Delivered >= g.zxid {
		g.zxid, g.since = 0, f.Now
		// An epoch is acknowledged like a txn with the counter 0, but is not delivered.
		if z := f.acknowledged(); z > f.Delivered && z.Counter() > 0 {
			g.zxid = z
		}
	}
	if g.zxid == 0 {
		return 0
	}
	return f.Now.Sub(g.since)
}

// acknowledged returns the newest txn that a quorum without this leader has logged, 0 if they are no quorum.
func (f *Facts) acknowledged() proto.Zxid {
	var voters []zab.Learner
	for _, l := range f.Learners {
		if l.Voter && l.Synced {
			voters = append(voters, l)
		}
	}
	slices.SortFunc(voters, func(a, b zab.Learner) int { return cmp.Compare(b.Acked, a.Acked) })
	ids := make([]proto.ServerID, 0, len(voters))
	for _, l := range voters {
		if ids = append(ids, l.Peer); f.Decides(ids...) {
			return l.Acked
		}
	}
	return 0
}

// preferred returns the follower that is to lead now, and whether it is because it has no clients.
func (p *Policy) preferred(f *Facts) (id proto.ServerID, idle bool) {
	before := p.before
	p.before = f.Prepared
	best := p.best(f)
	// One that has not acknowledged what was prepared a moment ago would let clients wait.
	if best.ID == None || f.follower(best.ID).Acked < min(before, f.Delivered) || !f.CanLead(best.ID) {
		p.heir = heir{id: None}
		return None, false
	}
	if p.heir.id != best.ID {
		p.heir = heir{best.ID, f.Now}
	}
	idle = best.Idle && !f.Idle
	wait := p.cfg.Pause
	if !idle {
		wait = p.yields[best.ID].wait(p.cfg.Pause, f.Now)
	}
	if f.HandsOver || f.Now.Sub(p.heir.since) < wait || f.Now.Sub(f.Since) < wait {
		return None, false
	}
	return best.ID, idle
}

// best returns the candidate that is to lead rather than this server and the others, the one with the higher id of two
// alike. Its ID is None if this server is to go on.
func (p *Policy) best(f *Facts) Candidate {
	best := Candidate{ID: None, Priority: p.cfg.Priority, Idle: f.Idle}
	for _, c := range f.Candidates {
		better := c.before(&best) || best.ID != None && c.ID > best.ID && !best.before(&c)
		if better && f.follower(c.ID) != nil {
			best = c
		}
	}
	return best
}

// follower returns a follower that is in sync, nil if there is none with the id.
func (f *Facts) follower(id proto.ServerID) *zab.Learner {
	for i := range f.Learners {
		if l := &f.Learners[i]; l.Peer == id && !l.Observer && l.Synced {
			return l
		}
	}
	return nil
}

// count returns how many handovers count.
func (y yields) count(now time.Time) int {
	if now.Sub(y.last) > priorityMemory {
		return 0
	}
	return y.n
}

// wait returns how long the server has to be fit before it gets the leadership.
func (y yields) wait(pause time.Duration, now time.Time) time.Duration {
	return pause << min(y.count(now), priorityDoublings)
}

// again returns the handovers with one more.
func (y yields) again(now time.Time) yields { return yields{y.count(now) + 1, now} }
