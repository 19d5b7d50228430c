package traces

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/seed94657493/warren/internal/sched"
	warren "github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/stages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exporterTo returns an Exporter that sends to a collector, and runs.
func exporterTo(t *testing.T, url string) (x *Exporter, stop func()) {
	x = New(&config.Trace{Endpoint: url})
	x.Attach(Surroundings{Runtime: sched.OS(), Log: zap.NewNop(), Registry: prometheus.NewRegistry(),
		Version: "1\xff", Server: 3, Now: func() int64 { return 0 }, Password: warren.SessionPassword})
	done := make(chan struct{})
	go func() {
		x.Run()
		close(done)
	}()
	return x, func() {
		x.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the exporter does not end")
		}
	}
}

// operation is a write that took all stages, the s-th s+1 ms.
func operation(part stages.Part, path string) *stages.Operation {
	o := stages.Begin(part, warren.OpSetData, 7, 5, 1e9)
	at := int64(1e9)
	for s := range stages.Number {
		at += (int64(s) + 1) * 1e6
		o.End(s, at)
	}
	o.Zxid, o.Err, o.Sampled = 0x100000003, warren.ErrBadVersion, true
	o.SetPath([]byte(path))
	return o
}

// What the generated code of OTLP reads is what was written, for every part and for hostile texts.
func TestSpansAreOTLP(t *testing.T) {
	x := New(&config.Trace{Endpoint: "http://localhost:1/"})
	x.Attach(Surroundings{Runtime: sched.OS(), Log: zap.NewNop(), Registry: prometheus.NewRegistry(), Version: "1\xff",
		Server: 3, Password: warren.SessionPassword})
	for part, want := range map[stages.Part]int{
		stages.Whole: 1 + int(stages.Number), stages.Led: 1 + int(stages.Number), stages.Logged: 1,
	} {
		for _, path := range []string{"/a", "", "/\xff\x00", strings.Repeat("/é", 400)} {
			const wall = int64(1_795_239_203_000_000_000)
			spans, n := x.appendSpans(nil, operation(part, path), wall)
			require.Equal(t, want, n)
			var request tracepb.TracesData
			require.NoError(t, proto.Unmarshal(x.request(spans), &request))
			require.Len(t, request.ResourceSpans, 1)
			owner := map[string]string{}
			for _, kv := range request.ResourceSpans[0].Resource.Attributes {
				owner[kv.Key] = kv.Value.GetStringValue()
			}
			require.Equal(t, map[string]string{"service.name": "warren", "service.version": "1\uFFFD",
				"service.instance.id": "3"}, owner)
			require.Len(t, request.ResourceSpans[0].ScopeSpans, 1)
			scope := request.ResourceSpans[0].ScopeSpans[0]
			require.Equal(t, scopeText, scope.Scope.Name)
			require.Len(t, scope.Spans, n)
			require.Empty(t, request.ProtoReflect().GetUnknown())
			first := scope.Spans[0]
			require.Empty(t, first.ProtoReflect().GetUnknown())
			require.Equal(t, uint64(wall+1e9), first.StartTimeUnixNano)
			require.Equal(t, uint64(28e6), first.EndTimeUnixNano-first.StartTimeUnixNano)
			require.Len(t, first.TraceId, 16)
			require.Len(t, first.SpanId, 8)
			require.Equal(t, part == stages.Whole, len(first.ParentSpanId) == 0)
			at := first.StartTimeUnixNano
			for i, s := range scope.Spans[1:] {
				require.Equal(t, stages.Stage(i).String(), s.Name)
				require.Equal(t, first.SpanId, s.ParentSpanId)
				require.Equal(t, first.TraceId, s.TraceId)
				require.Equal(t, at, s.StartTimeUnixNano)
				at = s.EndTimeUnixNano
			}
		}
	}
}

// A collector that hangs, refuses, answers without end, redirects or is not there costs no more than the queue, and
// holds up neither Trace nor the end of the server.
func TestHostileCollectors(t *testing.T) {
	release := make(chan struct{})
	var elsewhere atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Store(true) }))
	defer other.Close()
	for name, handler := range map[string]http.HandlerFunc{
		"hangs":   func(_ http.ResponseWriter, r *http.Request) { <-release },
		"refuses": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"answers without end": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusBadRequest)
			for chunk := make([]byte, 64<<10); r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"is not there": nil,
	} {
		t.Run(name, func(t *testing.T) {
			url := "http://127.0.0.1:1/"
			if handler != nil {
				s := httptest.NewServer(handler)
				defer s.Close()
				defer func() {
					if name == "hangs" {
						close(release)
					}
				}()
				url = s.URL
			}
			x, stop := exporterTo(t, url)
			began := time.Now()
			for range 50_000 { // some 70 MB, of which 8 MiB fit
				x.Trace(operation(stages.Whole, "/a"))
			}
			require.Less(t, time.Since(began), time.Minute, "it waits for the collector")
			x.mu.Lock()
			require.LessOrEqual(t, len(x.mu.parts), queueMax)
			x.mu.Unlock()
			time.Sleep(2 * sendEvery)
			began = time.Now()
			stop()
			require.Less(t, time.Since(began), 3*time.Second)
			require.Positive(t, testutil.ToFloat64(x.dropped))
			require.Positive(t, testutil.ToFloat64(x.failures))
			require.Zero(t, testutil.ToFloat64(x.sent))
		})
	}
	require.False(t, elsewhere.Load(), "traces go to no other server than the one that is configured")
}

