package socket

// deafRepeats is how often TCP must have repeated the oldest bytes that are not acknowledged before the other side
// counts as deaf. On a fast network the repeats come 0.2 and 0.6 s after the bytes.
// Bytes that are lost three times, with the probe that TCP sends before it repeats four times, are rare even on a
// network that loses one of a hundred packets, and a follower that leaves for that reason is back at once.
const deafRepeats = 2

// Hearing finds out that the other side of a TCP connection is deaf: what is sent to it gets lost, and what it sends
// arrives. One goroutine at a time may use it. The zero value is ready.
//
// The other side is deaf if nothing more has been acknowledged although TCP has repeated the oldest bytes deafRepeats
// times, and the other side was heard before and after one of these. If it was silent at first, that many repeats
// must follow the moment in which it was heard. So a machine that stands still, and a network that loses both
// directions, make no side deaf: while that lasts nothing is heard, and when it is over the first repeat is
// acknowledged. A process that stands still does not make its side deaf either, because its kernel acknowledges.
type Hearing struct {
	last   Facts
	waits  bool // bytes wait that did so at the last look
	heard  bool // the other side was heard since they wait
	again  bool // and after one more repeat
	first  int  // how often the bytes had been repeated when the other side was heard first
	newest int  // and last
}

// silenceRepeats is how many repeats without a sign of the other side are a silence, after which all begins anew.
const silenceRepeats = 3

// Facts is what TCP knows of a connection.
type Facts struct {
	Unacked  int    // segments that were sent and are not acknowledged
	Sacked   int    // those of them that arrived out of order
	NoWindow bool   // the other side takes no bytes at present
	Repeats  int    // how often the oldest of them was repeated because nothing was heard of it
	Acked    uint64 // bytes that were acknowledged, ever
	Received uint32 // segments that were received, ever
}

// Deaf takes the present facts, and reports whether the other side is deaf. Looks should be 0.1 s apart: so long an
// acknowledgement of the last repeat is waited for.
func (h *Hearing) Deaf(f Facts) bool {
	last := h.last
	h.last = f
	switch {
	case f.Unacked == 0 || f.Sacked > 0 || f.NoWindow || f.Acked != last.Acked:
		*h = Hearing{last: f}
		return false
	case !h.waits:
		h.waits = true
		return false
	case f.Received == last.Received:
	case !h.heard || f.Repeats >= h.newest+silenceRepeats:
		h.heard, h.again, h.first, h.newest = true, false, f.Repeats, f.Repeats
	case f.Repeats > h.newest:
		h.again, h.newest = true, f.Repeats
	}
	enough := deafRepeats
	if h.first > 1 { // it was silent for longer than a packet that gets lost
		enough = h.first + deafRepeats
	}
	return h.again && f.Repeats == last.Repeats && f.Repeats >= enough
}
