package recipes

import (
	"context"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
)

// DelayQueue is a Queue whose batches are consumed from a given time on, the earliest first.
//
//	/path/queue-|18BCFE56800|0000000007    persistent; milliseconds since 1970 in hexadecimal, and the number
//	/locks/queue-|18BCFE56800|0000000007    ephemeral; a consumer processes the batch
//
// Guarantee: the same as Queue's, and no batch is taken before its time by the consumer's clock. It is taken at that
// time if a consumer waits, or when the next consumer asks. If clocks differ, times are wrong by the difference. The
// layout is that of Curator's DistributedDelayQueue with a lockPath. A DelayQueue has no state and may be used
// concurrently. Source: operations 9.2.
type DelayQueue struct{ batches batches }

// NewDelayQueue returns the queue at a path. Consumers lock items below locks, which must not be below the path.
func NewDelayQueue(c *client.Client, path, locks string, options ...Option) *DelayQueue {
	return &DelayQueue{newBatches(c, path, locks, byTime, options)}
}

// Put adds items, which are consumed together at a time, or soon if the time is past. Times are truncated to
// milliseconds. After an error that satisfies client.MayHaveApplied the items may be in the queue or not.
func (q *DelayQueue) Put(ctx context.Context, at time.Time, items ...[]byte) error {
	return q.batches.put(ctx, layouts.Item+timeText(at), items)
}

// timeText formats a time for a name: rounded up, so that no batch is taken early.
func timeText(at time.Time) string {
	ms := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return layouts.DueText(ms)
}

// byTime reads the part after the marker in the names of a DelayQueue.
func byTime(rest string) (entry, bool) {
	ms, seq, ok := layouts.Due(rest)
	return entry{key: ms, seq: seq, due: time.UnixMilli(ms)}, ok
}

// Len returns how many batches there are, including those that are not due and those that are being consumed.
func (q *DelayQueue) Len(ctx context.Context) (int, error) { return q.batches.len(ctx) }

// Take waits for a batch that is due and that no consumer processes, or until ctx ends. See Queue.Take.
func (q *DelayQueue) Take(ctx context.Context) (*Delivery, error) { return q.batches.take(ctx) }
