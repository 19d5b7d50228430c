package server

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWaitQueueIsAQueue compares it with a slice, over many compactions.
func TestWaitQueueIsAQueue(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	type entry struct {
		xid  int32
		kind queuedKind
		body string
	}
	var q waitQueue
	var model []entry
	most := 0
	for i := range int32(50_000) {
		if len(model) == 0 || r.IntN(100) < 50 && len(model) < 3000 {
			e := entry{i, queuedKind(r.IntN(4)), fmt.Sprint("body", i)}
			q.push(queued{xid: e.xid, kind: e.kind}, []byte(e.body))
			model = append(model, e)
		} else {
			e, body := q.front()
			require.Equal(t, model[0], entry{e.xid, e.kind, string(body)})
			q.pop()
			model = model[1:]
		}
		require.Equal(t, len(model), q.len())
		most = max(most, len(q.entries))
	}
	writes := 0
	for _, e := range model {
		if e.kind == queuedWrite {
			writes++
		}
	}
	require.Equal(t, writes, q.writes)
	for q.len() > 0 {
		q.pop()
	}
	require.Zero(t, len(q.buf)+len(q.entries)+int(q.used)+q.writes)
}

func TestWaitQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	var q waitQueue
	q.push(queued{}, []byte("0123456789"))
	for range 100_000 {
		q.push(queued{}, []byte("0123456789"))
		q.pop()
	}
	require.LessOrEqual(t, cap(q.entries), 8192)
	require.LessOrEqual(t, cap(q.buf), 128<<10)
	allocs := testing.AllocsPerRun(1000, func() {
		q.push(queued{}, []byte("0123456789"))
		q.pop()
	})
	require.Zero(t, allocs)
}

func TestInboxKeepsTheOrderOfEveryProducer(t *testing.T) {
	const producers, each = 8, 2000
	q := newInbox[[2]int]()
	var put sync.WaitGroup
	for p := range producers {
		put.Go(func() {
			for i := range each {
				if !q.put([2]int{p, i}) {
					t.Errorf("refused")
				}
			}
		})
	}
	go func() { put.Wait(); q.close() }()
	var next [producers]int
	var spare [][2]int
	for closed := false; !closed; {
		<-q.wake
		spare, closed = q.take(spare)
		for _, v := range spare {
			require.Equal(t, next[v[0]], v[1])
			next[v[0]]++
		}
	}
	for _, n := range next {
		require.Equal(t, each, n)
	}
	require.False(t, q.put([2]int{}))
	rest, closed := q.take(nil)
	require.True(t, closed)
	require.Empty(t, rest)
}
