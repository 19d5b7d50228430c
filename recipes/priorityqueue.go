package recipes

import (
	"context"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
)

// PriorityQueue is a Queue whose batches have priorities: the smallest is consumed first, and batches of equal
// priority oldest first.
//
//	/path/queue-0FFFFFFFE0000000009    persistent; a batch of priority -2
//	/path/queue-1000000050000000007    priority 5: sign (1 for zero and above), 8 hexadecimal digits, number
//	/locks/queue-0FFFFFFFE0000000009    ephemeral; a consumer processes the batch
//
// Guarantee: the same as Queue's, and a consumer begins with the first of the batches that were free when it read the
// list. A batch that comes a moment later may be more urgent. A stream of urgent batches starves the others. The
// layout is that of Curator's DistributedPriorityQueue with a lockPath. A PriorityQueue has no state and may be used
// concurrently. Source: operations 9.2.
type PriorityQueue struct{ batches batches }

// NewPriorityQueue returns the queue at a path. Consumers lock items below locks, which must not be below the path.
func NewPriorityQueue(c *client.Client, path, locks string, options ...Option) *PriorityQueue {
	return &PriorityQueue{newBatches(c, path, locks, byPriority, options)}
}

// Put adds items, which are consumed together. After an error that satisfies client.MayHaveApplied the items may
// be in the queue or not.
func (q *PriorityQueue) Put(ctx context.Context, priority int32, items ...[]byte) error {
	return q.batches.put(ctx, layouts.Item+layouts.PriorityText(priority), items)
}

// byPriority reads the part after the marker in the names of a PriorityQueue.
func byPriority(rest string) (entry, bool) {
	priority, seq, ok := layouts.Priority(rest)
	return entry{key: int64(priority), seq: seq}, ok
}

// Len returns how many batches there are, including those that are being consumed.
func (q *PriorityQueue) Len(ctx context.Context) (int, error) { return q.batches.len(ctx) }

// Take waits for a batch that no consumer processes, or until ctx ends. See Queue.Take.
func (q *PriorityQueue) Take(ctx context.Context) (*Delivery, error) { return q.batches.take(ctx) }
