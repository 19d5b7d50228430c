package topk

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

const (
	// Window is the time in which counts fade by the factor e. A steady load shows what one window has.
	Window = time.Minute
	// samplesMax and samplesMin bound how many requests are recorded in a second.
	samplesMax, samplesMin = 8_000, 2_000
	// oneInMax bounds the share of the requests that are not recorded.
	oneInMax = 1 << 12
	// scaleEvery is how long the weight of new counts stays the same.
	scaleEvery = time.Second / 4
	// scaleMax is the weight at which all counts are scaled back, long before a float64 ends.
	scaleMax = 1e100
	// opSlots is the size of the table of operations.
	opSlots = 128
)

// Recorder counts the requests of one server. Connections record in the goroutines that answer, where the lock is only
// tried; any goroutine may look. A nil Recorder counts nothing.
type Recorder struct {
	oneIn atomic.Int64  // the mean number of requests for one that is recorded
	seeds atomic.Uint64 // of samplers
	mu    struct {
		sync.Mutex
		rng       random
		began     int64 // ns, as all times
		scaledAt  int64
		scale     float64 // weight of a request that is recorded now
		since     int64   // when samples began
		samples   int
		paths     table
		sessions  table
		addresses table
		ops       [opSlots]Sums
		total     Sums
		followed  map[string]*followed // by path; nil before the first
	}
}

// New returns a Recorder that begins now, ns on the server's clock.
func New(now int64) *Recorder {
	r := &Recorder{}
	r.oneIn.Store(1)
	m := &r.mu
	m.rng, m.scale = newRandom(1), 1
	m.began, m.scaledAt, m.since = now, now, now
	for _, t := range []*table{&m.paths, &m.sessions, &m.addresses} {
		t.seed = maphash.MakeSeed()
	}
	return r
}

// Sampler picks the requests of one connection that are recorded. The zero value picks none.
type Sampler struct {
	left   int64 // requests up to the one that is picked; below 0 none is picked
	oneIn  int64 // in force when the request was picked
	missed float64
	rng    random
}

// Begin makes s pick requests for r.
func (r *Recorder) Begin(s *Sampler) {
	if r == nil {
		return
	}
	*s = Sampler{rng: newRandom(r.seeds.Add(1) + 1)}
	s.pick(r.oneIn.Load())
}

func (s *Sampler) pick(oneIn int64) {
	s.oneIn, s.left = oneIn, 1
	if oneIn > 1 { // the number of failures before a success has the geometric distribution
		s.left += int64(math.Log(s.rng.float()) / math.Log1p(-1/float64(oneIn)))
	}
}

// Due reports whether the request that begins now is picked. If so, Record or Keep must follow.
func (s *Sampler) Due() bool {
	s.left--
	return s.left == 0
}

// Request is one request that was picked.
type Request struct {
	Op      proto.OpCode
	Session proto.SessionID // 0: none
	Address netip.Addr
	Paths   [][]byte // of the znodes that it is about; they share what it costs, but each counts a request
	Bytes   int      // of request and reply
	Took    int64    // ns
	Now     int64    // ns on the server's clock
}

// take returns the weight of the picked request, and picks the next one.
func (r *Recorder) take(s *Sampler) float64 {
	weight := float64(s.oneIn) + s.missed
	s.missed = 0
	s.pick(r.oneIn.Load())
	return weight
}

// Record counts the request that s has picked.
func (r *Recorder) Record(s *Sampler, q *Request) {
	if weight := r.take(s); !r.count(weight, q) {
		s.missed += weight
	}
}

// Kept is a request that was picked and is not answered yet.
type Kept struct {
	weight float64
	bytes  int
	names  []byte
	ends   []int // of the paths in names
}

var keptPool = sync.Pool{New: func() any { return new(Kept) }}

// Keep keeps the request that s has picked until Finish. It copies the paths.
func (r *Recorder) Keep(s *Sampler, paths [][]byte, bytes int) *Kept {
	k := keptPool.Get().(*Kept)
	k.weight, k.bytes, k.names, k.ends = r.take(s), bytes, k.names[:0], k.ends[:0]
	for _, p := range paths {
		k.names = append(k.names, p...)
		k.ends = append(k.ends, len(k.names))
	}
	return k
}

// Finish counts a request that Keep has kept. q has no Paths, and of Bytes only those of the reply. q is a value so
// that the paths stay on the stack.
func (r *Recorder) Finish(s *Sampler, k *Kept, q Request) {
	var room [PathsMax][]byte
	q.Paths = room[:0]
	begin := 0
	for _, end := range k.ends {
		q.Paths = append(q.Paths, k.names[begin:end])
		begin = end
	}
	q.Bytes += k.bytes
	if !r.count(k.weight, &q) {
		s.missed += k.weight
	}
	if cap(k.names) <= keptBytes {
		keptPool.Put(k)
	}
}

const (
	// PathsMax is how many paths of a request are counted.
	PathsMax = 32
	// keptBytes is the largest buffer of a Kept that is used again.
	keptBytes = 4 << 10
)

