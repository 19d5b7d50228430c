package recipes

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/client"
)

// DelayQueue is a Queue whose batches are consumed from a given time on, the earliest first.
//
//	/path/queue-|18BCFE56800|0000000007    persistent; milliseconds since 1970 in hexadecimal, and the number
//	/locks/queue-|18BCFE56800|0000000007    ephemeral; a consumer is at it
//
// Guarantee: that of Queue; and no batch is taken before its time by the clock of the consumer. It is taken then if a consumer waits, or
// as soon as one does. It breaks, by as much, where clocks differ. The layout is that of Curator's DistributedDelayQueue with a lockPath. A
// DelayQueue has no state and may be used concurrently. Source: operations 9.2.
type DelayQueue struct{ batches batches }

// NewDelayQueue returns the queue at a path. Consumers lock items below locks, which must not be below the path.
func NewDelayQueue(c *client.Client, path, locks string, options ...Option) *DelayQueue {
	return &DelayQueue{newBatches(c, path, locks, byTime, options)}
}

// Put adds items, to be consumed together at a time, or soon if it is past. Times count in milliseconds. An error that satisfies
// client.MayHaveApplied leaves open if they are in the queue.
func (q *DelayQueue) Put(ctx context.Context, at time.Time, items ...[]byte) error {
	return q.batches.put(ctx, itemMarker+timeText(at), items)
}

// timeText is how a time stands in a name: rounded up, so that nothing is early. Curator knows only times after 1970.
func timeText(at time.Time) string {
	ms := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return fmt.Sprintf("|%08X|", max(ms, 1))
}

// byTime reads what follows the marker in the names of a DelayQueue.
func byTime(rest string) (entry, bool) {
	rest, hasBar := strings.CutPrefix(rest, "|")
	digits, number, hasBars := strings.Cut(rest, "|")
	ms, err := strconv.ParseUint(digits, 16, 64)
	if !hasBar || !hasBars || err != nil || ms > math.MaxInt64 {
		return entry{}, false
	}
	return entry{key: int64(ms), due: time.UnixMilli(int64(ms))}.numbered(number)
}

// Len returns how many batches there are, with those that are not due and those that are being consumed.
func (q *DelayQueue) Len(ctx context.Context) (int, error) { return q.batches.len(ctx) }

// Take waits for a batch that is due and that nobody is at, or until ctx ends. See Queue.Take.
func (q *DelayQueue) Take(ctx context.Context) (*Delivery, error) { return q.batches.take(ctx) }
