// Package syncs holds back what must not overtake a sync at a leader: the requests behind a sync wait until the
// agreement has answered it. Source: quorum-protocol 8.3.
//
// The package knows neither requests nor roles: a caller says what a request is held back by, and Needs what happens
// to it then. It has no goroutine and no lock. A Queue belongs to the host goroutine, and lives as long as the role of
// the leader.
package syncs

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// Needs is what a Queue of requests W needs of its leader.
type Needs[W any] struct {
	// Propose proposes the txns before a sync, as far as it can. It calls Ask.
	Propose func()
	// MayAsk reports whether the agreement may be asked: all txns before the syncs are proposed.
	MayAsk func() bool
	// Ask asks the agreement for a sync, by its token. It gives Answered later.
	Ask func(zab.LinkID, uint64)
	// Prepare goes on with a request that does not wait any more.
	Prepare func(W)
}

// Key says what a sync holds back: the requests of one session, or of a whole learner in Java.
type Key struct {
	Session proto.SessionID
	Link    zab.LinkID
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Session, o.Session), cmp.Compare(k.Link, o.Link))
}

// Queue holds the syncs of a leader that are not answered, and the requests behind them.
//
// Invariants:
//
//   - Nothing overtakes a sync that must not. A request that a session sends behind its sync waits for the answer
//     to the sync.
//   - Nothing from a learner in Java overtakes a sync of that learner, whatever the session. Such a learner assigns
//     a commit of its own request, or a SYNC, to the oldest request that it has forwarded.
//   - A Warren learner looks for the oldest request of the session. Its syncs are still answered in the order in
//     which they came, because SYNC does not name the request on the wire.
type Queue[W any] struct {
	needs   Needs[W]
	unasked []unasked                      // syncs that the agreement was not asked for yet
	token   uint64                         // of the last sync
	asked   map[uint64]Key                 // syncs with a token, by it
	held    map[Key]*flow.FIFO[held[W]]    // syncs and the requests that wait behind them
	order   map[zab.LinkID]*flow.FIFO[Key] // of a Warren learner: the order in which its syncs arrived
}

// held is a sync, or a request behind one.
type held[W any] struct {
	link  zab.LinkID // to the learner; 0 for a client of this server
	sync  bool
	token uint64 // of a sync that the agreement was, or is to be, asked for
	w     W
}

// unasked is a sync that waits until all txns before it are proposed.
type unasked struct {
	link  zab.LinkID
	token uint64
}

// New returns an empty Queue.
func New[W any](needs Needs[W]) *Queue[W] {
	return &Queue[W]{needs: needs, asked: map[uint64]Key{}, held: map[Key]*flow.FIFO[held[W]]{},
		order: map[zab.LinkID]*flow.FIFO[Key]{}}
}

// Empty reports whether nothing is held back.
func (q *Queue[W]) Empty() bool { return len(q.held) == 0 }

// Unanswered is how many syncs have a token and are not answered.
func (q *Queue[W]) Unanswered() int { return len(q.asked) }

// Holds reports whether a request with this key has to wait.
func (q *Queue[W]) Holds(key Key) bool { return q.held[key] != nil }

// Push adds a request that has to wait, or a sync, which is asked for when it is its turn.
func (q *Queue[W]) Push(key Key, link zab.LinkID, sync bool, w W) {
	flow.QueueOf(q.held, key).Push(held[W]{link: link, sync: sync, w: w})
	if !sync {
		return
	}
	if link != 0 && key.Link == 0 {
		flow.QueueOf(q.order, link).Push(key)
	}
	q.askFront(key)
}

// askFront asks for the sync at the front of a queue, if it is its turn: those of a Warren learner keep their order.
func (q *Queue[W]) askFront(key Key) {
	if link := q.held[key].Front().link; link != 0 && key.Link == 0 {
		q.askNext(link)
	} else {
		q.ask(key)
	}
}