// count reports false, without any effect, if another goroutine records or reads.
func (r *Recorder) count(weight float64, q *Request) bool {
	if !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	m := &r.mu
	r.advance(q.Now)
	w := weight * m.scale
	sums := Sums{Requests: w, Bytes: w * float64(q.Bytes), Millis: w * float64(max(q.Took, 0)) / 1e6}
	m.total.add(sums)
	m.ops[int(q.Op)&(opSlots-1)].add(sums)
	rank := r.rank(sums)
	if q.Session != 0 {
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], uint64(q.Session))
		m.sessions.add(key[:], rank, sums, &m.rng)
	}
	if q.Address.IsValid() {
		key := q.Address.As16()
		m.addresses.add(key[:], rank, sums, &m.rng)
	}
	if n := len(q.Paths); n > 1 {
		sums.Bytes, sums.Millis = sums.Bytes/float64(n), sums.Millis/float64(n)
		rank = r.rank(sums)
	}
	for _, p := range q.Paths {
		m.paths.add(p, rank, sums, &m.rng)
	}
	if len(m.followed) > 0 {
		r.follow(q, weight)
	}
	return true
}

// rank is what sums weigh against others: their shares of all requests, bytes and time, in requests.
func (r *Recorder) rank(s Sums) float64 {
	t, rank := &r.mu.total, s.Requests
	if t.Bytes > 0 {
		rank += s.Bytes * t.Requests / t.Bytes
	}
	if t.Millis > 0 {
		rank += s.Millis * t.Requests / t.Millis
	}
	return rank
}

// advance follows the time: it lets old counts fade, and bounds the rate of samples.
func (r *Recorder) advance(now int64) {
	m := &r.mu
	if now-m.scaledAt >= int64(scaleEvery) {
		m.scale *= math.Exp(float64(now-m.scaledAt) / float64(Window))
		m.scaledAt = now
		if m.scale > scaleMax {
			r.rescale()
		}
	}
	m.samples++
	oneIn := r.oneIn.Load()
	switch past := now - m.since; {
	case m.samples > samplesMax:
		if past < int64(time.Second) {
			oneIn = min(oneIn*2, oneInMax)
		}
	case past < int64(time.Second):
		return
	case float64(m.samples) < samplesMin*float64(past)/1e9:
		oneIn = max(oneIn/2, 1)
	}
	r.oneIn.Store(oneIn)
	m.since, m.samples = now, 0
}

// rescale divides all counts by the present scale.
func (r *Recorder) rescale() {
	m := &r.mu
	f := 1 / m.scale
	for _, t := range []*table{&m.paths, &m.sessions, &m.addresses} {
		t.scale(f)
	}
	for i := range m.ops {
		m.ops[i] = m.ops[i].times(f)
	}
	m.total, m.scale = m.total.times(f), 1
}

// By is the order of a View.
type By string

// The orders, the greatest first.
const (
	ByRequests By = "requests"
	ByBytes    By = "bytes"
	ByTime     By = "time"
)

// of returns the figure by which entries are in order.
func (b By) of(s Sums) float64 {
	switch b {
	case ByBytes:
		return s.Bytes
	case ByTime:
		return s.Millis
	}
	return s.Requests
}

// Entry is a key with what its requests cost in each second.
type Entry[K any] struct {
	Key K
	Sums
}

// View is what a Recorder knows at one moment. All sums are means for a second.
type View struct {
	OneIn      int64 // one request of so many is recorded, in the mean
	Total      Sums
	Operations []Entry[proto.OpCode]
	Paths      []Entry[string] // of longer paths the first keyMax bytes
	Sessions   []Entry[proto.SessionID]
	Addresses  []Entry[netip.Addr]
}

// View returns the first most keys of each kind. Requests that come meanwhile do not wait.
func (r *Recorder) View(now int64, by By, most int) View {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.mu
	// Counts were made with scales from the time of their request; a window of a steady load lasts as long as f says.
	age := float64(max(now-m.began, int64(time.Second))) / float64(Window)
	f := math.Exp(-float64(max(now-m.scaledAt, 0))/float64(Window)) / m.scale / (Window.Seconds() * -math.Expm1(-age))
	v := View{OneIn: r.oneIn.Load(), Total: m.total.times(f)}
	for i, s := range m.ops {
		if s.Requests > 0 {
			v.Operations = append(v.Operations, Entry[proto.OpCode]{opOf(i), s.times(f)})
		}
	}
	v.Operations = first(v.Operations, by, most)
	v.Paths = keys(&m.paths, by, most, f, func(b []byte) string { return string(b) })
	v.Sessions = keys(&m.sessions, by, most, f, func(b []byte) proto.SessionID {
		return proto.SessionID(binary.BigEndian.Uint64(b))
	})
	v.Addresses = keys(&m.addresses, by, most, f, func(b []byte) netip.Addr {
		return netip.AddrFrom16([16]byte(b)).Unmap()
	})
	return v
}

func opOf(slot int) proto.OpCode {
	if slot == int(proto.OpCloseSession)&(opSlots-1) {
		return proto.OpCloseSession // the only negative one of a client that is recorded
	}
	return proto.OpCode(slot)
}

// seenLeast is below what counts of a request have faded to in some ten windows: older keys are not shown.
const seenLeast = 1e-6

func keys[K any](t *table, by By, most int, f float64, key func([]byte) K) []Entry[K] {
	var found []Entry[*[]byte]
	for i := range t.sets {
		s := &t.sets[i]
		for j := range s.hash {
			if sums := s.sums[j].times(f); s.hash[j] != 0 && sums.Requests > seenLeast {
				found = append(found, Entry[*[]byte]{&s.keys[j], sums})
			}
		}
	}
	var all []Entry[K]
	for _, e := range first(found, by, most) {
		all = append(all, Entry[K]{key(*e.Key), e.Sums})
	}
	return all
}

// first returns the first most entries by an order.
func first[K any](all []Entry[K], by By, most int) []Entry[K] {
	slices.SortStableFunc(all, func(a, b Entry[K]) int { return cmp.Compare(by.of(b.Sums), by.of(a.Sums)) })
	return all[:min(len(all), most)]
}
