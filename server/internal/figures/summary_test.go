package figures

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSummaryBucketsHoldTheirValues(t *testing.T) {
	last := -1
	for _, v := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 1000, 1 << 20, 1<<40 + 1, math.MaxInt64} {
		i := bucketOf(v)
		require.GreaterOrEqual(t, i, last)
		last = i
		require.InEpsilon(t, float64(v)+1, bucketValue(i)+1, 0.125, "%d", v)
	}
	require.Zero(t, bucketOf(-5))
	require.Less(t, bucketOf(math.MaxInt64), len(summaryView{}.counts))
}

// TestQuantilesAreWithinAnEighth compares them with the sorted values.
func TestQuantilesAreWithinAnEighth(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		m := newSummary(false)
		var values []int64
		sum := int64(0)
		for range 1 + r.IntN(2000) {
			v := r.Int64N(1 << (1 + r.IntN(40)))
			n := int64(1 + r.IntN(3))
			m.ObserveN(v, n)
			for range n {
				values = append(values, v)
			}
			sum += v * n
		}
		slices.Sort(values)
		view := m.recent()
		require.EqualValues(t, len(values), view.count)
		require.Equal(t, sum, view.sum)
		require.Equal(t, values[0], view.least)
		require.Equal(t, values[len(values)-1], view.most)
		require.InDelta(t, float64(sum)/float64(len(values)), view.mean(), 1e-6*float64(sum))
		for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99, 0.999} {
			want := float64(values[int(q*float64(len(values)))])
			require.InDelta(t, want, view.quantile(q), want/8+1e-9, "q=%v", q)
		}
		require.EqualValues(t, view.most, view.quantile(1))
	}
	empty := newSummary(false)
	empty.ObserveN(7, 0)
	view := empty.recent()
	require.Zero(t, view.count+view.least+view.most)
	require.Zero(t, view.mean()+view.quantile(0.5))
}

// The quantiles of the exporter are of the last minutes, as in ZooKeeper: an accident shows in them, however long the
// server has run before.
func TestQuantilesAreOfTheLastMinutes(t *testing.T) {
	m, now := newSummary(true), time.Now()
	median := func() float64 {
		v := m.lately(m.total(), now)
		if v.count == 0 {
			return -1
		}
		return v.quantile(0.5)
	}
	require.EqualValues(t, -1, median())
	m.ObserveN(1, 1_000_000)
	for range 39 { // almost ten minutes
		require.EqualValues(t, 1, median())
		now = now.Add(15 * time.Second)
	}
	m.ObserveN(3, 100)
	for range 16 {
		now = now.Add(15 * time.Second)
		median()
	}
	require.EqualValues(t, 3, median(), "the million is older than ten minutes")
	for range 60 {
		now = now.Add(15 * time.Second)
		median()
	}
	require.EqualValues(t, -1, median())
	require.LessOrEqual(t, len(m.mu.marks), int(quantilesOf/quantilesEvery)+2)
	now = now.Add(time.Hour)
	m.Observe(2)
	require.EqualValues(t, 2, median(), "nobody has asked for an hour")
	require.EqualValues(t, 1_000_101, m.total().count)
}

func TestLatencyJoinsReadsAndWrites(t *testing.T) {
	type seen struct {
		least int64
		mean  float64
		most  int64
	}
	for name, tc := range map[string]struct {
		reads, writes []int64
		want          seen
	}{
		"nothing":     {nil, nil, seen{0, 0, 0}},
		"reads":       {[]int64{2, 4}, nil, seen{2, 3, 4}},
		"writes":      {nil, []int64{5}, seen{5, 5, 5}},
		"least read":  {[]int64{1}, []int64{8}, seen{1, 4.5, 8}},
		"least write": {[]int64{9, 0 + 9}, []int64{0}, seen{0, 6, 9}},
	} {
		s := NewServer()
		for _, v := range tc.reads {
			s.ReadLatency.Observe(v)
		}
		for _, v := range tc.writes {
			s.WriteLatency.Observe(v)
		}
		least, mean, most := s.Latency()
		require.Equal(t, tc.want, seen{least, mean, most}, name)
		s.Reset()
		least, mean, most = s.Latency()
		require.Equal(t, seen{}, seen{least, mean, most})
	}
}
