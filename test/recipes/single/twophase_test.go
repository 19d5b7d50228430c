package single_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// Sites vote while answers are lost and a site loses patience. All see one outcome, and it is what the votes say.
func TestTwoPhaseCommitHasOneOutcome(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	sites := []string{"a", "b", "c", "d"}
	outcomes := map[recipes.Vote]int{}
	for round := range 12 {
		path := fmt.Sprint(rootOf(t), "/", round)
		k := newLink(t)
		require.NoError(t, dial(t).CreateAll(within(t), rootOf(t)))
		k.LoseAnswer(1)
		require.NoError(t,
			recipes.NewTwoPhaseCommit(dialAt(t, k.Addr()), path).Begin(within(t), []byte("q"), sites...))
		var mu sync.Mutex
		seen := map[recipes.Vote]bool{}
		hasAborted := false
		var all sync.WaitGroup
		for _, site := range sites {
			vote, n := recipes.Commit, int64(r.IntN(4))
			if r.IntN(8) == 0 {
				vote, hasAborted = recipes.Abort, true
			}
			k := newLink(t)
			tx := recipes.NewTwoPhaseCommit(dialAt(t, k.Addr()), path)
			all.Go(func() {
				b, err := tx.Await(within(t))
				if err != nil || string(b.Query) != "q" || len(b.Votes) != len(sites) {
					t.Errorf("await: %v %v", b, err)
				}
				k.LoseAnswer(n)
				assert.NoError(t, must.Err(tx.Vote(within(t), site, vote)), "vote")
				outcome := attempt(t, tx.Outcome)
				mu.Lock()
				seen[outcome] = true
				mu.Unlock()
			})
		}
		isImpatient := round%3 == 2
		if isImpatient {
			outcome := do(t, recipes.NewTwoPhaseCommit(dial(t), path).Decide)
			mu.Lock()
			seen[outcome] = true
			mu.Unlock()
		}
		all.Wait()
		require.Len(t, seen, 1)
		for outcome := range seen {
			outcomes[outcome]++
			if !isImpatient {
				require.Equal(t, hasAborted, outcome == recipes.Abort)
			}
		}
	}
	t.Log(outcomes)
	require.Zero(t, outcomes[recipes.Undecided])
}

func TestTwoPhaseCommit(t *testing.T) {
	root, c := rootOf(t), dial(t)
	tx := recipes.NewTwoPhaseCommit(c, root)
	require.ErrorIs(t, must.Err(tx.Ballot(within(t))), client.ErrNoNode)
	require.ErrorIs(t, tx.Begin(within(t), nil), client.ErrBadArguments)
	require.ErrorIs(t, tx.Begin(within(t), nil, "a/b"), client.ErrBadArguments)
	require.NoError(t, tx.Begin(within(t), []byte("q"), "b", "a"))
	require.NoError(t, tx.Begin(within(t), []byte("q"), "a", "b"), "the same again")
	require.ErrorIs(t, tx.Begin(within(t), []byte("other"), "a", "b"), recipes.ErrBusy)
	require.ErrorIs(t, tx.Begin(within(t), []byte("q"), "a", "c"), recipes.ErrBusy)
	require.ErrorIs(t, tx.Remove(within(t)), recipes.ErrUnfinished)
	require.ErrorIs(t, must.Err(tx.Vote(within(t), "a", recipes.Undecided)), client.ErrBadArguments)
	require.ErrorIs(t, must.Err(tx.Vote(within(t), "c", recipes.Commit)), client.ErrNoNode)
	vote := must.Do(tx.Vote(within(t), "a", recipes.Commit))(t)
	require.Equal(t, recipes.Commit, vote)
	vote = must.Do(tx.Vote(within(t), "a", recipes.Abort))(t)
	require.Equal(t, recipes.Commit, vote, "a vote stands")
	b := do(t, tx.Ballot)
	require.Equal(t, []string{"a", "b"}, b.Sites())
	require.Equal(t, recipes.Undecided, b.Outcome())

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, must.Err(tx.Outcome(ctx)), context.Canceled)
	site, end := expire(t)
	failed := make(chan error)
	go func() { failed <- must.Err(recipes.NewTwoPhaseCommit(site, root).Outcome(within(t))) }()
	end()
	require.ErrorIs(t, <-failed, client.ErrSessionExpired)
	require.Equal(t, recipes.Abort, do(t, tx.Decide), "b never voted")
	require.NoError(t, tx.Remove(within(t)))
	require.NoError(t, tx.Remove(within(t)), "gone already")

	require.NoError(t, tx.Begin(within(t), nil, "a"))
	must.Do(c.Set(within(t), root+"/a", []byte("maybe"), -1))(t)
	require.ErrorIs(t, must.Err(tx.Outcome(within(t))), recipes.ErrFormat)
}
