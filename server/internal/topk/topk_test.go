package topk

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

const second = int64(time.Second)

// load sends requests through n samplers, each request to the next, at a rate a second.
type load struct {
	r        *Recorder
	samplers []Sampler
	now      int64
	gap      int64
	recorded int
}

func newLoad(n int, rate int64) *load {
	l := &load{r: New(0), samplers: make([]Sampler, n), gap: second / rate}
	for i := range l.samplers {
		l.r.Begin(&l.samplers[i])
	}
	return l
}

func (l *load) send(i int, q Request) {
	l.now += l.gap
	s := &l.samplers[i%len(l.samplers)]
	if s.Due() {
		q.Now = l.now
		l.recorded++
		l.r.Record(s, &q)
	}
}

// zipfPaths draws keys by Zipf's law with exponent 1.1.
func zipfPaths(seed uint64, keys int) (draw func() []byte) {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 1, uint64(keys-1))
	names := make([][]byte, keys)
	for i := range names {
		names[i] = fmt.Appendf(nil, "/app/service-%d/node", i)
	}
	return func() []byte { return names[z.Uint64()] }
}

// 95 of the 100 paths with the most requests are found under Zipf's law, although most requests are not recorded and
// there are fifty times as many paths as counters.
func TestFirstHundredUnderZipf(t *testing.T) {
	draw := zipfPaths(1, 100_000)
	l := newLoad(50, 100_000)
	for i := range 6_000_000 { // one window
		l.send(i, Request{Op: proto.OpGetData, Paths: [][]byte{draw()}, Bytes: 100, Took: 1000})
	}
	require.Less(t, l.recorded, 600_000, "requests that were recorded")
	v := l.r.View(l.now, ByRequests, 100)
	require.Greater(t, v.OneIn, int64(4))
	found := 0
	for _, e := range v.Paths {
		var rank int
		must.Do(fmt.Sscanf(e.Key, "/app/service-%d/node", &rank))(t)
		if rank < 100 { // Zipf's law puts the key 0 first
			found++
		}
	}
	t.Logf("%d of the first 100, %d requests recorded", found, l.recorded)
	require.GreaterOrEqual(t, found, 95)
	require.InEpsilon(t, 100_000, v.Total.Requests, 0.03)
}

// A path with few requests is found if they are the largest or the slowest, and figures are those of the load.
func TestFirstByBytesAndTime(t *testing.T) {
	draw := zipfPaths(4, 100_000)
	l := newLoad(10, 100_000)
	for i := range 2_000_000 {
		switch q := (Request{Op: proto.OpGetData, Session: 7, Address: netip.MustParseAddr("10.0.0.1"),
			Paths: [][]byte{draw()}, Bytes: 100, Took: 1000}); i % 2000 {
		case 500:
			q.Paths, q.Bytes = [][]byte{[]byte("/large")}, 1<<20
			l.send(i, q)
		case 1500:
			q.Paths, q.Took, q.Op = [][]byte{[]byte("/slow")}, 50e6, proto.OpGetChildren
			l.send(i, q)
		default:
			l.send(i, q)
		}
	}
	byBytes := l.r.View(l.now, ByBytes, 1)
	require.Equal(t, "/large", byBytes.Paths[0].Key)
	require.InEpsilon(t, 50*(1<<20), byBytes.Paths[0].Bytes, 0.4)
	byTime := l.r.View(l.now, ByTime, 1)
	require.Equal(t, "/slow", byTime.Paths[0].Key)
	require.InEpsilon(t, 50*50, byTime.Paths[0].Millis, 0.4)
	require.Equal(t, proto.OpGetChildren, byTime.Operations[0].Key)
	require.Equal(t, proto.SessionID(7), byTime.Sessions[0].Key)
	require.Equal(t, "10.0.0.1", byTime.Addresses[0].Key.String())
	require.InEpsilon(t, 100_000, byTime.Addresses[0].Requests, 0.03)
}

