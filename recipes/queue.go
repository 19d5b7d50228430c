package recipes

import (
	"context"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
)

// Queue hands items from producers to consumers, each at least once, oldest first.
//
//	/path/queue-0000000007     persistent; one batch of items
//	/path/queue-0000000008
//	/locks/queue-0000000007    ephemeral; a consumer processes the batch
//
// Guarantee: a batch that was put stays until a consumer calls Done; if the consumer dies or is cut off, another
// takes the batch when the session has expired. So no item is lost, and an item may be consumed twice: by a
// consumer that ended between the work and Done, or that went on although the Context of its Delivery had ended.
// A batch is begun before later ones, but several consumers may finish in any order. Every Put wakes all waiting
// consumers. All children are listed at once: a queue of tens of thousands needs a larger jute.maxbuffer, so it
// should be several queues. Layout and data are those of Curator's DistributedQueue with a lockPath. A Queue has
// no state and may be used concurrently. Source: operations 9.2.
type Queue struct{ batches batches }

// NewQueue returns the queue at a path. Consumers lock items below locks, which must not be below the path.
func NewQueue(c *client.Client, path, locks string, options ...Option) *Queue {
	return &Queue{newBatches(c, path, locks, inOrder, options)}
}

// inOrder reads the part after the marker in the names of a Queue: the number.
func inOrder(rest string) (entry, bool) {
	seq, ok := layouts.Number(rest)
	return entry{seq: seq}, ok
}

// Put appends items, which are consumed together. After an error that satisfies client.MayHaveApplied the items
// may be in the queue or not.
func (q *Queue) Put(ctx context.Context, items ...[]byte) error {
	return q.batches.put(ctx, layouts.Item, items)
}

// Len returns how many batches there are, including those that are being consumed.
func (q *Queue) Len(ctx context.Context) (int, error) { return q.batches.len(ctx) }

// Take waits for a batch that no consumer processes, or until ctx ends. A znode that holds no items is an error
// that wraps ErrFormat and names the znode; an operator has to look at it, so it stays. With client.WithRenewal the
// wait goes on under the next session.
func (q *Queue) Take(ctx context.Context) (*Delivery, error) { return q.batches.take(ctx) }
