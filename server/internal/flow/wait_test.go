package flow

import (
	"fmt"
	"math/rand/v2"
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
		kind QueuedKind
		body string
	}
	var q WaitQueue
	var model []entry
	most := 0
	for i := range int32(50_000) {
		if len(model) == 0 || r.IntN(100) < 50 && len(model) < 3000 {
			e := entry{i, QueuedKind(r.IntN(4)), fmt.Sprint("body", i)}
			q.Push(Queued{Xid: e.xid, Kind: e.kind}, []byte(e.body))
			model = append(model, e)
		} else {
			e, body := q.Front()
			require.Equal(t, model[0], entry{e.Xid, e.Kind, string(body)})
			q.Pop()
			model = model[1:]
		}
		require.Equal(t, len(model), q.Len())
		most = max(most, len(q.entries))
	}
	writes := 0
	for _, e := range model {
		if e.kind == QueuedWrite {
			writes++
		}
	}
	require.Equal(t, writes, q.writes)
	for q.Len() > 0 {
		q.Pop()
	}
	require.Zero(t, len(q.buf)+len(q.entries)+int(q.used)+q.writes)
}

func TestWaitQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	var q WaitQueue
	q.Push(Queued{}, []byte("0123456789"))
	for range 100_000 {
		q.Push(Queued{}, []byte("0123456789"))
		q.Pop()
	}
	require.LessOrEqual(t, cap(q.entries), 8192)
	require.LessOrEqual(t, cap(q.buf), 128<<10)
	allocs := testing.AllocsPerRun(1000, func() {
		q.Push(Queued{}, []byte("0123456789"))
		q.Pop()
	})
	require.Zero(t, allocs)
}

func TestBodiesThatWaitedAreForgottenWhileOthersWait(t *testing.T) {
	var q WaitQueue
	body := make([]byte, 1<<20)
	q.Push(Queued{Kind: QueuedWrite}, nil)
	for range 300 {
		q.Push(Queued{Kind: QueuedRead}, body)
		q.Push(Queued{Kind: QueuedWrite}, nil)
		q.Pop()
		q.Pop()
		require.LessOrEqual(t, cap(q.buf), 16<<20)
	}
}
