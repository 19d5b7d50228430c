// Package lease says until when a server may answer clients: as long as it knows that the leader, or a quorum, hears
// what it reports about their sessions. Without a lease, a server that is cut off would answer clients of sessions
// that the leader, or the next leader, has expired.
//
// Let B be the length of the lease, which holds for all clients, and T the timeout of a session. A client with a long
// timeout that is connected already may be answered for longer than that, until T/2 has passed, but no longer than a
// learner waits for its leader (LeaseOf of package config): so a network or a process that stands still for some
// seconds costs it nothing. Let D be that time, or B if that is longer.
//
//   - A learner answers at x only if its leader has received an answer to PING that was made at x-D or later, and has
//     said so while its own lease of length B lasted. That answer reported every session heard of before. A Warren
//     leader says at once, and in its PINGs, how many answers have arrived. With a leader in Java, each PING counts as
//     proof that all earlier answers have arrived.
//   - A leader answers at x only if a quorum has answered PINGs that were sent at x-D or later. The next leader
//     needs a server of that quorum, so it begins later. It gives every session its whole timeout, or, if no
//     server has its client, what the former leader has left of it, without the time in which there was no leader.
//   - A leader that must not answer clients does not answer REVALIDATE either, and does not report new arrivals to
//     learners.
//   - An observer that learns from a follower hears from the follower how many of the observer's answers have
//     reached the leader: those that went along with answers of the follower that the leader has confirmed.
//   - A client that was silent for longer than T is not answered, but disconnected (package serve): the leader may
//     have expired its session, and this server may apply that much later.
//
// So consider a client that sends something every T/3. If its session is expired at e by the present leader, the
// client is answered for the last time before e-2T/3+D. If a later leader expires it, the last answer is before
// e-T+B+D. When the lease of a session ends, its connection is closed. A client that takes its connection as proof
// that it holds a lock is therefore in time if T is longer than 2B, because D is T/2 then at most. Source:
// quorum-protocol 8.5, where a learner answers its clients for up to syncLimit ticks.
//
// The package knows neither links nor packets: its caller tells it what was sent and what has arrived. It has no
// goroutine and no lock. A Lease and the Exchanges of a server belong to one goroutine, the host goroutine.
package lease

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// Needs is what a Lease needs of its server.
type Needs struct {
	// Now is the server's clock, ns.
	Now func() int64
	// Publish tells other goroutines until when clients may be answered, ns on that clock: MaxInt64 without a limit.
	Publish func(end int64)
}

// Lease says until when one server may answer clients.
type Lease struct {
	needs  Needs
	length time.Duration
	// from is when the newest message was sent that is known to have arrived, ns on the server's clock; 0 if
	// nothing is known.
	from int64
	end  int64 // what was published last
	// offered is when a leader that does not serve yet has sent its first NEWLEADER; 0 before.
	offered int64
	isOver  bool // Over has reported the end
	endless bool // a standalone server may always answer
	heard   []heardOf
}

// heardOf says since when a server has surely heard of this one.
type heardOf struct {
	id proto.ServerID
	at int64
}

// New returns a lease that has not begun. Nothing is published before Begin.
func New(length time.Duration, needs Needs) *Lease { return &Lease{length: length, needs: needs} }

// Lift makes the lease of a standalone server, which may always answer. It has no end from now on.
func (l *Lease) Lift() {
	l.endless = true
	l.publish(math.MaxInt64)
}

// Length is how long after its beginning a lease ends.
func (l *Lease) Length() time.Duration { return l.length }

// Left is how long the lease lasts from now on; it is negative after the end.
func (l *Lease) Left() time.Duration { return time.Duration(l.end - l.needs.Now()) }

// Offer notes that this server, which is to lead, has sent NEWLEADER. Withdraw ends that attempt.
func (l *Lease) Offer() {
	if l.offered == 0 {
		l.offered = l.needs.Now()
	}
}

// Withdraw notes that this server has another role than before.
func (l *Lease) Withdraw() { l.offered = 0 }

// Begin begins the lease of a new service. A learner begins to serve by permission of a leader with a lease. A
// leader knows that its quorum was there when NEWLEADER was sent.
func (l *Lease) Begin(leads bool) {
	from := l.needs.Now()
	if leads && l.offered != 0 {
		from = l.offered
	}
	l.Renew(from)
}

// Renew extends the lease: it runs from the time at which a message was sent that has arrived. An earlier time than
// the one that is known changes nothing.
func (l *Lease) Renew(from int64) {
	if l.endless || from <= l.from {
		return
	}
	l.from = from
	l.publish(from + int64(l.length))
	l.isOver = l.isOver && !l.holds()
}

