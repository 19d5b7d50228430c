package figures

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the counters and summaries that have one of ZooKeeper's names. The exporter shows the totals,
// mntr the values since the last srst. It is filled when the server starts; after that only values change.
// Source: operations 2.3, 4.2 and 4.3.
type Metrics struct {
	counters, counterSets, summaries, summarySets []named

	// Names says which names counters have in the exporter. It is set when the server starts.
	Names Names
}

// Names are the names of counters in the exporter: those of ZooKeeper 3.9, those of 3.10, which end with _total, or
// both. Other metrics have the same names in both versions.
type Names struct{ Of39, Of310 bool }

// countersEnd is how the names of counters end in 3.10.
const countersEnd = "_total"

// figure is a Counter or a Summary.
type figure interface {
	// reset does what srst asks for.
	reset()
	// lines calls line for the lines of mntr.
	lines(name string, line func(key, value string))
	// metric returns the total for the exporter.
	metric(desc *prometheus.Desc, labels ...string) prometheus.Metric
}

// named is a figure or a set of figures with its name.
type named struct {
	name string
	desc *prometheus.Desc
	// later is the name in ZooKeeper 3.10 if it is another one, else nil.
	later *prometheus.Desc
	each  func(fn func(f figure, key ...string)) // with one key for each figure of a set
}

func single(name, help string, f figure) named {
	return named{name: name, desc: prometheus.NewDesc(name, help, nil, nil),
		each: func(fn func(figure, ...string)) { fn(f) }}
}

func several[F figure](name, help string, s *Set[F]) named {
	return named{name: name, desc: prometheus.NewDesc(name, help, []string{KeyLabel}, nil), each: s.each}
}

// counter gives a figure that is a counter its later name.
func counter(n named, help string, labels ...string) named {
	if !strings.HasSuffix(n.name, countersEnd) {
		n.later = prometheus.NewDesc(n.name+countersEnd, help, labels, nil)
	}
	return n
}

// descs returns the names under which the exporter shows a figure.
func (m *Metrics) descs(n *named) []*prometheus.Desc {
	switch {
	case n.later == nil, !m.Names.Of310:
		return []*prometheus.Desc{n.desc}
	case !m.Names.Of39:
		return []*prometheus.Desc{n.later}
	}
	return []*prometheus.Desc{n.desc, n.later}
}

// total is a number that only goes up, as a figure.
type total struct {
	now  func() int64
	base atomic.Int64 // the number at the last reset
}

func (t *total) reset() { t.base.Store(t.now()) }

func (t *total) lines(name string, line func(key, value string)) {
	line(name, fmt.Sprint(t.now()-t.base.Load()))
}

func (t *total) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(t.now()), labels...)
}

// Counter is a total to which any goroutine may add.
type Counter struct {
	value atomic.Int64
	total
}

func newCounter() *Counter {
	c := &Counter{}
	c.now = c.Total
	return c
}

// Inc adds one.
func (c *Counter) Inc() { c.value.Add(1) }

// Add adds n, which must not be negative.
func (c *Counter) Add(n int64) { c.value.Add(n) }

// Total returns the sum since the start.
func (c *Counter) Total() int64 { return c.value.Load() }

// Set holds a figure for each of some keys, such as the first elements of paths or the ids of servers. A figure is
// made when its key is first asked for. Clients may choose keys, so there are at most keysMax of them; all further
// keys share keyOther.
type Set[F figure] struct {
	make func() F
	mu   sync.Mutex
	all  map[string]F
}

// CounterSet and summarySet are the sets that there are.
type (
	CounterSet = Set[*Counter]
	summarySet = Set[*Summary]
)

const (
	keysMax  = 1000
	keyOther = "other"
)

// Of returns the figure of a key. Callers on a hot path keep it.
func (s *Set[F]) Of(key string) F {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.all[key]; !known && len(s.all) >= keysMax {
		key = keyOther
	}
	f, known := s.all[key]
	if !known {
		f = s.make()
		s.all[key] = f
	}
	return f
}

// each calls fn for every key, in order.
func (s *Set[F]) each(fn func(f figure, key ...string)) {
	s.mu.Lock()
	all := maps.Clone(s.all)
	s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fn(all[key], key)
	}
}

// KeyLabel is the label of sets in the exporter.
const KeyLabel = "key"

// Counter adds a counter.
func (m *Metrics) Counter(name, help string) *Counter {
	c := newCounter()
	m.counters = append(m.counters, counter(single(name, help, c), help))
	return c
}

// CounterSet adds a set of counters.
func (m *Metrics) CounterSet(name, help string) *CounterSet {
	s := &CounterSet{make: newCounter, all: map[string]*Counter{}}
	m.counterSets = append(m.counterSets, counter(several(name, help, s), help, KeyLabel))
	return s
}

// Basic adds a summary whose median ZooKeeper exports.
func (m *Metrics) Basic(name, help string) *Summary { return m.add(name, help, newSummary(false)) }

// Advanced adds a summary whose quantiles ZooKeeper shows.
func (m *Metrics) Advanced(name, help string) *Summary { return m.add(name, help, newSummary(true)) }

func (m *Metrics) add(name, help string, s *Summary) *Summary {
	m.summaries = append(m.summaries, single(name, help, s))
	return s
}

// summarySet adds a set of summaries whose quantiles ZooKeeper shows.
func (m *Metrics) summarySet(name, help string) *summarySet {
	s := &summarySet{make: func() *Summary { return newSummary(true) }, all: map[string]*Summary{}}
	m.summarySets = append(m.summarySets, several(name, help, s))
	return s
}

// each calls fn for every figure in the order of mntr's lines; key has one element in a set.
func (m *Metrics) each(fn func(n named, f figure, key ...string)) {
	for _, n := range slices.Concat(m.counters, m.counterSets, m.summaries, m.summarySets) {
		n.each(func(f figure, key ...string) { fn(n, f, key...) })
	}
}

// reset does what srst asks for.
func (m *Metrics) reset() { m.each(func(_ named, f figure, _ ...string) { f.reset() }) }

// Lines calls line for each of mntr's lines, without their prefix.
func (m *Metrics) Lines(line func(key, value string)) {
	m.each(func(n named, f figure, key ...string) {
		name := n.name
		for _, k := range key {
			name = PlainKey(k) + "_" + name
		}
		f.lines(name, line)
	})
}

// PlainKey returns a key as the name of a line of mntr may hold it: letters, digits, dots and underscores.
func PlainKey(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '_'
	}, key)
}

// Collect sends the values to the exporter.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.each(func(n named, f figure, key ...string) {
		for i, k := range key {
			key[i] = Label(k)
		}
		for _, desc := range m.descs(&n) {
			ch <- f.metric(desc, key...)
		}
	})
}

// Label returns a key as the value of a label, which must be UTF-8.
func Label(key string) string { return strings.ToValidUTF8(key, "\ufffd") }
