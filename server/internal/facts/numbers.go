package facts

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/server/internal/env"
)

// Gauges are the numbers that mntr prints and the exporter exports, those of quotas included. Source: operations 2.3
// and 4.4. REQUIRES: the server has recovered.
func (f *Facts) Gauges() []Gauge {
	return append(f.gauges(), f.quotas()...)
}

// Number is one line of mntr, without its prefix.
type Number struct {
	Name  string
	Value string // decimal digits as JSON writes them, unless Text is set
	Text  bool   // the value is not a number
}

// Monitor returns the lines of mntr. While the server does not serve, it returns those about the process.
func (f *Facts) Monitor() []Number {
	if f.Serving() {
		return f.Numbers()
	}
	open, most := fileDescriptors()
	return []Number{{"version", f.Version, true}, {"server_state", f.host.Mode(), true},
		{"uptime", strconv.FormatInt(time.Since(f.Began).Milliseconds(), 10), false},
		{"open_file_descriptor_count", strconv.FormatInt(open, 10), false},
		{"max_file_descriptor_count", strconv.FormatInt(most, 10), false}}
}

// Numbers returns the lines of mntr. REQUIRES: the server has recovered.
func (f *Facts) Numbers() (all []Number) {
	line := func(key, value string) {
		isText := key == "version" || strings.HasSuffix(key, "_state")
		all = append(all, Number{Name: key, Value: value, Text: isText})
	}
	line("version", f.Version)
	line("server_state", f.host.Mode())
	if r, ok := f.Role(); ok {
		line("peer_state", r.Peer)
		if r.Observing {
			line("observer_master_id", strconv.FormatInt(r.ObserverMaster, 10))
		}
	}
	for _, g := range f.Gauges() {
		if !g.unlisted {
			line(g.line())
		}
	}
	for _, r := range f.Metrics.Refusals() {
		line(refusedBy(r.Why), strconv.FormatInt(r.Count, 10))
	}
	f.Metrics.Pauses.Refresh()
	f.Env.Stats.Lines(line)
	return all
}

// refusedBy is how mntr calls the number of connections that were refused for a reason.
func refusedBy(why env.Refusal) string {
	return "connections_refused_" + strings.ReplaceAll(string(why), "-", "_")
}

// NumberOf returns the number that mntr prints under a name. It does not know those of quotas, whose names contain
// paths.
// REQUIRES: the server has recovered.
func (f *Facts) NumberOf() func(name string) (float64, bool) {
	all := map[string]float64{}
	for _, g := range f.gauges() {
		all[g.Name] = g.Value
	}
	for _, r := range f.Metrics.Refusals() {
		all[refusedBy(r.Why)] = float64(r.Count)
	}
	f.Env.Stats.Lines(func(key, value string) {
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[key] = v
		}
	})
	return func(name string) (float64, bool) {
		v, ok := all[name]
		return v, ok
	}
}
