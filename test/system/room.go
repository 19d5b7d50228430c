package system

import (
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// incident is a fault that has happened.
type incident struct {
	kind     Fault
	server   int
	from, to time.Duration
}

// aftermath is how long a fault may have consequences.
const aftermath = 4 * time.Second

// full reports whether a disk was full at some time between two, or shortly before.
func (f *faults) full(from, to time.Duration) bool {
	return slices.ContainsFunc(f.past, func(i incident) bool { return i.kind == FullDisk && i.during(from, to) })
}

// during reports whether an incident may have had consequences at some time between two.
func (i incident) during(from, to time.Duration) bool { return i.from <= to && i.to+aftermath >= from }

// reign is a time at which a server was seen to lead.
type reign struct {
	server int
	epoch  int64
	at     time.Duration
}

// ruled is when the last leader that was seen until a time was seen first.
func (w *world) ruled(until time.Duration) (since time.Duration) {
	epoch := int64(-1)
	for _, r := range w.reigns {
		if r.epoch > epoch && r.at <= until {
			epoch, since = r.epoch, r.at
		}
	}
	return since
}

// refusals returns an error if a write was refused for lack of room although all voters but one had room, and the
// client was neither at that one nor was it the leader. Nothing else went wrong at that time. Slow tasks let
// followers leave their leader at any time, so runs with them say nothing.
func (w *world) refusals() error {
	if len(w.o.Features) > 0 || w.s.slow != "" {
		return nil
	}
	for _, c := range w.connections {
		for _, it := range c.items {
			if it.request == nil || it.err != proto.ErrNotReadOnly {
				continue
			}
			if one, only := w.onlyFull(it.request.sent, it.came); only && one != c.server {
				return broken(Room, "session %v, xid %d: a write to server %d is refused at %v, and only the disk "+
					"of server %d was full",
					c.session.id, it.request.xid, c.server, it.came, one)
			}
		}
	}
	return nil
}

// onlyFull returns the server whose full disk is all that went wrong at a time, if it was a follower, or if nothing
// went wrong.
func (w *world) onlyFull(from, to time.Duration) (one int, only bool) {
	for _, i := range w.faults.past {
		switch {
		case !i.during(from, to), i.kind == ClientCut, i.kind == WallJump:
		case i.kind != FullDisk, one != 0 && one != i.server, w.role(i.server) == config.Observer:
			return 0, false
		default:
			one = i.server
		}
	}
	led := slices.ContainsFunc(w.reigns, func(r reign) bool {
		return r.server == one && r.at >= from-2*aftermath && r.at <= to
	})
	return one, !led && w.o.Servers > 1
}