// Where no path is frequent, none is shown as frequent: the counts of a path that has taken a counter begin anew.
func TestRarePathsDoNotLookFrequent(t *testing.T) {
	l := newLoad(10, 10_000)
	for i := range 500_000 {
		l.send(i, Request{Op: proto.OpExists, Paths: [][]byte{fmt.Appendf(nil, "/%d", i)}, Bytes: 10})
	}
	v := l.r.View(l.now, ByRequests, 10)
	require.Less(t, v.Paths[0].Requests, v.Total.Requests/1000)
}

// Few requests are counted exactly, and fade.
func TestFewRequestsAreExactAndFade(t *testing.T) {
	l := newLoad(3, 10)
	for i := range 100 {
		l.send(i, Request{Op: proto.OpSetData, Session: proto.SessionID(i%2 + 1),
			Paths: [][]byte{[]byte("/a")}, Bytes: 50})
	}
	v := l.r.View(l.now, ByRequests, 10)
	require.InEpsilon(t, 10, v.Paths[0].Requests, 0.1)
	require.InEpsilon(t, 500, v.Paths[0].Bytes, 0.1)
	require.Len(t, v.Sessions, 2)
	require.InEpsilon(t, 5, v.Sessions[1].Requests, 0.1)
	later := l.r.View(l.now+5*int64(Window), ByRequests, 10)
	require.Less(t, later.Paths[0].Requests, 0.02)
	require.Empty(t, l.r.View(l.now+30*int64(Window), ByRequests, 10).Paths)
}

// Counts stay right when the scale of the decay starts again.
func TestCountsOfLongTimes(t *testing.T) {
	l := newLoad(1, 10)
	for i := range 10 * 60 * 60 * 12 { // 12 hours, in which e^720 would be beyond a float64
		l.send(i, Request{Op: proto.OpSync, Paths: [][]byte{[]byte("/a")}, Bytes: 50})
	}
	require.Less(t, l.r.mu.scale, scaleMax*2)
	v := l.r.View(l.now, ByRequests, 10)
	require.InEpsilon(t, 10, v.Paths[0].Requests, 0.05)
	require.InEpsilon(t, 10, v.Total.Requests, 0.05)
}

// The cost is bounded: under any load about as many requests are recorded, and with less load again all are.
func TestRateOfSamplesIsBounded(t *testing.T) {
	l := newLoad(20, 1_000_000)
	for i := range 3_000_000 {
		l.send(i, Request{Op: proto.OpGetData, Bytes: 1})
	}
	require.Less(t, l.recorded, 250_000)
	require.Greater(t, l.r.oneIn.Load(), int64(32))
	l.gap = second / 1000
	for i := range 60_000 {
		l.send(i, Request{Op: proto.OpGetData, Bytes: 1})
	}
	require.EqualValues(t, 1, l.r.oneIn.Load())
}

// A request does not wait while the recorder is read, and what it has cost is counted later.
func TestRecordDoesNotWait(t *testing.T) {
	r := New(0)
	var s Sampler
	r.Begin(&s)
	r.mu.Lock()
	for range 5 {
		require.True(t, s.Due())
		r.Record(&s, &Request{Op: proto.OpGetData, Now: second})
	}
	r.mu.Unlock()
	require.True(t, s.Due())
	r.Record(&s, &Request{Op: proto.OpGetData, Now: second})
	require.InDelta(t, 6, r.View(second, ByRequests, 1).Total.Requests, 0.1)
}