// askNext asks for the next syncs of a Warren learner, in their order. It stops at a sync that waits behind one of
// another server: their session has moved.
func (q *Queue[W]) askNext(link zab.LinkID) {
	o := q.order[link]
	for o != nil && o.Len() > 0 && q.held[*o.Front()].Front().link == link && q.ask(*o.Front()) {
		o.Pop()
	}
}

// ask asks for the syncs at the front of a queue. It reports false if all of them were asked for before.
func (q *Queue[W]) ask(key Key) (asked bool) {
	all := q.held[key]
	for i := 0; all != nil && i < all.Len() && all.At(i).sync; i++ {
		if h := all.At(i); h.token == 0 {
			q.needs.Propose() // the txns before the sync are proposed before it
			q.token++
			h.token = q.token
			q.asked[q.token] = key
			q.unasked = append(q.unasked, unasked{h.link, q.token})
			asked = true
		}
		if key.Link == 0 {
			break // the syncs behind it may be of other learners, which have an order of their own
		}
	}
	q.Ask()
	return asked
}

// Ask asks the agreement for the syncs that it does not know. It does nothing while txns before the syncs are not
// proposed: if those txns are never proposed, the syncs must not be answered either.
func (q *Queue[W]) Ask() {
	if len(q.unasked) == 0 || !q.needs.MayAsk() {
		return
	}
	for _, u := range q.unasked {
		if _, ok := q.asked[u.token]; ok {
			q.needs.Ask(u.link, u.token)
		}
	}
	q.unasked = q.unasked[:0]
}

// Sync returns the sync with a token, until it is answered; nil if there is none.
func (q *Queue[W]) Sync(token uint64) *W {
	key, ok := q.asked[token]
	if !ok {
		return nil
	}
	return &q.held[key].Front().w
}

// Answered goes on with the requests that waited behind a sync. It reports false if there is no such sync.
func (q *Queue[W]) Answered(token uint64) bool {
	key, ok := q.asked[token]
	if !ok {
		return false
	}
	delete(q.asked, token)
	q.held[key].Pop()
	q.advance(key)
	return true
}

// advance goes on with the requests that were held back, up to the next sync.
func (q *Queue[W]) advance(key Key) {
	all := q.held[key]
	for all.Len() > 0 && !all.Front().sync {
		w := all.Front().w
		all.Pop()
		q.needs.Prepare(w)
	}
	if all.Len() == 0 {
		delete(q.held, key)
	} else {
		q.askFront(key)
	}
}

// Gone forgets the syncs of a learner after its link has closed, and goes on with the requests behind them.
func (q *Queue[W]) Gone(link zab.LinkID) {
	delete(q.order, link)
	for _, key := range q.keys() {
		all := q.held[key]
		if all == nil {
			continue
		}
		var rest flow.FIFO[held[W]]
		for ; all.Len() > 0; all.Pop() {
			if h := all.Front(); h.link != link || key.Link == 0 && !h.sync {
				rest.Push(*h)
			} else if h.token != 0 {
				delete(q.asked, h.token)
			}
		}
		*all = rest
		if all.Len() == 0 || all.Front().token == 0 {
			q.advance(key)
		}
	}
}

// Behind calls fn for the requests of a session that wait behind a sync.
func (q *Queue[W]) Behind(id proto.SessionID, fn func(*W)) {
	all := q.held[Key{Session: id}]
	for i := 0; all != nil && i < all.Len(); i++ {
		if h := all.At(i); !h.sync {
			fn(&h.w)
		}
	}
}

// Drain calls fn for all that is held, syncs too, and forgets it.
func (q *Queue[W]) Drain(fn func(*W)) {
	for _, key := range q.keys() {
		for all := q.held[key]; all.Len() > 0; all.Pop() {
			fn(&all.Front().w)
		}
	}
}

// keys are the keys in an order that does not depend on the run.
func (q *Queue[W]) keys() []Key { return slices.SortedFunc(maps.Keys(q.held), Key.compare) }
