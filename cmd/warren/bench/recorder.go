package bench

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/seed94657493/warren/proto"
)

// Latencies are recorded in ns from 1 us to 100 s with three digits; what is beyond counts as the
// limit.
const (
	latencyMin = int64(time.Microsecond)
	latencyMax = int64(100 * time.Second)
)

// newHistogram returns an empty histogram of latencies.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(latencyMin, latencyMax, 3) }

// recordLatency adds one latency in ns.
func recordLatency(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, latencyMin), latencyMax)) // in range, so it cannot fail
}

// recorder collects what happens to requests while its window is open. It is split into shards,
// so that lanes seldom wait for each other; a lane locks its shard once per batch of replies.
type recorder struct {
	byIntent bool // a request belongs to the window in which it was due, not in which it was answered
	from, to atomic.Int64
	shards   []shard
}

// shard is part of a recorder.
type shard struct {
	rec *recorder
	mu  sync.Mutex
	// by kind
	latency [kindCount]*hdrhistogram.Histogram
	errors  [kindCount]map[proto.ErrCode]int64
	lag     *hdrhistogram.Histogram // open loop: from when a request was due until it was sent
	unsent  int64                   // open loop: requests due that were never sent
	replies int64                   // all there were, in the window or not: progress
	_       [64]byte
}

func newRecorder(byIntent bool) *recorder {
	r := &recorder{byIntent: byIntent, shards: make([]shard, 4*runtime.GOMAXPROCS(0))}
	for i := range r.shards {
		r.shards[i].rec = r
		r.shards[i].lag = newHistogram()
	}
	r.from.Store(math.MaxInt64)
	r.to.Store(math.MaxInt64)
	return r
}

func (r *recorder) shard(lane int) *shard { return &r.shards[lane%len(r.shards)] }

// open begins the window at now, a time in ns since the fleet's start.
func (r *recorder) open(now int64) { r.from.Store(now) }

func (r *recorder) close(now int64) { r.to.Store(now) }

func (r *recorder) counts(at, now int64) bool {
	if r.byIntent {
		now = at
	}
	return now >= r.from.Load() && now < r.to.Load()
}

// add records one reply, or the loss of one. The shard is locked.
func (s *shard) add(kind Kind, err proto.ErrCode, at, now int64) {
	s.replies++
	if !s.rec.counts(at, now) {
		return
	}
	if err != proto.OK {
		if s.errors[kind] == nil {
			s.errors[kind] = map[proto.ErrCode]int64{}
		}
		s.errors[kind][err]++
		return
	}
	if s.latency[kind] == nil {
		s.latency[kind] = newHistogram()
	}
	recordLatency(s.latency[kind], now-at)
}

// late records when a request of an open loop was sent that was due at at.
func (s *shard) late(at, now int64) {
	s.mu.Lock()
	if s.rec.counts(at, now) {
		recordLatency(s.lag, now-at)
	}
	s.mu.Unlock()
}

// skip records a request of an open loop that was due at at and never sent.
func (s *shard) skip(at int64) {
	s.mu.Lock()
	if s.rec.counts(at, at) {
		s.unsent++
	}
	s.mu.Unlock()
}

// replies returns how many replies there were so far.
func (r *recorder) replies() (n int64) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += s.replies
		s.mu.Unlock()
	}
	return n
}

// collect returns what the window held, by kind. Only when no lane records any more.
func (r *recorder) collect() *Sample {
	out := newSample()
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for k := range kindCount {
			if s.latency[k] != nil {
				out.kind(k).Latency.Merge(s.latency[k])
			}
			for code, n := range s.errors[k] {
				out.kind(k).Errors[code] += n
			}
		}
		out.Lag.Merge(s.lag)
		out.Unsent += s.unsent
		s.mu.Unlock()
	}
	return out
}

// Sample is what a window held.
type Sample struct {
	Kinds  map[Kind]*KindSample
	Lag    *hdrhistogram.Histogram // open loop: how late requests were sent, ns
	Unsent int64                   // open loop: requests due that were never sent
}

// KindSample is what a window held of one kind. The count of Latency is the number of successes.
type KindSample struct {
	Latency *hdrhistogram.Histogram // ns
	Errors  map[proto.ErrCode]int64
}

func newSample() *Sample { return &Sample{Kinds: map[Kind]*KindSample{}, Lag: newHistogram()} }

func (s *Sample) kind(k Kind) *KindSample {
	if s.Kinds[k] == nil {
		s.Kinds[k] = newKindSample()
	}
	return s.Kinds[k]
}

func newKindSample() *KindSample {
	return &KindSample{Latency: newHistogram(), Errors: map[proto.ErrCode]int64{}}
}

// total merges all kinds.
func (s *Sample) total() *KindSample {
	out := newKindSample()
	for _, k := range s.Kinds {
		out.Latency.Merge(k.Latency)
		for code, n := range k.Errors {
			out.Errors[code] += n
		}
	}
	return out
}
