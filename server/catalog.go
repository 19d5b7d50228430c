package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// catalog is the counters and summaries that have one of ZooKeeper's names. The exporter shows
// them as they are, mntr since the last srst. It is filled when the server starts; after that
// only the values change. Source: operations sections 2.3, 4.2 and 4.3.
type catalog struct {
	counters    []*counter
	counterSets []*counterSet
	summaries   []*namedSummary
	sets        []*summarySet
}

// counter is a number that only goes up. Any goroutine may add to it.
type counter struct {
	desc  *prometheus.Desc
	name  string
	value atomic.Int64
	base  atomic.Int64 // value at the last reset
}

// Inc adds one.
func (c *counter) Inc() { c.value.Add(1) }

// Add adds n, which must not be negative.
func (c *counter) Add(n int64) { c.value.Add(n) }

// recent is what was added since the last reset.
func (c *counter) recent() int64 { return c.value.Load() - c.base.Load() }

// namedSummary is a summary with its name.
type namedSummary struct {
	desc     *prometheus.Desc
	name     string
	of       *summary
	advanced bool // ZooKeeper prints quantiles of it
}

// counterSet is a counter for each of some keys, such as the first elements of paths.
type counterSet struct {
	desc *prometheus.Desc
	name string
	keys keyed[*counter]
}

// of returns the counter of a key.
func (s *counterSet) of(key string) *counter { return s.keys.of(key) }

// summarySet is a summary for each of some keys, such as the ids of servers.
type summarySet struct {
	desc     *prometheus.Desc
	name     string
	advanced bool
	keys     keyed[*summary]
}

// of returns the summary of a key. Callers on a hot path keep it.
func (s *summarySet) of(key string) *summary { return s.keys.of(key) }

// keyed is values that come to be when their key is first named. Clients may choose keys, so there are no more than
// keysMax of them; the rest shares keyOther.
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

// keyLabel is the label of sets in the exporter.
const keyLabel = "key"

func (c *catalog) counter(name, help string) *counter {
	n := &counter{name: name, desc: prometheus.NewDesc(name, help, nil, nil)}
	c.counters = append(c.counters, n)
	return n
}

func (c *catalog) counterSet(name, help string) *counterSet {
	s := &counterSet{name: name, desc: prometheus.NewDesc(name, help, []string{keyLabel}, nil)}
	s.keys = keyed[*counter]{make: func() *counter { return &counter{} }, all: map[string]*counter{}}
	c.counterSets = append(c.counterSets, s)
	return s
}

// basic adds a summary of which ZooKeeper exports the median.
func (c *catalog) basic(name, help string) *summary { return c.add(name, help, false, newSummary()) }

// advanced adds a summary of which ZooKeeper shows quantiles.
func (c *catalog) advanced(name, help string) *summary { return c.add(name, help, true, newSummary()) }

func (c *catalog) add(name, help string, advanced bool, of *summary) *summary {
	c.summaries = append(c.summaries, &namedSummary{name: name, of: of, advanced: advanced, desc: prometheus.NewDesc(name, help, nil, nil)})
	return of
}

func (c *catalog) summarySet(name, help string, advanced bool) *summarySet {
	s := &summarySet{name: name, advanced: advanced, desc: prometheus.NewDesc(name, help, []string{keyLabel}, nil)}
	s.keys = keyed[*summary]{make: newSummary, all: map[string]*summary{}}
	c.sets = append(c.sets, s)
	return s
}

// reset is srst.
func (c *catalog) reset() {
	for _, n := range c.counters {
		n.base.Store(n.value.Load())
	}
	for _, s := range c.counterSets {
		s.keys.each(func(_ string, n *counter) { n.base.Store(n.value.Load()) })
	}
	for _, s := range c.summaries {
		s.of.reset()
	}
	for _, s := range c.sets {
		s.keys.each(func(_ string, m *summary) { m.reset() })
	}
}

// lines is the catalog's part of mntr.
func (c *catalog) lines(line func(key, value string)) {
	for _, n := range c.counters {
		line(n.name, fmt.Sprint(n.recent()))
	}
	for _, s := range c.counterSets {
		s.keys.each(func(key string, n *counter) { line(plainKey(key)+"_"+s.name, fmt.Sprint(n.recent())) })
	}
	for _, s := range c.summaries {
		s.of.lines(s.name, s.advanced, line)
	}
	for _, s := range c.sets {
		s.keys.each(func(key string, m *summary) { m.lines(plainKey(key)+"_"+s.name, s.advanced, line) })
	}
}

// lines is a summary in mntr.
func (m *summary) lines(name string, advanced bool, line func(key, value string)) {
	v := m.recent()
	line("avg_"+name, decimal(v.mean()))
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

// plainKey is a key in the name of a line of mntr: parsers take letters, digits, dots and underscores only.
func plainKey(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '_'
	}, key)
}

// collect is the catalog's part of the exporter.
func (c *catalog) collect(ch chan<- prometheus.Metric) {
	for _, n := range c.counters {
		ch <- prometheus.MustNewConstMetric(n.desc, prometheus.CounterValue, float64(n.value.Load()))
	}
	for _, s := range c.counterSets {
		s.keys.each(func(key string, n *counter) {
			ch <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(n.value.Load()), label(key))
		})
	}
	for _, s := range c.summaries {
		ch <- s.of.metric(s.desc, s.advanced)
	}
	for _, s := range c.sets {
		s.keys.each(func(key string, m *summary) { ch <- m.metric(s.desc, s.advanced, label(key)) })
	}
}

// label is a key as the value of a label, which must be UTF-8.
func label(key string) string { return strings.ToValidUTF8(key, "\ufffd") }

// metric is the summary with the quantiles of ZooKeeper 3.9 and, if it is advanced, those of 3.10 besides.
func (m *summary) metric(desc *prometheus.Desc, advanced bool, labels ...string) prometheus.Metric {
	v := m.total()
	q := map[float64]float64{0.5: v.quantile(0.5)}
	if advanced {
		q[0.9], q[0.95], q[0.99] = v.quantile(0.9), v.quantile(0.95), v.quantile(0.99)
	}
	return prometheus.MustNewConstSummary(desc, uint64(max(v.count, 0)), float64(v.sum), q, labels...)
}
