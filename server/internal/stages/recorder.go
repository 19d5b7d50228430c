package stages

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
)

// kept is how many slow operations are kept in memory, the newest.
const kept = 256

// queueMax bounds the operations that wait for the goroutine of the Recorder.
const queueMax = 4096

// gatherFor is how long the goroutine of the Recorder waits for more operations when one has come: a wake for each
// would cost more than the operation itself.
const gatherFor = 20 * time.Millisecond

// readsMax is how many sampled reads are traced in about a second.
const readsMax = 500

// Recorder measures the operations of one server. Its settings do not change after Run has begun.
type Recorder struct {
	log       *zap.Logger
	wake      sched.Parker
	closed    *sched.Gate
	slow      int64 // ns; MaxInt64 if nothing is slow
	suspect   int64 // an operation that has taken so long before its last stage may become slow
	sampling  sampling
	tracer    Tracer
	observed  func(spent [Number]int64)
	label     func(proto.SessionID) string
	times     [Number]prometheus.Histogram
	spreads   [Number + 1]Spread
	slowCount *prometheus.CounterVec
	leftOut   prometheus.Counter

	second, reads atomic.Int64 // of MayTraceRead

	mu struct {
		sync.Mutex
		ring  [kept]Operation // the newest slow operations; the n-th is at n%kept
		found int             // slow operations so far
		queue []*Operation
	}
}

// Tracer takes the operations that are traced. The goroutine of the Recorder calls it.
type Tracer interface {
	// Trace takes one operation. It does not wait.
	Trace(o *Operation)
}

// Options are the settings of a Recorder.
type Options struct {
	Runtime  sched.Runtime
	Log      *zap.Logger
	Registry prometheus.Registerer
	Slow     time.Duration // what takes as long is slow; 0: nothing is
	Traced   float64       // the share of operations that are traced, if there is a Tracer
	Tracer   Tracer        // nil: nothing is traced
	// Observed is called with the times of Observe, in ns, by the goroutine that calls Observe. It does not wait.
	Observed func(spent [Number]int64)
}

// New returns a Recorder, or nil if nothing is to be measured.
func New(o Options) *Recorder {
	if o.Slow <= 0 && o.Tracer == nil {
		return nil
	}
	r := &Recorder{log: o.Log, wake: o.Runtime.Parker(), closed: sched.NewGate(o.Runtime), slow: math.MaxInt64,
		suspect: math.MaxInt64, tracer: o.Tracer, observed: o.Observed, label: proto.SessionID.String}
	if o.Slow > 0 {
		r.slow, r.suspect = int64(o.Slow), int64(o.Slow/2)
	}
	if o.Tracer != nil {
		r.sampling = newSampling(o.Traced, 0)
	}
	r.slowCount = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "warren_server_slow_operations_total",
		Help: "Operations that took warren.slow.threshold or longer, by the stage that took longest."},
		[]string{"stage"})
	r.leftOut = prometheus.NewCounter(prometheus.CounterOpts{Name: "warren_server_operations_left_out_total",
		Help: "Slow or traced operations that were neither logged nor traced, because too many came at once."})
	o.Registry.MustRegister(r.slowCount, r.leftOut)
	times := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "warren_server_stage_seconds",
		Help:    "Time of one stage of an operation; of the oldest operation of each batch of writes.",
		Buckets: prometheus.ExponentialBuckets(50e-6, 4, 10)}, []string{"stage"})
	o.Registry.MustRegister(times)
	for s := range Number {
		r.times[s] = times.WithLabelValues(s.String()).(prometheus.Histogram)
		r.slowCount.WithLabelValues(s.String())
	}
	return r
}

// Attach sets how sessions are named in the log, and the key of the sampling. Without it sessions have their ids.
func (r *Recorder) Attach(label func(proto.SessionID) string, key uint64) {
	if r != nil {
		r.label, r.sampling.key = label, key
	}
}

