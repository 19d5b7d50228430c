package sessions

import "github.com/seed94657493/warren/proto"

// ids gives out the ids of new sessions. An id has the server in its top byte and a number of 56 bits, the low bits
// of a count: the wall clock in ms when the server started, shifted left by 16, and one more for each session. The
// low bits come round after 34.8 years, next in 2039. Source: client-protocol 3.4.
//
// Invariant: as long as a server keeps its meta.db, it gives out no id twice, whatever its clock says. A client that
// comes back after its session has ended would otherwise get the session of another client, because the password is a
// function of the id. So the count only rises, an id is given out only when a base above it is durable, and the next
// life begins at that base, or at the wall clock if this is later.
type ids struct {
	server proto.SessionID // in the top byte, all other bits are 0
	from   int64           // the count of the next id
	base   int64           // the counts below it are reserved
}

const (
	numberBits = 56
	numbers    = 1<<numberBits - 1
	// wallMax bounds the wall clock, in ms, so that the count does not overflow: the year 4200.
	wallMax = 1 << 46
	// reserved is how many ids are reserved at a time: as many as the clock passes in 16 ms. So the count of a server
	// that starts again and again does not run ahead of the clock, and the clock is enough if meta.db is lost.
	reserved = 1 << 20
)

// newIDs begins at the wall clock or at base, whichever is later. No id is reserved.
func newIDs(server proto.ServerID, wallMs, base int64) ids {
	from := max(min(max(wallMs, 0), wallMax)<<16, base)
	return ids{server: proto.SessionID(server) << numberBits, from: from, base: from}
}

// next takes the next id. ok is false if none is reserved.
func (n *ids) next() (id proto.SessionID, ok bool) {
	for n.from < n.base {
		id = n.server | proto.SessionID(n.from&numbers)
		n.from++
		if id != 0 && id != proto.OwnerContainer {
			return id, true
		}
	}
	return 0, false
}

// own reports whether this server gives out ids such as id.
func (n *ids) own(id proto.SessionID) bool { return id&^numbers == n.server }

// passOver makes the next ids greater than id, which is in use. An id of another server is no concern of this one.
// Nor is an id that is greater by more than half of all numbers: it is of a time before the numbers came round, or of
// a server in Java, whose clock begins at 0 when the machine starts.
func (n *ids) passOver(id proto.SessionID) {
	used := n.from&^numbers | int64(id&numbers)
	if n.own(id) && used >= n.from && used-n.from < numbers/2 {
		n.from = used + 1
	}
}

// PassOver makes the ids of new sessions greater than those that each yields. Ids of the state are also of earlier
// lives whose base was lost.
func (t *Tracker) PassOver(each func(yield func(id proto.SessionID, timeoutMs int32))) {
	t.mu.Lock()
	defer t.mu.Unlock()
	each(func(id proto.SessionID, _ int32) { t.mu.ids.passOver(id) })
}

// Reserve reserves ids for new sessions when few are left: it calls keep with a base and uses the ids below it when
// keep has returned nil. Then that base must be durable. Only one goroutine at a time may call Reserve.
func (t *Tracker) Reserve(keep func(base int64) error) error {
	t.mu.Lock()
	from, base := t.mu.ids.from, t.mu.ids.base
	t.mu.Unlock()
	if base-from >= reserved/2 {
		return nil
	}
	base = from + reserved
	if err := keep(base); err != nil {
		return err
	}
	t.mu.Lock()
	t.mu.ids.base = base
	t.mu.Unlock()
	return nil
}
