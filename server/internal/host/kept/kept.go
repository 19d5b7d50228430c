// Package kept keeps client connections of a server that has lost its leader until there is another one, or until the
// server is back at the same one. A change of the leader, or a link that breaks, costs no client of another Warren
// server its connection.
//
//   - Before it hands over, a leader asks its Warren learners to hold the requests of their clients (HOLD). A
//     learner answers behind the last request that it has forwarded. The leader takes no more requests of its own
//     clients. Then everything that was taken is committed, and the leader hands over.
//   - A server whose role ends by that handover, or a learner that has lost its leader, keeps the connections of its
//     clients. Requests that arrive wait.
//   - When the server serves again, it asks its leader for the sessions of these connections (RECLAIM). A connection
//     whose session is granted goes on: with the requests that are not in the history although the leader was given
//     them before, and then with those that wait. At the same leader it waits first until this server has all txns
//     that were proposed by then; another leader had brought all there was before the server served. The others end,
//     and so do all that are kept for too long.
//
// To a client this looks like a slow answer. To the ensemble it looks as if the client had reconnected to the same
// server.
//
// No request is lost or done twice. A leader makes the requests of a session that one learner forwards txns in their
// order, and makes a txn of each. When a connection goes on, all those txns that will ever be committed have been
// delivered: another leader begins with what is left of them, and the same one makes none of what a link has brought
// that is gone, and grants a session only when the link is. So those requests that are txns are the first of the
// queue, and are answered. The others never become one, and are asked again.
//
// A connection does not go on whose client has left it for another server, because its requests would be executed
// after newer ones of the client. Three rules see to that:
//
//   - When a session moves, the leader tells the learner that had it (MOVED), and notes it in the history, before it
//     answers the client. While a handover is prepared no session moves. So a learner knows from the leader, or from
//     the history that it gets when it is back, which sessions were elsewhere.
//   - The next leader grants a session only as long as no other server has asked for it, and the same leader as long
//     as it belongs to a link of this server that is gone.
//   - No other leadership may have been between: the epoch must be the same or the next one.
//
// A server that loads its state anew ends the connections: their watches would miss changes. No connection is kept
// beyond the lease of the server, nor for more than a third of the session timeout.
//
// The package knows which connections wait, and what waits with them. Package host knows the roles: it says when
// connections are kept, asks the leader, and says which go on. There is no goroutine and no lock here. Connections and
// Bodies belong to the host goroutine.
package kept

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Needs is what Connections need of their server. The first three are about the requests of a session that the former
// leader was given and that are not answered.
type Needs struct {
	// CanAskAgain reports whether all of them can be asked again.
	CanAskAgain func(proto.SessionID) bool
	// AskAgain takes them back, to be asked again.
	AskAgain func(proto.SessionID) []*flow.Batch
	// Lose gives them up.
	Lose func(proto.SessionID)

	// Take takes requests as if they had just arrived. It drops those of a connection that does not go on.
	Take func([]*flow.Batch)
	// Unbind notes that a client has closed the connection of its session.
	Unbind func(*sessions.Session, sessions.Conn)
	// Generation is the number of the present time of service.
	Generation func() int64
	// Now is the server's clock, ns.
	Now func() int64
}

// Connections are the connections that outlive the loss of a leader, until each goes on or ends. A connection waits
// until then.
type Connections struct {
	needs    Needs
	epoch    int64 // of the leader that is lost
	until    int64 // when the first of those that wait ends, ns on the server's clock
	order    []*connection
	byID     map[proto.SessionID]*connection // those that wait
	byClient map[flow.Client]*connection     // the same ones
}

// connection is one of them.
type connection struct {
	flow.Held
	batches []*flow.Batch // requests that wait
	until   int64         // when it ends, ns on the server's clock
	moved   bool          // the session was elsewhere
}

