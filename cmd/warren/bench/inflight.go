package bench

// maxOutstanding bounds the requests in flight on one connection.
const maxOutstanding = 1 << 20

// inflight is the queue of requests of one connection that wait for their replies, which come in
// the order of the requests.
type inflight struct {
	ring       []flight // length is a power of two
	head, tail uint32   // tail-head requests wait
}

// flight is one request in flight.
type flight struct {
	at   int64 // ns since the fleet's start: when it was sent, or with a rate when it was due
	kind Kind
}

func (q *inflight) len() int { return int(q.tail - q.head) }

// grow makes room for n requests.
func (q *inflight) grow(n int) {
	size := 1
	for size < n {
		size *= 2
	}
	if size <= len(q.ring) {
		return
	}
	ring := make([]flight, size)
	k := q.len()
	for i := range k {
		ring[i] = q.ring[(q.head+uint32(i))&uint32(len(q.ring)-1)]
	}
	q.ring, q.head, q.tail = ring, 0, uint32(k)
}

// push appends f; there must be room.
func (q *inflight) push(f flight) {
	if q.len() == len(q.ring) {
		panic("bench: more requests in flight than there is room for")
	}
	q.ring[q.tail&uint32(len(q.ring)-1)] = f
	q.tail++
}

// pop removes the oldest; there must be one.
func (q *inflight) pop() flight {
	if q.head == q.tail {
		panic("bench: no request in flight")
	}
	f := q.ring[q.head&uint32(len(q.ring)-1)]
	q.head++
	return f
}
