package trends

import (
	"math"
	"strings"
	"sync"
	"time"
)

// Wide is how many figures a Ring has at most.
const Wide = 32

// eventsKept is how many events a Ring keeps, the newest.
const eventsKept = 256

// textMax is how many bytes of the text of an event are kept.
const textMax = 200

// littleBack is how far a clock may go back, in ms, before figures are dropped.
const littleBack = 10_000

// levels are the lengths of slots, and how many there are. The last one covers at least a day.
var levels = [...]struct {
	every time.Duration
	slots int
}{{2 * time.Second, 300}, {10 * time.Second, 360}, {time.Minute, 360}, {5 * time.Minute, 300}}

// slotsAll is the sum of the slots of all levels.
const slotsAll = 300 + 360 + 360 + 300

// Fold says how the samples of a slot become one value.
type Fold uint8

// The folds.
const (
	Mean Fold = iota // for what is usual, such as rates
	Most             // for what must not be missed, such as queues and high quantiles
)

// unknown is the value of a figure that is not known.
var unknown = float32(math.NaN())

// Ring keeps figures and events. Any goroutine may use it. The zero value is of no use: see New.
type Ring struct {
	folds []Fold

	mu     sync.Mutex
	slots  [slotsAll]slot
	levels [len(levels)]level
	events [eventsKept]Event // the n-th is at n%eventsKept
	told   int               // events so far
}

// slot is the figures of a moment.
type slot struct {
	at     int64 // its beginning, ms since 1970; 0 if it was dropped
	values [Wide]float32
}

// level is the state of one resolution.
type level struct {
	done  int   // slots that were completed so far; the n-th is at n modulo the length of the level
	open  int64 // beginning of the slot that is being filled, ms since 1970; 0 before the first sample
	value [Wide]float64
	count [Wide]int32
}

// Event is something that happened to the server. At most 200 bytes of its text are kept.
type Event struct {
	At   int64  `json:"at" doc:"ms since 1970"`
	Kind string `json:"kind" doc:"start, deploy, role, finding, resolved, clients, sessions, configuration, order or restore"`
	Text string `json:"text" doc:"what happened"`
}

// View is a part of a Ring.
type View struct {
	Every  time.Duration // from one slot to the next
	Times  []int64       // beginnings of the slots, ms since 1970, ascending
	Values [][]float32   // by figure and slot; NaN where nothing is known
}

// New returns an empty Ring for figures with these folds, at most Wide of them.
func New(folds []Fold) *Ring {
	if len(folds) > Wide {
		panic("trends: more figures than a Ring can hold")
	}
	return &Ring{folds: folds}
}

// Add adds a sample of every figure, in the order of the folds, taken at a time in ms since 1970. A clock that goes
// back a little adds to the present slot. If it goes back further it was ahead before: what it has left in the time to
// come is dropped, or nothing would be added until then.
func (r *Ring) Add(at int64, sample []float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.levels {
		l, every := &r.levels[i], levels[i].every.Milliseconds()
		begin, newest := at-at%every, r.newest(i)
		if begin < newest-max(every, littleBack) {
			r.rewind(i, begin)
		} else if l.open == 0 && begin <= newest {
			continue // the clock has gone back behind what Load has found
		}
		if begin > l.open {
			if l.open != 0 {
				r.complete(i)
			}
			l.open = begin
		}
		for f, v := range sample[:len(r.folds)] {
			if v != v { // NaN
				continue
			}
			if r.folds[f] == Mean || l.count[f] == 0 {
				l.value[f] += float64(v)
			} else {
				l.value[f] = max(l.value[f], float64(v))
			}
			l.count[f]++
		}
	}
}

// newest is the beginning of the newest slot of a level, 0 if there is none. REQUIRES: mu.
func (r *Ring) newest(i int) int64 {
	l, part := &r.levels[i], r.part(i)
	if l.open == 0 && l.done > 0 {
		return part[(l.done-1)%len(part)].at
	}
	return l.open
}

// rewind drops the slots of a level that begin at a time or later. REQUIRES: mu.
func (r *Ring) rewind(i int, from int64) {
	l, part := &r.levels[i], r.part(i)
	hasLost := l.done > len(part)
	for ; l.done > 0; l.done-- {
		s := &part[(l.done-1)%len(part)]
		if s.at < from {
			break
		}
		s.at = 0
	}
	if hasLost && l.done <= len(part) {
		l.done += len(part)
	}
	l.open, l.value, l.count = 0, [Wide]float64{}, [Wide]int32{}
}

// kept returns the numbers of the slots of a level that are kept, from the first to before the end. REQUIRES: mu.
func (r *Ring) kept(i int) (first, end int) {
	part := r.part(i)
	end = r.levels[i].done
	first = max(0, end-len(part))
	for first < end && part[first%len(part)].at == 0 { // dropped
		first++
	}
	return first, end
}

func (r *Ring) part(i int) []slot {
	from := 0
	for _, l := range levels[:i] {
		from += l.slots
	}
	return r.slots[from : from+levels[i].slots]
}

// complete writes the open slot of a level. REQUIRES: mu.
func (r *Ring) complete(i int) {
	l, part := &r.levels[i], r.part(i)
	s := &part[l.done%len(part)]
	s.at = l.open
	for f := range r.folds {
		s.values[f] = l.folded(f, r.folds[f])
	}
	l.done++
	l.value, l.count = [Wide]float64{}, [Wide]int32{}
}

// folded is the value of a figure in the open slot.
func (l *level) folded(f int, fold Fold) float32 {
	switch {
	case l.count[f] == 0:
		return unknown
	case fold == Mean:
		return float32(l.value[f] / float64(l.count[f]))
	}
	return float32(l.value[f])
}

// Since returns the figures from a time on, in ms since 1970, at the finest resolution that reaches back so far or has
// lost nothing yet. The slot that is being filled is left out.
func (r *Ring) Since(from int64) View {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := 0
	for ; i < len(levels)-1; i++ {
		part := r.part(i)
		first, end := r.kept(i)
		if end <= len(part) || first < end && part[first%len(part)].at <= from {
			break
		}
	}
	v := View{Every: levels[i].every, Times: []int64{}, Values: make([][]float32, len(r.folds))}
	part := r.part(i)
	for n, end := r.kept(i); n < end; n++ {
		s := &part[n%len(part)]
		if s.at < from {
			continue
		}
		v.Times = append(v.Times, s.at)
		for f := range r.folds {
			v.Values[f] = append(v.Values[f], s.values[f])
		}
	}
	return v
}

// Tell adds an event.
func (r *Ring) Tell(e Event) {
	if len(e.Text) > textMax { // a part of a character at the end goes, too
		e.Text = strings.ToValidUTF8(e.Text[:textMax], "")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[r.told%eventsKept] = e
	r.told++
}

// Events returns the events that are kept, the newest first.
func (r *Ring) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Event{}
	for n := r.told - 1; n >= max(0, r.told-eventsKept); n-- {
		all = append(all, r.events[n%eventsKept])
	}
	return all
}
