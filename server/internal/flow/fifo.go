package flow

import "iter"

// FIFO is a queue in one piece of memory that is used again. The zero value is empty.
type FIFO[T any] struct {
	all  []T
	head int // elements before it are gone
}

// QueueOf returns the queue of a key. If there is none, it adds an empty one.
func QueueOf[K comparable, T any](queues map[K]*FIFO[T], key K) *FIFO[T] {
	q := queues[key]
	if q == nil {
		q = &FIFO[T]{}
		queues[key] = q
	}
	return q
}

// Len returns how many elements there are.
func (q *FIFO[T]) Len() int { return len(q.all) - q.head }

// Push adds an element at the end.
func (q *FIFO[T]) Push(v T) { *q.Next() = v }

// Next adds a zero element at the end and returns it, valid until the next call.
func (q *FIFO[T]) Next() *T {
	n := len(q.all)
	if n == cap(q.all) {
		q.room()
		n = len(q.all)
	}
	q.all = q.all[:n+1]
	return &q.all[n]
}

// room makes room for one element: it moves the elements to the front of the memory if half of it is free, else to
// more memory.
func (q *FIFO[T]) room() {
	n := q.Len()
	if q.head > len(q.all)/2 {
		copy(q.all, q.all[q.head:])
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
		return
	}
	var none T
	q.all = append(q.all, none)[:len(q.all)]
}

// Front returns the oldest element, valid until the next call. REQUIRES: Len() > 0.
func (q *FIFO[T]) Front() *T { return &q.all[q.head] }

// At returns the i-th oldest element, valid until the next call. REQUIRES: i < Len().
func (q *FIFO[T]) At(i int) *T { return &q.all[q.head+i] }

// All yields the elements, oldest first, each valid until the next call of another method.
func (q *FIFO[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range q.Len() {
			if !yield(q.At(i)) {
				return
			}
		}
	}
}

// Pop removes the oldest element. REQUIRES: Len() > 0.
func (q *FIFO[T]) Pop() {
	var none T
	q.all[q.head] = none
	q.head++
	if q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
}
