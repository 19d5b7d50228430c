package quorum

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// naive is the rule of quorums written down a second time, with maps and lists.
func naive(groups map[int64][]proto.ServerID, weights map[proto.ServerID]int64, in map[proto.ServerID]bool) bool {
	counted, won := 0, 0
	for _, members := range groups {
		var total, have int64
		for _, id := range members {
			w, ok := weights[id]
			if !ok {
				w = 1
			}
			total += w
			if in[id] {
				have += w
			}
		}
		if total == 0 {
			continue
		}
		counted++
		if have > total/2 {
			won++
		}
	}
	return won > counted/2
}

func TestQuorumAgainstNaive(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		n := 1 + rng.IntN(9)
		var voters []proto.ServerID
		groups, weights := map[int64][]proto.ServerID{}, map[proto.ServerID]int64{}
		for i := range n {
			id := proto.ServerID(i*7 + 1)
			voters = append(voters, id)
			g := int64(rng.IntN(3))
			groups[g] = append(groups[g], id)
			if rng.IntN(2) == 0 {
				weights[id] = int64(rng.IntN(4))
			}
		}
		majority := must.Do(Majority(voters...))(t)
		hierarchical, err := Hierarchical(groups, weights)
		var total int64
		for _, id := range voters {
			if w, ok := weights[id]; !ok || w > 0 {
				total++
			}
		}
		if total == 0 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		for range 20 {
			in := map[proto.ServerID]bool{1000: true} // not a voter
			ids := []proto.ServerID{1000}
			for _, id := range voters {
				if rng.IntN(2) == 0 {
					in[id] = true
					ids = append(ids, id)
				}
			}
			require.Equal(t, len(in)-1 > n/2, majority.Decides(ids...))
			require.Equal(t, naive(groups, weights, in), hierarchical.Decides(ids...), "groups %v weights %v set %v",
				groups, weights, ids)
		}
	}
}

// Any two quorums intersect: safety depends on that alone.
func TestQuorumsIntersect(t *testing.T) {
	q := must.Do(Hierarchical(map[int64][]proto.ServerID{1: {1, 2, 3}, 2: {4, 5}, 3: {6, 7}},
		map[proto.ServerID]int64{1: 2, 7: 0}))(t)
	for s := range Set(1) << 7 {
		require.False(t, q.DecidesSet(s) && q.DecidesSet(q.All()&^s), "%b and its complement both decide", s)
	}
}

// overlaps is the rule of Overlaps, tried for every set of servers.
func overlaps(a, b *System) bool {
	ids := slices.Concat(a.Voters(), b.Voters())
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for s := range 1 << len(ids) {
		var in, out []proto.ServerID
		for i, id := range ids {
			if s&(1<<i) != 0 {
				in = append(in, id)
			} else {
				out = append(out, id)
			}
		}
		if a.Decides(in...) && b.Decides(out...) {
			return false
		}
	}
	return true
}

// Lists of equal servers that differ by one overlap. Of other lists, and of groups, Overlaps says what every set of
// servers shows.
func TestOverlaps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	disjoint := 0
	for range 2000 {
		var two [2]*System
		for i := range two {
			var voters []proto.ServerID
			groups := map[int64][]proto.ServerID{}
			for id := range proto.ServerID(7) {
				if rng.IntN(3) > 0 || len(voters) == 0 {
					voters = append(voters, id)
					g := int64(id % 3)
					groups[g] = append(groups[g], id)
				}
			}
			var err error
			if two[i], err = Majority(voters...); rng.IntN(3) == 0 {
				two[i], err = Hierarchical(groups, map[proto.ServerID]int64{voters[0]: 2})
			}
			require.NoError(t, err)
		}
		want := overlaps(two[0], two[1])
		require.Equal(t, want, two[0].Overlaps(two[1]), "%v %v", two[0], two[1])
		require.Equal(t, want, two[1].Overlaps(two[0]), "%v %v", two[0], two[1])
		if !want {
			disjoint++
		}
	}
	require.NotZero(t, disjoint)
	var voters []proto.ServerID
	for id := range proto.ServerID(VotersMax - 1) {
		voters = append(voters, id)
		less := must.Do(Majority(voters...))(t)
		more := must.Do(Majority(append(slices.Clone(voters), id+1)...))(t)
		require.True(t, less.Overlaps(more))
		require.True(t, less.Overlaps(less))
	}
	large := map[int64][]proto.ServerID{1: voters[:20], 2: voters[20:]}
	one := must.Do(Hierarchical(large, nil))(t)
	same := must.Do(Hierarchical(large, nil))(t)
	other := must.Do(Hierarchical(map[int64][]proto.ServerID{1: voters[:21], 2: voters[21:]}, nil))(t)
	require.True(t, one.Overlaps(same))
	require.False(t, one.Overlaps(other), "not known")
}

func TestQuorumRefuses(t *testing.T) {
	for name, try := range map[string]func() (*System, error){
		"nobody":     func() (*System, error) { return Majority() },
		"twice":      func() (*System, error) { return Majority(1, 2, 1) },
		"two groups": func() (*System, error) { return Hierarchical(map[int64][]proto.ServerID{1: {1}, 2: {1}}, nil) },
		"weight below 0": func() (*System, error) {
			return Hierarchical(map[int64][]proto.ServerID{1: {1}}, map[proto.ServerID]int64{1: -1})
		},
		"only weight 0": func() (*System, error) {
			return Hierarchical(map[int64][]proto.ServerID{1: {1}}, map[proto.ServerID]int64{1: 0})
		},
		"weight of nobody": func() (*System, error) {
			return Hierarchical(map[int64][]proto.ServerID{1: {1}}, map[proto.ServerID]int64{2: 1})
		},
		"too many": func() (*System, error) { return Majority(make([]proto.ServerID, VotersMax+1)...) },
	} {
		require.Error(t, must.Err(try()), name)
	}
}
