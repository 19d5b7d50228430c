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
//	/locks/queue-|18BCFE56800|0000000007    ephemeral; a consumer processes the batch
//
// Guarantee: that of Queue; and no batch is taken before its time by the clock of the consumer. It is taken at
// that time if a consumer waits, or when the next consumer asks. If clocks differ, times are wrong by the
// difference. The layout is that of Curator's DistributedDelayQueue with a lockPath. A DelayQueue has no state
// and may be used concurrently. Source: operations 9.2.
type DelayQueue struct{ batches batches }

// NewDelayQueue returns the queue at a path. Consumers lock items below locks, which must not be below the path.
func NewDelayQueue(c *client.Client, path, locks string, options ...Option) *DelayQueue {
	return &DelayQueue{newBatches(c, path, locks, byTime, options)}
}

// Put adds items, which are consumed together at a time, or soon if the time is past. Times count in
// milliseconds. After an error that satisfies client.MayHaveApplied the items may be in the queue or not.
func (q *DelayQueue) Put(ctx context.Context, at time.Time, items ...[]byte) error {
	return q.batches.put(ctx, itemMarker+timeText(at), items)
}

// timeText formats a time for a name: rounded up, so that no batch is taken early. Curator accepts only times
// after 1970.
func timeText(at time.Time) string {
	ms := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return fmt.Sprintf("|%08X|", max(ms, 1))
}

// byTime reads the part after the marker in the names of a DelayQueue.
func byTime(rest string) (entry, bool) {
	rest, hasBar := strings.CutPrefix(rest, "|")
	digits, number, hasBars := strings.Cut(rest, "|")
	ms, err := strconv.ParseUint(digits, 16, 64)
	if !hasBar || !hasBars || err != nil || ms > math.MaxInt64 {
		return entry{}, false
	}
	return entry{key: int64(ms), due: time.UnixMilli(int64(ms))}.numbered(number)
}

// Len returns how many batches there are, including those that are not due and those that are being consumed.
func (q *DelayQueue) Len(ctx context.Context) (int, error) { return q.batches.len(ctx) }

// Take waits for a batch that is due and that no consumer processes, or until ctx ends. See Queue.Take.
func (q *DelayQueue) Take(ctx context.Context) (*Delivery, error) { return q.batches.take(ctx) }
