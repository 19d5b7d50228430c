package single_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"

	"github.com/seed94657493/warren/recipes"
)

// All items in the queue before the first Take come in the order of their priorities, and in that of their numbers
// within one.
func TestPriorityQueueOrder(t *testing.T) {
	root := rootOf(t)
	q := recipes.NewPriorityQueue(dial(t), root+"/items", root+"/locks")
	require.Zero(t, do(t, q.Len))
	for i, priority := range []int32{3, -7, 0, 3, -2147483648, 2147483647, 0} {
		require.NoError(t, q.Put(within(t), priority, fmt.Appendf(nil, "%d#%d", priority, i)))
	}
	var got []string
	for range 7 {
		d := do(t, q.Take)
		got = append(got, string(d.Items[0]))
		require.NoError(t, d.Done(within(t)))
	}
	require.Equal(t, []string{"-2147483648#4", "-7#1", "0#2", "0#6", "3#0", "3#3", "2147483647#5"}, got)
}

// A consumer that waits for a distant time is told of an earlier one, and nothing is early.
func TestDelayQueueWaitsForTheEarliest(t *testing.T) {
	root := rootOf(t)
	q := recipes.NewDelayQueue(dial(t), root+"/items", root+"/locks")
	now := time.Now()
	require.NoError(t, q.Put(within(t), now.Add(time.Hour), []byte("late")))
	taken := make(chan *recipes.Delivery)
	consumer := newContestant(t)
	take := func() {
		taken <- attempt(t, recipes.NewDelayQueue(consumer.c, root+"/items", root+"/locks").Take)
	}
	go take()
	due := now.Add(300 * time.Millisecond)
	require.NoError(t, q.Put(within(t), due, []byte("soon")))
	require.NoError(t, q.Put(within(t), now.Add(-time.Second), []byte("past")))
	first := <-taken
	require.Equal(t, "past", string(first.Items[0]))
	require.NoError(t, first.Done(within(t)))
	go take()
	second := <-taken
	require.False(t, time.Now().Before(due))
	require.Equal(t, "soon", string(second.Items[0]))
	require.NoError(t, second.Done(within(t)))
	require.Equal(t, 1, do(t, q.Len), "the late one is there")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, must.Err(q.Take(ctx)), context.Canceled)
}

// The batch of a consumer whose session ends goes to another.
func TestQueuesGiveTheBatchOfTheDeadToAnother(t *testing.T) {
	for name, queue := range queues {
		t.Run(name, func(t *testing.T) {
			root := rootOf(t)
			put, take := queue(dial(t), root)
			require.NoError(t, put(within(t), []byte("a"), []byte("b")))
			c, end := expire(t)
			_, takeFirst := queue(c, root)
			dead := do(t, takeFirst)
			end()
			d := do(t, take)
			done(t, dead.Context().Done(), "the end of the first delivery")
			require.Equal(t, dead.Items, d.Items)
			require.Greater(t, d.Token(), dead.Token())
			require.NoError(t, dead.Release(within(t)))
			require.NoError(t, d.Context().Err(), "the release of the first is no business of the second")
			require.NoError(t, d.Done(within(t)))
			require.Empty(t, names(t, dial(t), root+"/items"))
			require.Empty(t, names(t, dial(t), root+"/locks"))
		})
	}
}
