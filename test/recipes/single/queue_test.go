package single_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// Producers and consumers whose links are cut and which give batches back: every item that was put is consumed.
func TestQueuesLoseNoItem(t *testing.T) {
	for name, queue := range queues {
		t.Run(name, func(t *testing.T) { loseNoItem(t, queue) })
	}
}

type (
	putter    = func(context.Context, ...[]byte) error
	taker     = func(context.Context) (*recipes.Delivery, error)
	openQueue = func(c *client.Client, root string) (put putter, take taker)
)

// queues are all that hand out batches.
var queues = map[string]openQueue{
	"queue": func(c *client.Client, root string) (put putter, take taker) {
		q := recipes.NewQueue(c, root+"/items", root+"/locks")
		return q.Put, q.Take
	},
	"priority": func(c *client.Client, root string) (put putter, take taker) {
		q := recipes.NewPriorityQueue(c, root+"/items", root+"/locks")
		return func(ctx context.Context, items ...[]byte) error { return q.Put(ctx, int32(rand.IntN(5)-2), items...) },
			q.Take
	},
	"delay": func(c *client.Client, root string) (put putter, take taker) {
		q := recipes.NewDelayQueue(c, root+"/items", root+"/locks")
		return func(ctx context.Context, items ...[]byte) error {
			return q.Put(ctx, time.Now().Add(rand.N(100*time.Millisecond)), items...)
		}, q.Take
	},
}

func loseNoItem(t *testing.T, queue openQueue) {
	root := rootOf(t)
	var mu sync.Mutex
	put, consumed := map[string]bool{}, map[string]int{}
	var producers, consumers sync.WaitGroup
	for i := range 3 {
		k := newLink(t)
		enqueue, _ := queue(dialAt(t, k.Addr()), root)
		producers.Go(func() {
			for n := range 15 {
				if n == 7 {
					k.LoseAnswer(1)
				}
				item := fmt.Sprint(i, "-", n)
				err := enqueue(within(t), []byte(item))
				if err != nil && !client.MayHaveApplied(err) {
					t.Errorf("put: %v", err)
				}
				mu.Lock()
				put[item] = err == nil
				mu.Unlock()
			}
		})
	}
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	for i := range 3 {
		k := newLink(t)
		_, take := queue(dialAt(t, k.Addr()), root)
		consumers.Go(func() {
			for n := 0; ; n++ {
				d, err := take(ctx)
				if errors.Is(err, context.Canceled) {
					return
				}
				if !assert.NoError(t, err, "take") {
					return
				}
				finish, isDone := d.Done, true
				switch {
				case n == 2+i:
					k.Shut()
					k.Open()
				case n == 6+i:
					k.LoseAnswer(int64(3 + i)) // of the two lists and the lock, or what follows them
				case n%4 == 3:
					finish, isDone = d.Release, false
				}
				assert.NoError(t, finish(within(t)), "finish")
				if isDone {
					mu.Lock()
					consumed[string(d.Items[0])]++
					mu.Unlock()
				}
			}
		})
	}
	producers.Wait()
	awaitChildren(t, dial(t), root+"/items", 0)
	cancel()
	consumers.Wait()
	for item, isSure := range put {
		if isSure {
			require.Positive(t, consumed[item], item)
		}
	}
	awaitChildren(t, dial(t), root+"/locks", 0) // one that a consumer had when it was told to end is deleted behind it
}

// The answer to the creation of the lock is lost. The consumer finds out that the lock is its own, and the batch is
// not stuck.
func TestQueueFindsItsLockWhenTheAnswerIsLost(t *testing.T) {
	root := rootOf(t)
	k := newLink(t)
	var lost atomic.Int32
	c := dialAt(t, k.Addr(), client.WithHooks(client.Hooks{End: func(_ context.Context, r client.OpResult) {
		if client.MayHaveApplied(r.Err) {
			lost.Add(1)
		}
	}}))
	q := recipes.NewQueue(c, root+"/items", root+"/locks")
	require.NoError(t, dial(t).CreateAll(within(t), root+"/locks"))
	require.NoError(t, q.Put(within(t), []byte("a")))
	k.LoseAnswer(3) // those of the two lists pass
	d := do(t, q.Take)
	require.EqualValues(t, 1, lost.Load())
	require.Equal(t, "a", string(d.Items[0]))
	require.NoError(t, d.Done(within(t)))
	require.Empty(t, names(t, c, root+"/items"))
	require.Empty(t, names(t, c, root+"/locks"))
}

// The batch of a consumer whose session ends goes to another, ahead of those behind it.
func TestQueueGivesTheBatchOfTheDeadToAnother(t *testing.T) {
	root := rootOf(t)
	q := recipes.NewQueue(dial(t), root+"/items", root+"/locks")
	require.NoError(t, q.Put(within(t), []byte("a"), []byte("b")))
	c, end := expire(t)
	dead := do(t, recipes.NewQueue(c, root+"/items", root+"/locks").Take)
	require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, dead.Items)
	taken := make(chan *recipes.Delivery)
	go func() { taken <- attempt(t, q.Take) }()
	end()
	d := <-taken
	done(t, dead.Context().Done(), "the end of the first delivery")
	require.Equal(t, dead.Items, d.Items)
	require.Greater(t, d.Token(), dead.Token())
	n := do(t, q.Len)
	require.Equal(t, 1, n)
	require.NoError(t, d.Done(within(t)))
	require.Zero(t, do(t, q.Len))
}

// A consumer whose session has ended says Done so late that another has consumed the batch, the empty queue is gone
// and a new one has begun, whose first batch has the same name. That one stays.
func TestLateDoneLeavesTheNextBatchOfThatName(t *testing.T) {
	root, other := rootOf(t), dial(t)
	q := recipes.NewQueue(other, root+"/items", root+"/locks")
	require.NoError(t, q.Put(within(t), []byte("old")))
	c, end := expire(t, client.WithRenewal(nil))
	late := do(t, recipes.NewQueue(c, root+"/items", root+"/locks").Take)
	former, _ := c.Session()
	end()
	require.Eventually(t, func() bool { now, _ := c.Session(); return now != former && c.State().State.IsConnected() },
		time.Minute, time.Millisecond)
	d := do(t, q.Take)
	require.NoError(t, d.Done(within(t)))
	require.NoError(t, other.Delete(within(t), root+"/items", client.AnyVersion)) // as servers delete empty containers
	require.NoError(t, q.Put(within(t), []byte("new")))
	require.Equal(t, []string{"queue-0000000000"}, names(t, other, root+"/items"))

	require.NoError(t, late.Done(within(t)))
	d = do(t, q.Take)
	require.Equal(t, [][]byte{[]byte("new")}, d.Items)
	require.NoError(t, d.Done(within(t)))
	require.Empty(t, names(t, other, root+"/items"))
}

func TestQueueLeavesWhatItDoesNotUnderstand(t *testing.T) {
	root, c := rootOf(t), dial(t)
	q := recipes.NewQueue(c, root+"/items", root+"/locks")
	require.NoError(t, c.CreateAll(within(t), root+"/items"))
	path := must.Do(c.Create(within(t), root+"/items/queue-", []byte("junk"), client.PersistentSequential))(t)
	_, err := q.Take(within(t))
	require.ErrorIs(t, err, recipes.ErrFormat)
	require.ErrorContains(t, err, path)
	require.Empty(t, names(t, c, root+"/locks"))
	require.Equal(t, 1, do(t, q.Len))
}
