package topk

import "hash/maphash"

// Sums are what requests have cost. In a table they are scaled by the decay.
type Sums struct {
	Requests float64
	Bytes    float64 // of requests and replies
	Millis   float64 // of a read: its execution; of a write: from its arrival until it is applied
}

func (s *Sums) add(o Sums) {
	s.Requests += o.Requests
	s.Bytes += o.Bytes
	s.Millis += o.Millis
}

func (s Sums) times(f float64) Sums { return Sums{s.Requests * f, s.Bytes * f, s.Millis * f} }

const (
	// ways is how many counters share a set.
	ways = 16
	// sets is how many sets a table has.
	sets = 128
	// keyMax is how many bytes of a key are kept. Keys are told apart by a hash of all their bytes.
	keyMax = 512
)

// table counts keys. The lock of Recorder guards it.
type table struct {
	seed maphash.Seed // clients choose keys, and must not be able to choose a set
	sets [sets]set
}

// set are the counters among which a key competes. A hash of 0 is a free counter.
type set struct {
	hash [ways]uint64
	rank [ways]float64
	sums [ways]Sums
	keys [ways][]byte
}

// add counts sums for a key. rank is how much that weighs when counters are short.
func (t *table) add(key []byte, rank float64, sums Sums, rng *random) {
	h := maphash.Bytes(t.seed, key) | 1
	s := &t.sets[h>>32%sets]
	least := 0
	for i := range s.hash {
		if s.hash[i] == h {
			s.rank[i] += rank
			s.sums[i].add(sums)
			return
		}
		if s.rank[i] < s.rank[least] {
			least = i
		}
	}
	s.rank[least] += rank
	if s.hash[least] == 0 || rng.float()*s.rank[least] < rank {
		s.hash[least], s.sums[least] = h, sums
		s.keys[least] = append(s.keys[least][:0], key[:min(len(key), keyMax)]...)
	}
}

func (t *table) scale(f float64) {
	for i := range t.sets {
		s := &t.sets[i]
		for j := range s.rank {
			s.rank[j] *= f
			s.sums[j] = s.sums[j].times(f)
		}
	}
}

// random is a generator of numbers (xorshift64*, Vigna 2016). It is never zero.
type random uint64

func newRandom(seed uint64) random { return random(seed*0x9e3779b97f4a7c15 | 1) }

// float returns a number in (0, 1].
func (r *random) float() float64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return float64(x*0x2545f4914f6cdd1d>>11+1) / (1 << 53)
}
