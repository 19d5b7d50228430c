package server

import "sync"

// inbox hands values from many producers to one consumer in batches: whatever was put while the
// consumer was busy is taken at once. It is not bounded by itself; every producer bounds what it
// has put and not seen answered.
type inbox[T any] struct {
	mu struct {
		sync.Mutex
		items  []T
		closed bool
	}
	// wake holds a token whenever the inbox is closed or has items, and nobody who has added one is about to take it.
	wake chan struct{}
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{wake: make(chan struct{}, 1)} }

// put adds v and reports false if the inbox is closed.
func (q *inbox[T]) put(v T) bool {
	first, open := q.enter(v)
	if first {
		q.signal()
	}
	return open
}

// add is put by somebody who sees to it afterwards that everything is taken, or calls signal: it does not wake the consumer.
func (q *inbox[T]) add(v T) bool {
	_, open := q.enter(v)
	return open
}

// enter adds v, and reports whether it is the first since the consumer took the rest.
func (q *inbox[T]) enter(v T) (first, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return false, false
	}
	q.mu.items = append(q.mu.items, v)
	return len(q.mu.items) == 1, true
}

// signal wakes the consumer, if it does not know yet.
func (q *inbox[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// empty reports whether there was nothing to take.
func (q *inbox[T]) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.items) == 0
}

// take returns everything that was put, in order, and keeps spare as the next buffer. It does
// not block: receive from wake first.
func (q *inbox[T]) take(spare []T) (items []T, closed bool) {
	clear(spare)
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.mu.items = q.mu.items, spare[:0]
	return items, q.mu.closed
}

// close makes put fail; what was put before can still be taken.
func (q *inbox[T]) close() {
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.signal()
}
