package serve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInFlightIsAQueue compares it with a slice, over many compactions.
func TestInFlightIsAQueue(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	type entry struct {
		xid  int32
		kind queuedKind
		body string
	}
	var q inFlight
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
		require.Equal(t, len(model), q.length())
		most = max(most, len(q.entries))
	}
	writes := 0
	for _, e := range model {
		if e.kind == queuedWrite {
			writes++
		}
	}
	require.Equal(t, writes, q.writes)
	for q.length() > 0 {
		q.pop()
	}
	require.Zero(t, len(q.buf)+len(q.entries)+int(q.used)+q.writes)
}

func TestInFlightThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	var q inFlight
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

func TestBodiesThatWaitedAreForgottenWhileOthersWait(t *testing.T) {
	var q inFlight
	body := make([]byte, 1<<20)
	q.push(queued{kind: queuedWrite}, nil)
	for range 300 {
		q.push(queued{kind: queuedRead}, body)
		q.push(queued{kind: queuedWrite}, nil)
		q.pop()
		q.pop()
		require.LessOrEqual(t, cap(q.buf), 16<<20)
	}
}
