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
	counters    []*Counter
	counterSets []*CounterSet
	summaries   []*namedSummary
	sets        []*SummarySet
}

// Counter is a number that only goes up. Any goroutine may add to it.
type Counter struct {
	desc  *prometheus.Desc
	name  string
	value atomic.Int64
	base  atomic.Int64 // value at the last reset
}

// Inc adds one.
func (c *Counter) Inc() { c.value.Add(1) }

// Add adds n, which must not be negative.
func (c *Counter) Add(n int64) { c.value.Add(n) }

// Total returns the sum since the start.
func (c *Counter) Total() int64 { return c.value.Load() }

// recent returns the sum since the last reset.
func (c *Counter) recent() int64 { return c.value.Load() - c.base.Load() }

// namedSummary is a summary with its name.
type namedSummary struct {
	desc     *prometheus.Desc
	name     string
	of       *Summary
	advanced bool // ZooKeeper prints quantiles of it
}

// CounterSet is a counter for each of some keys, such as the first elements of paths.
type CounterSet struct {
	desc *prometheus.Desc
	name string
	keys keyed[*Counter]
}

// Of returns the counter of a key.
func (s *CounterSet) Of(key string) *Counter { return s.keys.of(key) }

// SummarySet is a summary for each of some keys, such as the ids of servers.
type SummarySet struct {
	desc     *prometheus.Desc
	name     string
	advanced bool
	keys     keyed[*Summary]
}

// Of returns the summary of a key. Callers on a hot path keep it.
func (s *SummarySet) Of(key string) *Summary { return s.keys.of(key) }

// keyed holds values by key, made when their key is first asked for. Clients may choose keys, so there are at
// most keysMax of them; all further keys share keyOther.
type keyed[T any] struct {
	make func() T
	mu   sync.Mutex
	all  map[string]T
}

const (
	keysMax  = 1000
	keyOther = "other"
)

func (k *keyed[T]) of(key string) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.all[key]
	if !ok {
		if len(k.all) >= keysMax {
			key = keyOther
		}
		if v, ok = k.all[key]; !ok {
			v = k.make()
			k.all[key] = v
		}
	}
	return v
}

// each calls fn for every key, in order.
func (k *keyed[T]) each(fn func(key string, v T)) {
	k.mu.Lock()
	all := maps.Clone(k.all)
	k.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fn(key, all[key])
	}
}

// KeyLabel is the label of sets in the exporter.
const KeyLabel = "key"

// Counter adds a counter.
func (m *Metrics) Counter(name, help string) *Counter {
	n := &Counter{name: name, desc: prometheus.NewDesc(name, help, nil, nil)}
	m.counters = append(m.counters, n)
	return n
}

// CounterSet adds a set of counters.
func (m *Metrics) CounterSet(name, help string) *CounterSet {
	s := &CounterSet{name: name, desc: prometheus.NewDesc(name, help, []string{KeyLabel}, nil)}
	s.keys = keyed[*Counter]{make: func() *Counter { return &Counter{} }, all: map[string]*Counter{}}
	m.counterSets = append(m.counterSets, s)
	return s
}

// Basic adds a summary whose median ZooKeeper exports.
func (m *Metrics) Basic(name, help string) *Summary { return m.add(name, help, false, newSummary()) }

// Advanced adds a summary whose quantiles ZooKeeper shows.
func (m *Metrics) Advanced(name, help string) *Summary { return m.add(name, help, true, newSummary()) }

func (m *Metrics) add(name, help string, advanced bool, of *Summary) *Summary {
	desc := prometheus.NewDesc(name, help, nil, nil)
	m.summaries = append(m.summaries, &namedSummary{name: name, of: of, advanced: advanced, desc: desc})
	return of
}

// SummarySet adds a set of summaries.
func (m *Metrics) SummarySet(name, help string, advanced bool) *SummarySet {
	s := &SummarySet{name: name, advanced: advanced, desc: prometheus.NewDesc(name, help, []string{KeyLabel}, nil)}
	s.keys = keyed[*Summary]{make: newSummary, all: map[string]*Summary{}}
	m.sets = append(m.sets, s)
	return s
}

// reset does what srst asks for.
func (m *Metrics) reset() {
	for _, n := range m.counters {
		n.base.Store(n.value.Load())
	}
	for _, s := range m.counterSets {
		s.keys.each(func(_ string, n *Counter) { n.base.Store(n.value.Load()) })
	}
	for _, s := range m.summaries {
		s.of.reset()
	}
	for _, s := range m.sets {
		s.keys.each(func(_ string, of *Summary) { of.reset() })
	}
}

// Lines calls line for each of mntr's lines, without their prefix.
func (m *Metrics) Lines(line func(key, value string)) {
	for _, n := range m.counters {
		line(n.name, fmt.Sprint(n.recent()))
	}
	for _, s := range m.counterSets {
		s.keys.each(func(key string, n *Counter) { line(PlainKey(key)+"_"+s.name, fmt.Sprint(n.recent())) })
	}
	for _, s := range m.summaries {
		s.of.lines(s.name, s.advanced, line)
	}
	for _, s := range m.sets {
		s.keys.each(func(key string, of *Summary) { of.lines(PlainKey(key)+"_"+s.name, s.advanced, line) })
	}
}

// lines calls line for the lines of a summary in mntr.
func (m *Summary) lines(name string, advanced bool, line func(key, value string)) {
	v := m.recent()
	line("avg_"+name, Decimal(v.mean()))
	line("min_"+name, fmt.Sprint(v.least))
	line("max_"+name, fmt.Sprint(v.most))
	line("cnt_"+name, fmt.Sprint(v.count))
	line("sum_"+name, fmt.Sprint(v.sum))
	if advanced {
		for _, p := range []struct {
			prefix string
			q      float64
		}{{"p50_", 0.5}, {"p95_", 0.95}, {"p99_", 0.99}, {"p999_", 0.999}} {
			line(p.prefix+name, fmt.Sprintf("%.0f", v.quantile(p.q)))
		}
	}
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
	for _, n := range m.counters {
		ch <- prometheus.MustNewConstMetric(n.desc, prometheus.CounterValue, float64(n.value.Load()))
	}
	for _, s := range m.counterSets {
		s.keys.each(func(key string, n *Counter) {
			ch <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(n.value.Load()), Label(key))
		})
	}
	for _, s := range m.summaries {
		ch <- s.of.metric(s.desc, s.advanced)
	}
	for _, s := range m.sets {
		s.keys.each(func(key string, of *Summary) { ch <- of.metric(s.desc, s.advanced, Label(key)) })
	}
}

// Label returns a key as the value of a label, which must be UTF-8.
func Label(key string) string { return strings.ToValidUTF8(key, "\ufffd") }

// metric returns the summary with the quantiles of ZooKeeper 3.9, and if it is advanced also those of 3.10.
func (m *Summary) metric(desc *prometheus.Desc, advanced bool, labels ...string) prometheus.Metric {
	v := m.total()
	q := map[float64]float64{0.5: v.quantile(0.5)}
	if advanced {
		q[0.9], q[0.95], q[0.99] = v.quantile(0.9), v.quantile(0.95), v.quantile(0.99)
	}
	return prometheus.MustNewConstSummary(desc, uint64(max(v.count, 0)), float64(v.sum), q, labels...)
}
