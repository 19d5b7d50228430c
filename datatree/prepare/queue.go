package prepare

// queue is a first-in first-out ring that grows by doubling and then allocates no more. It can
// also drop what was added last, which is how a failed multi is undone.
type queue[T any] struct {
	ring       []T // a power of two long, or nil
	head, tail uint64
}

func (q *queue[T]) len() int { return int(q.tail - q.head) }

// front returns the oldest element of a queue that is not empty.
func (q *queue[T]) front() *T { return q.at(q.head) }

// at returns the element that was added as number i.
func (q *queue[T]) at(i uint64) *T { return &q.ring[i&uint64(len(q.ring)-1)] }

func (q *queue[T]) push(v T) {
	if q.len() == len(q.ring) {
		q.grow()
	}
	*q.at(q.tail) = v
	q.tail++
}

func (q *queue[T]) pop() { q.head++ }

// truncate drops the newest elements until the next one to be added is number tail.
func (q *queue[T]) truncate(tail uint64) { q.tail = tail }

func (q *queue[T]) grow() {
	bigger := queue[T]{ring: make([]T, max(64, 2*len(q.ring))), head: q.head, tail: q.tail}
	for i := q.head; i != q.tail; i++ {
		*bigger.at(i) = *q.at(i)
	}
	*q = bigger
}