// A collector that comes back gets traces again, and what waits when the server stops.
func TestCollectorComesBack(t *testing.T) {
	var away atomic.Bool
	var spans atomic.Int64
	away.Store(true)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request tracepb.TracesData
		if away.Load() || proto.Unmarshal(body, &request) != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		spans.Add(int64(len(request.ResourceSpans[0].ScopeSpans[0].Spans)))
	}))
	defer s.Close()
	x, stop := exporterTo(t, s.URL)
	x.Trace(operation(stages.Logged, "/a"))
	require.Eventually(t, func() bool { return testutil.ToFloat64(x.failures) > 0 }, 5*time.Second, time.Millisecond)
	away.Store(false)
	x.Trace(operation(stages.Logged, "/a"))
	require.Eventually(t, func() bool { return spans.Load() == 1 }, 5*time.Second, time.Millisecond)
	x.Trace(operation(stages.Logged, "/a"))
	stop()
	require.EqualValues(t, 2, spans.Load())
	require.EqualValues(t, 1, testutil.ToFloat64(x.dropped))
}

// A collector that is told to be busy gets the same spans again, once, and not before the time that it says.
func TestCollectorIsBusy(t *testing.T) {
	var busy atomic.Int32
	var spans atomic.Int64
	var refused atomic.Int64
	busy.Store(http.StatusTooManyRequests)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if status := busy.Swap(0); status != 0 {
			refused.Store(time.Now().UnixNano())
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(int(status))
			return
		}
		var request tracepb.TracesData
		if proto.Unmarshal(body, &request) == nil {
			spans.Add(int64(len(request.ResourceSpans[0].ScopeSpans[0].Spans)))
		}
		require.GreaterOrEqual(t, time.Now().UnixNano()-refused.Load(), int64(time.Second))
	}))
	defer s.Close()
	x, stop := exporterTo(t, s.URL)
	x.Trace(operation(stages.Logged, "/a"))
	require.Eventually(t, func() bool { return refused.Load() != 0 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return spans.Load() == 1 }, 10*time.Second, time.Millisecond)
	busy.Store(http.StatusServiceUnavailable)
	x.Trace(operation(stages.Logged, "/b"))
	stop()
	require.EqualValues(t, 1, testutil.ToFloat64(x.sent))
	require.EqualValues(t, 1, testutil.ToFloat64(x.dropped), "a server that stops does not wait")
	require.EqualValues(t, 2, testutil.ToFloat64(x.failures))
}

// What waits for a collector that is busy is bounded.
func TestBusyCollectorCostsNoMoreThanTheQueue(t *testing.T) {
	x := New(&config.Trace{Endpoint: "http://localhost:1/"})
	x.Attach(Surroundings{Runtime: sched.OS(), Log: zap.NewNop(), Registry: prometheus.NewRegistry()})
	x.mu.parts = make([]part, queueMax-1)
	x.putBack([]part{{n: 1}, {n: 2}, {n: 3}})
	require.Len(t, x.mu.parts, queueMax)
	require.Equal(t, 1, x.mu.parts[0].n, "the oldest first")
}

// Spans that a collector rejects in a request that it takes are counted as dropped.
func TestCollectorRejectsSome(t *testing.T) {
	for answer, want := range map[string][2]float64{
		"": {8, 0}, "\x0a\x02\x08\x03": {5, 3}, "\x0a\x07\x08\x01\x12\x03why": {7, 1},
		"\x0a\x03\x08\xff\x7f": {0, 8},
		"\x0a\x05\x12\x03why":  {8, 0}, "\x0a\x02\x08": {8, 0}, "<html>": {8, 0},
		"\x0d\x00\x00\x00\x00\x0a\x02\x08\x03":                 {5, 3},
		"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": {8, 0},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = w.Write([]byte(answer))
		}))
		x, stop := exporterTo(t, s.URL)
		x.Trace(operation(stages.Whole, "/a"))
		stop()
		s.Close()
		require.Equal(t, want, [2]float64{testutil.ToFloat64(x.sent), testutil.ToFloat64(x.dropped)}, "%q", answer)
		require.Zero(t, testutil.ToFloat64(x.failures))
	}
}

func BenchmarkTrace(b *testing.B) {
	x := New(&config.Trace{Endpoint: "http://localhost:1/"})
	x.Attach(Surroundings{Runtime: sched.OS(), Log: zap.NewNop(), Registry: prometheus.NewRegistry(),
		Now: func() int64 { return 0 }, Password: warren.SessionPassword})
	o := operation(stages.Whole, "/a/path")
	for b.Loop() {
		x.Trace(o)
		if len(x.mu.parts) > 1 {
			x.mu.parts = nil
		}
	}
}