// New keeps connections that are held, over the loss of the leader of an epoch. until says when the one of a session
// ends if it does not go on before, ns on the server's clock.
func New(epoch int64, all []flow.Held, until func(*sessions.Session) int64, needs Needs) *Connections {
	k := &Connections{needs: needs, epoch: epoch, byID: map[proto.SessionID]*connection{},
		byClient: map[flow.Client]*connection{}}
	for _, h := range all {
		one := &connection{Held: h, until: until(h.Session)}
		k.order = append(k.order, one)
		k.byID[h.Session.ID], k.byClient[h.Client] = one, one
	}
	slices.SortFunc(k.order, func(a, b *connection) int { return cmp.Compare(a.Session.ID, b.Session.ID) })
	return k
}

// Len is how many connections wait.
func (k *Connections) Len() int { return len(k.byID) }

// Outlive reports whether connections may go on in an epoch: no other leadership was between.
func (k *Connections) Outlive(epoch int64) bool { return k.Back(epoch) || epoch == k.epoch+1 }

// Back reports whether the leader of an epoch is the one that was lost.
func (k *Connections) Back(epoch int64) bool { return epoch == k.epoch }

// Of returns the connection of a session, if one waits.
func (k *Connections) Of(id proto.SessionID) (h flow.Held, ok bool) {
	one := k.byID[id]
	if one == nil {
		return flow.Held{}, false
	}
	return one.Held, true
}

// Park sets those of the requests aside that belong to connections which wait, and returns the others, in the same
// memory.
func (k *Connections) Park(batches []*flow.Batch) []*flow.Batch {
	rest := batches[:0]
	for _, b := range batches {
		if one := k.byClient[b.Requests[b.Taken].Client]; one != nil {
			one.batches = append(one.batches, b)
		} else {
			rest = append(rest, b)
		}
	}
	clear(batches[len(rest):])
	return rest
}

// Elsewhere notes that the history has a txn of a session which this server has not asked for.
func (k *Connections) Elsewhere(id proto.SessionID, zxid proto.Zxid) {
	if one := k.byID[id]; one != nil && zxid > one.Session.After {
		one.moved = true
	}
}

// Moved notes that the client of a session has left the connection that waits, if one does.
func (k *Connections) Moved(id proto.SessionID) {
	if one := k.byID[id]; one != nil {
		one.moved = true
	}
}

// HasMoved reports whether the client of a session that waits has left its connection, as far as this server knows.
func (k *Connections) HasMoved(id proto.SessionID) bool { return k.byID[id].moved }

// Each calls fn for each connection that waits, in the order of their sessions. may says whether it may go on, as far
// as this server knows: its session was not elsewhere, and what it is owed can be asked again. fn may call GoOn.
func (k *Connections) Each(fn func(h flow.Held, may bool)) {
	for _, one := range k.order {
		if k.byID[one.Session.ID] == one {
			fn(one.Held, !one.moved && k.needs.CanAskAgain(one.Session.ID))
		}
	}
}

// GoOn ends the wait of a session's connection: it goes on if it is granted, else it ends. GoOn does nothing if the
// wait is over already.
func (k *Connections) GoOn(id proto.SessionID, granted bool) {
	one := k.byID[id]
	if one == nil {
		return
	}
	delete(k.byID, id)
	delete(k.byClient, one.Client)
	var again []*flow.Batch
	if granted {
		again = k.needs.AskAgain(id)
	} else {
		k.needs.Lose(id)
	}
	if !one.Client.Release(k.needs.Generation(), granted) && granted {
		k.needs.Unbind(one.Session, one.Client) // the client has closed it meanwhile
	}
	k.needs.Take(append(again, one.batches...))
}

// Drop ends all connections that wait.
func (k *Connections) Drop() {
	for _, one := range k.order {
		k.GoOn(one.Session.ID, false)
	}
}

// Expire ends the connections that were kept for too long, and returns how many.
func (k *Connections) Expire() (ended int) {
	now := k.needs.Now()
	if now <= k.until {
		return 0
	}
	k.until = math.MaxInt64
	for _, one := range k.order {
		switch {
		case k.byID[one.Session.ID] != one:
		case one.until < now:
			k.GoOn(one.Session.ID, false)
			ended++
		default:
			k.until = min(k.until, one.until)
		}
	}
	return ended
}
