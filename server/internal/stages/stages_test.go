package stages

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The stages of an operation are its time, even if moments come in a wrong order or are missing.
func TestStagesAreTheTime(t *testing.T) {
	for _, moments := range [][Number]int64{
		{110, 120, 130, 140, 150, 160, 170}, {110, 0, 0, 140, 0, 160, 170}, {170, 160, 150, 140, 130, 120, 110},
		{}, {0, 0, 0, 0, 0, 0, math.MaxInt64},
	} {
		o := Begin(Whole, proto.OpSetData, 1, 2, 100)
		last := int64(100)
		for s, at := range moments {
			o.End(Stage(s), at)
			last = max(last, at)
		}
		sum := int64(0)
		for _, spent := range o.Spent {
			require.GreaterOrEqual(t, spent, int64(0))
			sum += spent
		}
		require.Equal(t, last-100, sum)
		require.Equal(t, sum, o.Took())
	}
}

// Servers with the same key choose the same operations, close to the share. Another key chooses others.
func TestSampling(t *testing.T) {
	const all = 200_000
	for _, share := range []float64{0, 0.01, 0.5, 1} {
		a, b, other := newSampling(share, 7), newSampling(share, 7), newSampling(share, 8)
		n, common := 0, 0
		for i := range all {
			session, xid := proto.SessionID(0x1000065c0230000+i/1000), int32(i%1000)
			require.Equal(t, a.Has(session, xid), b.Has(session, xid))
			if a.Has(session, xid) {
				n++
				if other.Has(session, xid) {
					common++
				}
			}
			require.False(t, a.Has(session, -int32(i)-1), "a special xid")
		}
		require.InDelta(t, share*all, n, 5*math.Sqrt(all*share*(1-share))+1)
		require.InDelta(t, share*share*all, common, 5*math.Sqrt(all*share*share)+1)
	}
}

type tracer struct{ got chan *Operation }

func (r tracer) Trace(o *Operation) { r.got <- o }

// A slow operation is kept, counted by its slowest stage, logged and traced; a fast one only traced, if it is sampled.
// The ring has the newest ones.
func TestRecorder(t *testing.T) {
	core, lines := observer.New(zapcore.InfoLevel)
	traced := tracer{make(chan *Operation, 2*kept)}
	r := New(Options{Runtime: sched.OS(), Log: zap.New(core), Registry: prometheus.NewRegistry(),
		Slow: time.Millisecond, Traced: 1, Tracer: traced})
	r.Attach(func(proto.SessionID) string { return "label" }, 7)
	ended := make(chan struct{})
	go func() {
		r.Run()
		close(ended)
	}()
	done := func(took time.Duration, part Part, sampled bool) {
		o := Begin(part, proto.OpCreate, 1, 2, 0)
		o.Sampled = sampled
		o.End(Queue, 100)
		o.End(Sync, int64(took))
		r.Done(o)
	}
	done(time.Microsecond, Whole, false)
	done(time.Microsecond, Whole, true)
	done(time.Second, Led, false)
	for i := range kept + 10 {
		done(time.Second+time.Duration(i), Whole, false)
	}
	r.Close()
	<-ended
	threshold, all, found := r.Slow(1000)
	require.Equal(t, int64(time.Millisecond), threshold)
	require.Equal(t, kept+10, found)
	require.Len(t, all, kept)
	require.Equal(t, int64(time.Second)+kept+9, all[0].Took())
	require.Equal(t, int64(time.Second)+10, all[kept-1].Took())
	_, some, _ := r.Slow(3)
	require.Equal(t, all[:3], some)
	require.Len(t, traced.got, kept+12)
	require.Equal(t, kept+10, lines.Len(), "the log itself leaves lines out; see env.BoundLog")
	line := lines.All()[0].ContextMap()
	require.Equal(t, "label", line["session"])
	require.Equal(t, "sync", line["slowest"])
	require.EqualValues(t, kept+10, testutil.ToFloat64(r.slowCount.WithLabelValues("sync")))
	done(time.Second, Whole, false) // after the end
	require.EqualValues(t, 1, testutil.ToFloat64(r.leftOut))
}

// What comes faster than the goroutine takes it is left out and counted.
func TestQueueIsBounded(t *testing.T) {
	r := New(Options{Runtime: sched.OS(), Log: zap.NewNop(), Registry: prometheus.NewRegistry(), Slow: 1})
	for range queueMax + 5 {
		o := Begin(Whole, proto.OpCreate, 1, 2, 0)
		o.End(Apply, 5)
		r.Done(o)
	}
	require.Len(t, r.mu.queue, queueMax)
	require.EqualValues(t, 5, testutil.ToFloat64(r.leftOut))
}

// A fast operation that is not sampled costs no allocation, nor does the oldest of a batch.
func TestFastOperationsDoNotAllocate(t *testing.T) {
	r := New(Options{Runtime: sched.OS(), Log: zap.NewNop(), Registry: prometheus.NewRegistry(), Slow: time.Second,
		Traced: 0, Tracer: tracer{}})
	var off *Recorder
	require.Nil(t, New(Options{Runtime: sched.OS()}))
	for _, r := range []*Recorder{r, off} {
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			require.False(t, r.Suspects(1000))
			require.False(t, r.Samples(7, 8))
		}))
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		var o Operation
		o.Reset(Whole, proto.OpSetData, 7, 8, 0)
		o.End(Sync, 1e6)
		r.Observe(&o)
	}))
	require.True(t, r.MayTraceRead(1))
	for range readsMax {
		_ = r.MayTraceRead(1)
	}
	require.False(t, r.MayTraceRead(1))
	require.True(t, r.MayTraceRead(1<<31))
}
