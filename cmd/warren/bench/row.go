package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Row is what was measured of one target in one window: a load, a step of a sweep, or a phase.
type Row struct {
	Name       string           `json:"name"`
	Seconds    float64          `json:"seconds"`
	Operations int64            `json:"operations"` // successes
	PerSecond  float64          `json:"per_second"`
	Latency    *Latency         `json:"latency_us,omitempty"`
	Errors     map[string]int64 `json:"errors,omitempty"` // by code
	Kinds      []KindRow        `json:"kinds,omitempty"`  // if there were several
	Figures    []Figure         `json:"figures,omitempty"`
	Servers    *Usage           `json:"servers,omitempty"` // if their pids are known
	LoadCPU    float64          `json:"load_cpu_seconds"`  // CPU time of the load generator
}

// KindRow is the part of a Row that one kind of request has.
type KindRow struct {
	Kind       string   `json:"kind"`
	Operations int64    `json:"operations"`
	Latency    *Latency `json:"latency_us,omitempty"`
}

// Latency is a distribution in microseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// Figure is a measurement that only some loads have.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Usage is what the servers' processes used in the window, added up.
type Usage struct {
	CPUSeconds   float64 `json:"cpu_seconds"`
	PerCPUSecond float64 `json:"operations_per_cpu_second"`
	ResidentMiB  float64 `json:"resident_mib"` // at the end
}

// newLatency returns the distribution of a histogram of ns, nil if it is empty.
func newLatency(h *hdrhistogram.Histogram) *Latency {
	if h.TotalCount() == 0 {
		return nil
	}
	us := func(ns int64) float64 { return float64(ns) / 1000 }
	return &Latency{Mean: h.Mean() / 1000, P50: us(h.ValueAtQuantile(50)), P99: us(h.ValueAtQuantile(99)),
		P999: us(h.ValueAtQuantile(99.9)), Max: us(h.Max())}
}

// fill sets the counts, the rates, the latencies and the errors of r from what a window of r.Seconds held.
func (r *Row) fill(s *Sample) {
	total := s.total()
	r.Operations = total.Latency.TotalCount()
	r.perSecond()
	r.Latency = newLatency(total.Latency)
	for code, n := range total.Errors {
		r.countError(code.Name(), n)
	}
	if s.Unsent > 0 {
		r.countError("unsent", s.Unsent)
	}
	if s.Lag.TotalCount() > 0 {
		r.Figures = append(r.Figures, Figure{"sent late, p99", float64(s.Lag.ValueAtQuantile(99)) / 1000, "us"})
	}
	if len(s.Kinds) < 2 {
		return
	}
	for k := range kindCount {
		if ks := s.Kinds[k]; ks != nil {
			r.Kinds = append(r.Kinds, KindRow{k.String(), ks.Latency.TotalCount(), newLatency(ks.Latency)})
		}
	}
}

func (r *Row) countError(name string, n int64) {
	if r.Errors == nil {
		r.Errors = map[string]int64{}
	}
	r.Errors[name] += n
}

// meter measures a window from outside: time, and CPU and memory of the servers.
type meter struct {
	target *Target
	began  time.Time
	before processUsage
	own    time.Duration
}

// begin starts measuring.
func (t *Target) begin() (*meter, error) {
	before, err := readProcesses("/proc", t.PIDs)
	return &meter{target: t, began: time.Now(), before: before, own: ownCPU()}, err
}

// end returns a Row with everything a meter knows. Operations come later, with fill.
func (m *meter) end(name string) (*Row, error) {
	r := &Row{Name: name, Seconds: time.Since(m.began).Seconds(), LoadCPU: (ownCPU() - m.own).Seconds()}
	if len(m.target.PIDs) == 0 {
		return r, nil
	}
	after, err := readProcesses("/proc", m.target.PIDs)
	if err != nil {
		return nil, err
	}
	r.Servers = &Usage{CPUSeconds: (after.cpu - m.before.cpu).Seconds(), ResidentMiB: float64(after.rss) / (1 << 20)}
	return r, nil
}

// endWith is end with the operations of a sample.
func (m *meter) endWith(name string, s *Sample) (*Row, error) {
	row, err := m.end(name)
	if err != nil {
		return nil, err
	}
	row.fill(s)
	return row, nil
}

// perSecond sets the rates.
func (r *Row) perSecond() {
	if r.Seconds > 0 {
		r.PerSecond = float64(r.Operations) / r.Seconds
	}
	if r.Servers != nil && r.Servers.CPUSeconds > 0 {
		r.Servers.PerCPUSecond = float64(r.Operations) / r.Servers.CPUSeconds
	}
}