func TestConcurrentUse(t *testing.T) {
	r := New(0)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			var s Sampler
			r.Begin(&s)
			for j := range 10_000 {
				if s.Due() {
					k := r.Keep(&s, [][]byte{[]byte("/a"), []byte("/b")}, 10)
					r.Finish(&s, k, Request{Op: proto.OpMulti, Session: proto.SessionID(i + 1), Now: int64(j)})
				}
				if j%1000 == 0 {
					r.View(int64(j), ByTime, 10)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, r.View(second, ByRequests, 10).Paths, 2)
}

func TestNilRecordsNothing(t *testing.T) {
	var r *Recorder
	var s Sampler
	r.Begin(&s)
	for range 10 {
		require.False(t, s.Due())
	}
}

func TestPathsOf(t *testing.T) {
	list := func(op proto.OpCode, body []byte) (names []string) {
		for _, p := range PathsOf(make([][]byte, 0, 3), op, body) {
			names = append(names, string(p))
		}
		return names
	}
	get := proto.PathWatchRequest{Path: proto.Text("/a"), Watch: true}
	require.Equal(t, []string{"/a"}, list(proto.OpGetData, get.AppendTo(nil)))
	require.Empty(t, list(proto.OpPing, nil))
	require.Empty(t, list(proto.OpGetData, []byte{0, 0, 0, 9, '/'}))
	var multi []byte
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		set := proto.SetDataRequest{Path: proto.Text(path), Data: []byte("x")}
		multi = set.AppendTo(proto.AppendMultiOp(multi, proto.OpSetData))
	}
	require.Equal(t, []string{"/a", "/b", "/c"}, list(proto.OpMulti, multi), "at most the capacity")
	reads := get.AppendTo(proto.AppendMultiOp(nil, proto.OpGetChildren))
	require.Equal(t, []string{"/a"}, list(proto.OpMultiRead, proto.AppendMultiEnd(reads)))
}

func FuzzPathsOf(f *testing.F) {
	get := proto.PathWatchRequest{Path: proto.Text("/a")}
	f.Add(int32(proto.OpGetData), get.AppendTo(nil))
	f.Add(int32(proto.OpMultiRead), proto.AppendMultiEnd(get.AppendTo(proto.AppendMultiOp(nil, proto.OpGetData))))
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		size := 0
		for _, p := range PathsOf(make([][]byte, 0, PathsMax), proto.OpCode(op), body) {
			require.NotEmpty(t, p)
			size += len(p)
		}
		require.LessOrEqual(t, size, len(body))
	})
}

// Nothing is allocated for a request, once the tables are full.
func TestRecordAllocatesNothing(t *testing.T) {
	draw := zipfPaths(5, 20_000)
	l := newLoad(1, 1000)
	var names [PathsMax][]byte
	one := func() {
		l.send(0, Request{Op: proto.OpGetData, Session: 1, Paths: append(names[:0], draw()), Bytes: 9})
	}
	for range 200_000 {
		one()
	}
	require.Less(t, testing.AllocsPerRun(10_000, one), 0.05)

	path := [][]byte{draw()}
	write := func() {
		k := l.r.Keep(&l.samplers[0], path, 9)
		l.r.Finish(&l.samplers[0], k, Request{Op: proto.OpSetData, Session: 1, Bytes: 9, Now: l.now})
	}
	require.Less(t, testing.AllocsPerRun(10_000, write), 0.9, "under the race detector a pool loses some of its items")
}

// BenchmarkRecord has 1M requests a second on the server's clock; BenchmarkRecordEach records each request.
func BenchmarkRecord(b *testing.B)     { benchmarkRecord(b, 1_000_000) }
func BenchmarkRecordEach(b *testing.B) { benchmarkRecord(b, 1_000) }

func benchmarkRecord(b *testing.B, rate int64) {
	draw := zipfPaths(6, 100_000)
	var paths [1 << 16][]byte
	for i := range paths {
		paths[i] = draw()
	}
	l := newLoad(1, rate)
	var names [PathsMax][]byte
	addr := netip.MustParseAddr("10.0.0.1")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.now += l.gap
		if s := &l.samplers[0]; s.Due() {
			l.r.Record(s, &Request{Op: proto.OpGetData, Session: 1, Address: addr, Now: l.now,
				Paths: append(names[:0], paths[i%len(paths)]), Bytes: 9})
		}
	}
	b.ReportMetric(float64(l.r.oneIn.Load()), "onein")
}
