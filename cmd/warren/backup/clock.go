package backup

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// errClockWentBack means that a time does not tell which txns are to be restored.
var errClockWentBack = errors.New("the times of the txns go back, so more than one moment of the backup had that time")

// passage is a moment at which the clock of the leaders passed a time: the txn is no later, the one behind it is. A
// backup that ends with a txn that is no later has a passage there, without a next one.
type passage struct {
	zxid, next     proto.Zxid
	timeMs, nextMs int64
}

func (p passage) String() string {
	s := fmt.Sprintf("--zxid %v, made at %s", p.zxid, clock(p.timeMs))
	if p.next == 0 {
		return s + ", is the last one"
	}
	return s + fmt.Sprintf(", is followed by %v of %s", p.next, clock(p.nextMs))
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// passages returns all moments at which the clock passed a time. A leader whose clock is ahead, or behind, and the
// next one whose clock is right make more than one. Logs that begin and end before the time are not read: if the clock
// was ahead for a while within one of them, that is over.
func (b *Backup) passages(ms int64) (all []passage, err error) {
	var at passage // the last txn, if it is no later
	var last proto.Zxid
	step := func(zxid proto.Zxid, timeMs int64) {
		switch {
		case zxid <= last:
			return
		case timeMs <= ms:
			at = passage{zxid: zxid, timeMs: timeMs}
		case at.zxid != 0:
			at.next, at.nextMs = zxid, timeMs
			all, at = append(all, at), passage{}
		}
		last = zxid
	}
	for log := range b.Manifest.of(KindLog) {
		if log.FirstTime <= ms && log.LastTime <= ms {
			step(proto.Zxid(log.First), log.FirstTime)
			step(proto.Zxid(log.Last), log.LastTime)
			continue
		}
		_, err := b.scan(log, func(r *wal.Record) error {
			var h proto.TxnHeader
			err := h.ReadFrom(r.Payload)
			step(r.Zxid, h.Time)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log.File, err)
		}
	}
	if at.zxid != 0 {
		all = append(all, at)
	}
	return all, nil
}

// passagesShown bounds how many moments an error names.
const passagesShown = 10

// checkClock refuses a time that does not tell which txns are meant: restoring too many brings back the accident, and
// too few loses writes.
func (b *Backup) checkClock(ms int64) error {
	all, err := b.passages(ms)
	if err != nil || len(all) < 2 {
		return err
	}
	var text strings.Builder
	for i, p := range all {
		if i == passagesShown {
			fmt.Fprintf(&text, "; and %d more", len(all)-i)
			break
		}
		fmt.Fprintf(&text, "; %v", p)
	}
	return fmt.Errorf("nothing to restore: %w; name the last txn instead%s", errClockWentBack, &text)
}
