package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// A witness is an order of the operations on one path that proves them linearizable. The zxids that the answers show
// suggest one: if it respects the times of the operations and every answer fits the state before it, it is a proof,
// whatever the servers meant by their zxids. If it is none, nothing is proven either way.
//
// A write without an answer has no zxid. If a read shows what it wrote, the read shows its zxid too. Others are put
// in only where an answer does not fit without them: then the shortest sequence of them that makes it fit.
type witness struct {
	order   []*Operation // answered, or seen by a read
	latest  []int64      // by place: the latest Call that an operation inserted there may have
	waiting []*Operation // writes without an answer that no read shows
}

// Bounds of the search for a sequence of unanswered writes.
const (
	maxInserted = 6
	maxStates   = 20_000
)

// prove returns nil if the zxids prove the operations linearizable, else what does not fit. Of reads, values are all
// that were answered, and ops those that have to be in the order.
func prove(ops, values []*Operation) error {
	w := newWitness(ops, values)
	after := int64(math.MinInt64)
	for _, o := range w.order {
		if o.Return < after {
			return fmt.Errorf("%v ended before the call of one with a lower zxid", o)
		}
		after = max(after, o.Call)
	}
	var s register
	for i, o := range w.order {
		next, fits := s.answer(o)
		if !fits {
			before, found := w.insert(s, i)
			if !found {
				return fmt.Errorf("%v does not fit %+v", o, s)
			}
			next, _ = before.answer(o)
		}
		s = next
	}
	return nil
}

func newWitness(ops, values []*Operation) *witness {
	shown := map[string]*Operation{} // by the data that they read
	for _, o := range values {
		shown[o.Data] = o
	}
	w := &witness{}
	place := map[*Operation]proto.Zxid{} // twice the zxid, and one more for a read: it comes after the write
	for _, o := range ops {
		if o.IsRead() {
			place[o] = 2*o.Zxid + 1
			w.order = append(w.order, o)
			continue
		}
		var reader *Operation
		if o.Op == proto.OpSetData || o.Op == proto.OpCreate {
			reader = shown[o.Data]
		}
		zxid := o.Zxid
		switch {
		case !o.Known() && reader == nil:
			w.waiting = append(w.waiting, o)
			continue
		case !o.Known():
			taken := *o // by the server, as the read shows
			taken.Stat, zxid = reader.Stat, reader.Stat.Mzxid
			o = &taken
		case o.Op == proto.OpSetData && o.OK():
			zxid = o.Stat.Mzxid
		case o.Op == proto.OpCreate && o.OK() && reader != nil:
			zxid = reader.Stat.Mzxid
		}
		place[o] = 2 * zxid
		w.order = append(w.order, o)
	}
	slices.SortStableFunc(w.order, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a.Call, b.Call))
	})
	// A conditional write fits fewer states than one of version -1, so it is tried first.
	slices.SortStableFunc(w.waiting, func(a, b *Operation) int { return cmp.Compare(b.Version, a.Version) })
	w.latest = make([]int64, len(w.order))
	latest := int64(math.MaxInt64)
	for i := len(w.order) - 1; i >= 0; i-- {
		latest = min(latest, w.order[i].Return)
		w.latest[i] = latest
	}
	return w
}

// inserted is the state after a sequence of unanswered writes.
type inserted struct {
	state  register
	last   int // place in waiting
	before *inserted
	length int
}

func (n *inserted) has(place int) bool {
	for ; n.before != nil; n = n.before {
		if n.last == place {
			return true
		}
	}
	return false
}

// insert takes the shortest sequence of waiting writes out that leads from s to a state that the answer of operation
// i fits, and returns that state.
func (w *witness) insert(s register, i int) (register, bool) {
	seen := map[register]bool{s: true}
	queue := []*inserted{{state: s}}
	for len(queue) > 0 && len(seen) < maxStates {
		n := queue[0]
		queue = queue[1:]
		if n.length == maxInserted {
			continue
		}
		for place, o := range w.waiting {
			if o == nil || o.Call > w.latest[i] || n.has(place) {
				continue
			}
			next, _ := n.state.step(o)
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := &inserted{state: next, last: place, before: n, length: n.length + 1}
			if _, fits := next.answer(w.order[i]); fits {
				for ; longer.before != nil; longer = longer.before {
					w.waiting[longer.last] = nil
				}
				return next, true
			}
			queue = append(queue, longer)
		}
	}
	return s, false
}
