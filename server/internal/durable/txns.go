package durable

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// errPurged means that the log does not hold txns any more that it is asked for.
var errPurged = errors.New("server: the log no longer holds the txns that a learner needs")

// Txns calls fn with the txns in (after, upTo] of the log, in order and without a gap, and returns errPurged if there
// are not all of them. No purge takes what is still to be read, but one may have come before. Any goroutine may call
// it.
func (s *Disk) Txns(after, upTo proto.Zxid, fn func(zxid proto.Zxid, payload []byte) error) error {
	it, err := s.WAL.Records(after + 1)
	switch {
	case errors.Is(err, wal.ErrGap): // nothing is wrong with the log here, as the text of err would say
		return fmt.Errorf("%w: the txns after %v", errPurged, after)
	case err != nil:
		return err
	}
	defer it.Close()
	for last := after; last < upTo; {
		r, err := it.Next()
		if err != nil {
			return fmt.Errorf("%w: %v of (%v, %v]: %w", errPurged, last, after, upTo, err)
		}
		if r.Zxid <= last {
			continue // logs of Java may contain a txn twice
		}
		if last == after && !s.adjoins(after, r.Zxid) {
			return fmt.Errorf("%w: the txns after %v", errPurged, after)
		}
		last = r.Zxid
		if err := fn(r.Zxid, r.Payload); err != nil {
			return err
		}
	}
	return nil
}

// adjoins reports whether next, the first txn that the log has above z, is known to be the one that follows z. At the
// beginning of an epoch the zxids do not say so: a purge may have taken the end of the epoch of z.
func (s *Disk) adjoins(z, next proto.Zxid) bool {
	if z == 0 || next == z+1 {
		return true
	}
	p, ok, err := s.WAL.Locate(z)
	return err == nil && ok && p.At == z
}
