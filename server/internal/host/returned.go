package host

import (
	"cmp"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
)

// How a learner lets clients go on that have come back: see moves.go for what the leader does.

// moved notes that another server has the client of a session, and ends its connection to this server, or to an
// observer of it: see leading.moved.
func (f *following) moved(id proto.SessionID) {
	f.Tracker.Moved(id)
	abort(f.Tracker.Serving(id))
	if to := f.h.links.open[f.below.Owner(id)]; to != nil && to.warren {
		f.h.sendMoved(to, id)
	}
	f.leaves(id)
}

// leaves notes that clients do not go on here which wait to: the session has a newer connection, here or elsewhere.
func (f *following) leaves(id proto.SessionID) {
	for r := range f.back.All() {
		r.moved = r.moved || r.ID == id
	}
	if k := f.h.keeping.now; k != nil {
		k.Moved(id)
	}
}

// resume implements role: only the leader knows whether the session still lives.
func (f *following) resume(r *flow.Resumption) {
	if f.link == nil {
		r.Client.Abort()
		return
	}
	f.claim(r.ID)
	f.renewed[r.ID], r.Asked, r.Question = r, f.Clock.Now(), f.question()
	f.h.links.send(f.link, peers.AskRevalidate(r.ID, r.TimeoutMs, r.Question))
}

// claim notes that this server asks for a session, of a client that has come back here or at an observer of it. The
// newest connection of a client counts: those on which it still waits here do not go on. Otherwise they would, end at
// once, and this server would report that the client has left.
func (f *following) claim(id proto.SessionID) {
	f.Tracker.Claim(id)
	if r := f.renewed[id]; r != nil {
		delete(f.renewed, id)
		r.Client.Abort()
	}
	f.leaves(id)
}

// ended tells clients that come back that their session has ended: its closeSession is delivered. The leader may have
// confirmed it before that.
func (f *following) ended(id proto.SessionID) {
	f.below.Ended(id)
	if r := f.renewed[id]; r != nil {
		delete(f.renewed, id)
		r.Client.Resumed(nil, nil, 0, false)
	}
	for r := range f.back.All() {
		r.ended = r.ended || r.ID == id
	}
}

// question numbers the next question about a session.
func (f *following) question() int64 {
	f.questions++
	return f.questions
}

// giveUp aborts the connections of clients about which the leader does not answer. A leader gives no answer while
// it does not know whether it still leads, and gives none later either, when it knows again: see lease.go. The
// client then asks another server, or this one again.
func (f *following) giveUp() {
	limit := f.Clock.Now() - int64(f.h.lease.Length())
	for _, id := range inOrder(f.renewed, cmp.Compare) {
		if r := f.renewed[id]; r.Asked < limit {
			delete(f.renewed, id)
			r.Client.Abort()
		}
	}
	f.below.GiveUp(limit)
}

// returned is a client that came back, and whose session the leader has confirmed. At that time the leader had
// proposed all txns up to proposed.
type returned struct {
	*flow.Resumption
	proposed proto.Zxid
	after    proto.Zxid // the newest txn that this server had heard of by then
	moved    bool       // the client has a newer connection, here or to another server
	ended    bool       // the session has ended
}

// settled ends the wait of a client that does not go on here, whatever the leader has confirmed.
func (r *returned) settled() bool {
	switch {
	case r.ended:
		r.Client.Resumed(nil, nil, 0, false)
	case r.moved:
		r.Client.Abort()
	}
	return r.ended || r.moved
}

// renew answers a client that came back, as soon as this server has all txns up to proposed. A leader in Java does not
// tell this zxid, but every txn that it had committed on the client's last server arrived here before its answer.
func (f *following) renew(r *flow.Resumption, a *peers.Revalidated) {
	if !a.Valid {
		r.Client.Resumed(nil, nil, 0, false)
		return
	}
	r.Whole = a.Question > 0 // otherwise it may be the answer to an earlier question
	now := &f.h.reach
	if f.back.Push(returned{r, a.Proposed, max(a.Proposed, now.seen), false, false}); a.Proposed <= now.delivered {
		f.delivered(now.delivered)
	}
}

// delivered implements role: clients that came back go on, and those whose connections were kept.
func (f *following) delivered(z proto.Zxid) {
	for f.grants.Len() > 0 && f.grants.Front().proposed <= z {
		g := *f.grants.Front()
		f.grants.Pop()
		f.goesOn(g)
	}
	for f.back.Len() > 0 && f.back.Front().proposed <= z {
		r := *f.back.Front()
		f.back.Pop()
		if r.settled() {
			continue
		}
		f.below.Disown(r.ID)
		s, old := f.Tracker.Adopt(r.ID, r.TimeoutMs, r.Client, r.Received)
		s.After = max(s.After, r.after)
		r.Whole = r.Whole && f.link != nil && f.link.ID == f.h.noting
		f.h.goesOn(r.Resumption, s, old)
	}
}
