// Package quorum says which sets of voters decide: majorities, and hierarchical quorums with groups and weights.
//
// Its values do not change after they were made, so any goroutine may use them. The package has no state and starts no
// goroutine. Source: quorum-protocol 12.4.
package quorum

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// VotersMax bounds the number of voters, so that a set of them is one word.
const VotersMax = 64

// Set is a set of voters: bit i is the i-th smallest id.
type Set uint64

func (s Set) With(i int) Set { return s | 1<<i }
func (s Set) Has(i int) bool { return s&(1<<i) != 0 }

// System says which sets of voters decide. Any two quorums intersect.
type System struct {
	voters []proto.ServerID // sorted
	groups []group          // nil: majority of the voters
	weight []int64          // by voter, nil: majority
}

// group is a group of hierarchical quorums whose weight is not 0.
type group struct {
	members Set
	half    int64 // a quorum of the group weighs more than this
}

// Majority returns the quorum system in which more than half of the voters decide.
func Majority(voters ...proto.ServerID) (*System, error) {
	q := &System{voters: slices.Clone(voters)}
	return q, q.init()
}

// Hierarchical returns the quorum system in which more than half of the groups decide, each by more than half of
// its weight. Every voter is in exactly one group; the default weight is 1; groups of weight 0 do not count.
func Hierarchical(groups map[int64][]proto.ServerID, weights map[proto.ServerID]int64) (*System, error) {
	q := &System{groups: []group{}}
	for _, gid := range slices.Sorted(maps.Keys(groups)) {
		q.voters = append(q.voters, groups[gid]...)
	}
	if err := q.init(); err != nil {
		return nil, err
	}
	q.weight = make([]int64, len(q.voters))
	for i, id := range q.voters {
		w, ok := weights[id]
		if !ok {
			w = 1
		}
		if w < 0 || w > 1<<32 {
			return nil, fmt.Errorf("quorum: weight.%d=%d is not between 0 and 2^32", id, w)
		}
		q.weight[i] = w
	}
	for id := range weights {
		if q.Index(id) < 0 {
			return nil, fmt.Errorf("quorum: weight.%d is given, but server %d is in no group", id, id)
		}
	}
	for _, gid := range slices.Sorted(maps.Keys(groups)) {
		var g group
		var total int64
		for _, id := range groups[gid] {
			i := q.Index(id)
			g.members = g.members.With(i)
			total += q.weight[i]
		}
		if total > 0 {
			g.half = total / 2
			q.groups = append(q.groups, g)
		}
	}
	if len(q.groups) == 0 {
		return nil, fmt.Errorf("quorum: no group has a weight above 0, so no server can decide")
	}
	return q, nil
}

func (q *System) init() error {
	slices.Sort(q.voters)
	if len(q.voters) == 0 {
		return fmt.Errorf("quorum: an ensemble needs a voter")
	}
	if len(q.voters) > VotersMax {
		return fmt.Errorf("quorum: %d voters, at most %d are supported", len(q.voters), VotersMax)
	}
	for i := 1; i < len(q.voters); i++ {
		if q.voters[i] == q.voters[i-1] {
			return fmt.Errorf("quorum: server %d is there twice", q.voters[i])
		}
	}
	return nil
}

// Voters returns the ids of the voters in ascending order. Read only.
func (q *System) Voters() []proto.ServerID { return q.voters }

// Index returns the place of id among the voters, or -1.
func (q *System) Index(id proto.ServerID) int {
	i, ok := slices.BinarySearch(q.voters, id)
	if !ok {
		return -1
	}
	return i
}

// All returns the set of all voters.
func (q *System) All() Set { return Set(1)<<(len(q.voters)-1)<<1 - 1 }

// Weighs reports whether the voter may be elected: weight-0 servers may not.
func (q *System) Weighs(i int) bool { return q.weight == nil || q.weight[i] > 0 }

// DecidesSet reports whether s is a quorum.
func (q *System) DecidesSet(s Set) bool {
	if q.groups == nil {
		return bits.OnesCount64(uint64(s)) > len(q.voters)/2
	}
	won := 0
	for _, g := range q.groups {
		var sum int64
		for in := uint64(s & g.members); in != 0; in &= in - 1 {
			sum += q.weight[bits.TrailingZeros64(in)]
		}
		if sum > g.half {
			won++
		}
	}
	return won > len(q.groups)/2
}

// Overlaps reports whether every quorum of q has a server in common with every quorum of other. Servers with two
// lists for which that does not hold may have two leaders at a time. For quorums with groups of more than overlapMax
// servers in all it is not computed, and false unless the lists are the same.
func (q *System) Overlaps(other *System) bool {
	ids := slices.Concat(q.voters, other.voters)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if q.groups == nil && other.groups == nil {
		// Two quorums have nothing in common if there are voters enough for both, and each finds enough of its own.
		own, its := len(ids)-len(other.voters), len(ids)-len(q.voters)
		common := len(ids) - own - its
		return max(len(q.voters)/2+1-own, 0)+max(len(other.voters)/2+1-its, 0) > common
	}
	if len(ids) > overlapMax {
		return q.Equal(other)
	}
	for s := range uint64(1) << len(ids) {
		var of, rest Set // a set of servers as q sees it, and all others as other sees them
		for i, id := range ids {
			if j := q.Index(id); j >= 0 && s&(1<<i) != 0 {
				of = of.With(j)
			}
			if j := other.Index(id); j >= 0 && s&(1<<i) == 0 {
				rest = rest.With(j)
			}
		}
		if q.DecidesSet(of) && other.DecidesSet(rest) {
			return false
		}
	}
	return true
}

// overlapMax bounds the sets of servers that Overlaps looks at.
const overlapMax = 16

// Equal reports whether two quorum systems are the same.
func (q *System) Equal(other *System) bool {
	return slices.Equal(q.voters, other.voters) && slices.Equal(q.groups, other.groups) &&
		slices.Equal(q.weight, other.weight) && (q.groups == nil) == (other.groups == nil)
}

// Decides reports whether the given servers contain a quorum; ids that are not voters do not count.
func (q *System) Decides(ids ...proto.ServerID) bool {
	var s Set
	for _, id := range ids {
		if i := q.Index(id); i >= 0 {
			s = s.With(i)
		}
	}
	return q.DecidesSet(s)
}
