package server

// fifo is a queue in one piece of memory that is used again. The zero value is empty.
type fifo[T any] struct {
	all  []T
	head int // elements before it are gone
}

func (q *fifo[T]) len() int { return len(q.all) - q.head }

func (q *fifo[T]) push(v T) {
	if len(q.all) == cap(q.all) && q.head > len(q.all)/2 {
		n := copy(q.all, q.all[q.head:])
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, v)
}

// front returns the oldest element, valid until the next call. REQUIRES: len() > 0.
func (q *fifo[T]) front() *T { return &q.all[q.head] }

// at returns the i-th oldest element, valid until the next call. REQUIRES: i < len().
func (q *fifo[T]) at(i int) *T { return &q.all[q.head+i] }

// pop removes the oldest element. REQUIRES: len() > 0.
func (q *fifo[T]) pop() {
	var none T
	q.all[q.head] = none
	q.head++
	if q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
}
