package recipes

import (
	"fmt"
	"slices"
	"time"
)

// Batch is what was seen of one batch of a queue. Times are those of a History, but for clocks on the wall.
type Batch struct {
	IsPut   bool      // it may be in the queue
	IsKnown bool      // it was acknowledged, so it is
	Due     time.Time // the zero value is never early
	Takes   []Take
	IsDone  bool  // a consumer has said so, whether it was heard or not
	DoneAt  int64 // when it was known to be gone, 0 if it was not
}

// Take is one delivery to a consumer.
type Take struct {
	Call int64     // when the consumer began to wait
	At   time.Time // when it had the batch
}

// Look is a consumer's choice while no other consumer could choose: the name of the batch that it took, and of those
// that were surely free from before to after it looked. Names sort as batches should be taken.
type Look struct {
	Taken string
	Free  []string
}

// JudgeBatches returns an error if a batch was lost, came from nowhere, came early, or came after it was done, in a
// queue that is empty by now.
func JudgeBatches(all map[int]*Batch) error {
	for number, b := range all {
		switch {
		case b.IsKnown && len(b.Takes) == 0:
			return fmt.Errorf("recipes: batch %d was lost", number)
		case b.IsKnown && !b.IsDone:
			return fmt.Errorf("recipes: batch %d was lost with a consumer that was not done", number)
		case !b.IsPut && len(b.Takes) > 0:
			return fmt.Errorf("recipes: batch %d was consumed and never put", number)
		}
		for _, take := range b.Takes {
			if b.DoneAt > 0 && take.Call > b.DoneAt {
				return fmt.Errorf("recipes: batch %d was done at %d and taken by somebody who came at %d", number,
					b.DoneAt, take.Call)
			}
			if take.At.Before(b.Due) {
				return fmt.Errorf("recipes: batch %d was taken %v before it was due", number, b.Due.Sub(take.At))
			}
		}
	}
	return nil
}

// JudgeLooks returns an error if a consumer took a batch although an earlier one was free.
func JudgeLooks(looks []Look) error {
	for _, l := range looks {
		if len(l.Free) > 0 && slices.Min(l.Free) < l.Taken {
			return fmt.Errorf("recipes: %s was taken while %s was free", l.Taken, slices.Min(l.Free))
		}
	}
	return nil
}
