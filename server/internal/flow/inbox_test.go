package flow

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
)

func TestInboxKeepsTheOrderOfEveryProducer(t *testing.T) {
	const producers, each = 8, 2000
	q := NewInbox[[2]int](sched.OS().Parker())
	var put sync.WaitGroup
	for p := range producers {
		put.Go(func() {
			for i := range each {
				if !q.Put([2]int{p, i}) {
					t.Errorf("refused")
				}
			}
		})
	}
	go func() { put.Wait(); q.Close() }()
	var next [producers]int
	var spare [][2]int
	for closed := false; !closed; {
		q.Wait()
		spare, closed = q.Take(spare)
		for _, v := range spare {
			require.Equal(t, next[v[0]], v[1])
			next[v[0]]++
		}
	}
	for _, n := range next {
		require.Equal(t, each, n)
	}
	require.False(t, q.Put([2]int{}))
	rest, closed := q.Take(nil)
	require.True(t, closed)
	require.Empty(t, rest)
}