// Suspects reports whether an operation that has taken so long may become slow.
func (r *Recorder) Suspects(took int64) bool { return r != nil && took >= r.suspect }

// Traces reports whether there are traces.
func (r *Recorder) Traces() bool { return r != nil && r.tracer != nil }

// Samples reports whether an operation is traced, however fast it is.
func (r *Recorder) Samples(session proto.SessionID, xid int32) bool {
	return r.Traces() && r.sampling.Has(session, xid)
}

// MayTraceRead reports whether one more read that Samples has chosen is traced at now, ns on the server's clock. A
// read costs less than its spans, and no other server has a part in it: so the number of reads is bounded.
func (r *Recorder) MayTraceRead(now int64) bool {
	if second := now >> 30; r.second.Swap(second) != second {
		r.reads.Store(0)
	}
	return r.reads.Add(1) <= readsMax
}

// Observe notes the stages of the oldest operation of a batch. It allocates nothing.
func (r *Recorder) Observe(o *Operation) {
	for s, spent := range o.Spent {
		if spent > 0 {
			r.times[s].Observe(float64(spent) / 1e9)
			r.spreads[s].observe(spent)
		}
	}
	r.spreads[Number].observe(o.Took())
	if r.observed != nil {
		r.observed(o.Spent)
	}
}

// Done takes an operation whose last stage has ended. The Recorder owns it from now on.
func (r *Recorder) Done(o *Operation) {
	slow := o.Took() >= r.slow
	if !slow && !o.Sampled {
		return
	}
	if slow && o.Part == Whole {
		r.slowCount.WithLabelValues(o.Slowest().String()).Inc()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slow && o.Part == Whole {
		r.mu.ring[r.mu.found%kept] = *o
		r.mu.found++
	}
	if len(r.mu.queue) >= queueMax || r.closed.IsOpen() {
		r.leftOut.Inc()
		return
	}
	r.mu.queue = append(r.mu.queue, o)
	if len(r.mu.queue) == 1 {
		r.wake.Unpark()
	}
}

// Slow returns what is slow, in ns, and up to most of the newest slow operations, the newest first; found is how many
// there were since the server began.
func (r *Recorder) Slow(most int) (threshold int64, all []Operation, found int) {
	if r == nil || r.slow == math.MaxInt64 {
		return 0, nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := r.mu.found - 1; i >= max(r.mu.found-kept, 0) && len(all) < most; i-- {
		all = append(all, r.mu.ring[i%kept])
	}
	return r.slow, all, r.mu.found
}

// Run is the goroutine of the Recorder. It ends after Close.
func (r *Recorder) Run() {
	var spare []*Operation
	for {
		r.wake.Park()
		closed := r.closed.WaitFor(gatherFor)
		r.mu.Lock()
		queue := r.mu.queue
		clear(spare)
		r.mu.queue = spare[:0]
		r.mu.Unlock()
		for _, o := range queue {
			if o.Part == Whole && o.Took() >= r.slow {
				r.write(o)
			}
			if r.tracer != nil {
				r.tracer.Trace(o)
			}
		}
		spare = queue
		if closed {
			return
		}
	}
}

// Close ends Run when it has worked off what waits.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.closed.Open()
	r.wake.Unpark()
}

// write writes a line about a slow operation. The log leaves lines out if there are very many.
func (r *Recorder) write(o *Operation) {
	fields := []zap.Field{zap.Stringer("operation", o.Op), zap.String("path", o.Path),
		zap.String("session", r.label(o.Session)), zap.Stringer("zxid", o.Zxid),
		zap.Duration("took", time.Duration(o.Took())), zap.Stringer("slowest", o.Slowest())}
	for s, spent := range o.Spent {
		if spent > 0 {
			fields = append(fields, zap.Duration(Stage(s).String(), time.Duration(spent)))
		}
	}
	if o.Err != proto.OK {
		fields = append(fields, zap.String("error", o.Err.Name()))
	}
	r.log.Warn("an operation was slow", fields...)
}