// RenewByQuorum extends the lease of a leader by what its learners have answered. learners yields those with an
// Exchange. decides reports whether some servers are a quorum; this server, own, is always among them.
func (l *Lease) RenewByQuorum(own proto.ServerID, learners iter.Seq2[proto.ServerID, *Exchange],
	decides func(...proto.ServerID) bool,
) {
	all := append(l.heard[:0], heardOf{own, l.needs.Now()})
	for id, x := range learners {
		all = append(all, heardOf{id, x.newest})
	}
	l.heard = all
	slices.SortFunc(all, func(a, b heardOf) int { return cmp.Compare(b.at, a.at) })
	ids := make([]proto.ServerID, 0, len(all))
	for _, h := range all {
		if ids = append(ids, h.id); decides(ids...) {
			l.Renew(h.at)
			return
		}
	}
}

// End ends the lease with the service.
func (l *Lease) End() {
	if l.endless {
		return
	}
	l.from, l.isOver = 0, false
	l.publish(0)
}

// Free publishes that local sessions, which need no lease, may be answered until End.
func (l *Lease) Free() { l.publish(math.MaxInt64) }

// Over reports whether the lease has ended, and whether it reports so for the first time since: then the client
// connections are to be closed.
func (l *Lease) Over() (over, first bool) {
	if l.endless || l.holds() {
		return false, false
	}
	first = !l.isOver
	l.isOver = true
	return true, first
}

func (l *Lease) holds() bool { return l.needs.Now() <= l.end }

func (l *Lease) publish(end int64) {
	l.end = end
	l.needs.Publish(end)
}

// Exchange holds the PINGs of one link and their answers, at either end of the link: PINGs at the end of a leader or
// of an observer master, answers at the end of a learner. Answers arrive in the order of the PINGs. The zero value is
// that of a link without any.
type Exchange struct {
	sent    flow.FIFO[int64] // when each message left that has not arrived yet
	arrived uint64           // how many have
	newest  int64            // when the newest of them was sent
	// told is how many answers have arrived at the leader, as reported by the leader or the observer master.
	told    uint64
	carried flow.FIFO[carriage]
}

// carriage notes that one answer of an observer master to its leader reported everything that an observer had sent
// so far.
type carriage struct {
	answer  uint64 // number of the answer, among the answers of the master
	arrived uint64 // how many of the observer's have arrived
}

// exchangeMax bounds the PINGs or answers that are unconfirmed on a link.
const exchangeMax = 4096

// Sent notes that a message leaves. An answer that reports no sessions, because the last one has reported them a
// moment ago, counts as one of that time. It reports false if more than exchangeMax have not arrived.
func (x *Exchange) Sent(at int64) bool {
	x.sent.Push(at)
	return x.sent.Len() <= exchangeMax
}

// Answered notes that a learner has answered one PING.
func (x *Exchange) Answered() { x.Arrived(x.arrived + 1) }

// Arrived notes that n in all have arrived, and returns when the newest of them was sent; 0 if none has. No more
// arrive than were sent.
func (x *Exchange) Arrived(n uint64) (newest int64) {
	for x.arrived < n && x.sent.Len() > 0 {
		x.newest = *x.sent.Front()
		x.sent.Pop()
		x.arrived++
	}
	return x.newest
}

// AllArrived notes that all messages have arrived: a leader in Java does not count them.
func (x *Exchange) AllArrived() {
	x.arrived += uint64(x.sent.Len())
	x.sent = flow.FIFO[int64]{}
}

// Tell says that the next PING may report all answers that have arrived here: this server leads, and has a lease.
func (x *Exchange) Tell() { x.told = x.arrived }

// Told is how many answers a PING may report.
func (x *Exchange) Told() uint64 { return x.told }

// Carry notes that the answer that was sent last on the link to the leader carries what the observer at the other
// end of x has reported so far.
func (x *Exchange) Carry(leader *Exchange) {
	x.carried.Push(carriage{answer: leader.arrived + uint64(leader.sent.Len()), arrived: x.arrived})
	if x.carried.Len() > exchangeMax {
		x.carried.Pop()
	}
}

// Carried notes that the answers that have arrived at the leader carried reports of an observer.
func (x *Exchange) Carried(leader *Exchange) {
	for x.carried.Len() > 0 && x.carried.Front().answer <= leader.arrived {
		x.told = x.carried.Front().arrived
		x.carried.Pop()
	}
}
