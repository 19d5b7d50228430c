package facts

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
)

// zero is the zero value of the type of its argument.
func zero[T any](T) (none T) { return none }

// The number of spare voters is what the quorum rule says when every set of servers fails in turn: in majorities, and
// with groups, weights and observers.
func TestSpareVoters(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	many := 0
	for range 3000 {
		q := &config.Quorum{Hierarchical: random.IntN(4) > 0}
		groups := 1 + random.IntN(4)
		q.Groups = make([]config.Group, groups)
		for i := range q.Groups {
			q.Groups[i].ID = int64(i)
		}
		for id := range int64(1 + random.IntN(9)) {
			m := config.Member{ID: id, Role: config.Participant, Weight: int64(random.IntN(4))}
			if random.IntN(6) == 0 {
				m.Role = config.Observer
			}
			q.Members = append(q.Members, m)
			g := &q.Groups[random.IntN(groups)]
			g.Members = append(g.Members, id)
		}
		rule, _, err := host.QuorumOf(q)
		if err != nil {
			continue // nobody decides
		}
		none := zero(rule.All())
		in, up := map[int64]bool{}, none
		for i, id := range rule.Voters() {
			if random.IntN(5) > 0 {
				in[int64(id)], up = true, up.With(i)
			}
		}
		if !rule.DecidesSet(up) {
			require.Zero(t, spareVoters(q, in))
			continue
		}
		least := len(rule.Voters())
		for s := none; s <= rule.All(); s++ {
			if s&^up == 0 && !rule.DecidesSet(up&^s) {
				least = min(least, bits.OnesCount64(uint64(s)))
			}
		}
		require.Equal(t, least-1, spareVoters(q, in), "%+v %v", q, in)
		if least > 2 {
			many++
		}
	}
	require.Greater(t, many, 30)
}
