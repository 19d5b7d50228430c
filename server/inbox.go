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
	// wake holds a token whenever items is not empty or the inbox is closed.
	wake chan struct{}
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{wake: make(chan struct{}, 1)} }

// put adds v and reports false if the inbox is closed.
func (q *inbox[T]) put(v T) bool {
	if !q.add(v) {
		return false
	}
	q.signal()
	return true
}

// add is put by somebody who sees to it that v is taken: it does not wake the consumer.
func (q *inbox[T]) add(v T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return false
	}
	q.mu.items = append(q.mu.items, v)
	return true
}

// signal wakes the consumer, if it does not know yet.
func (q *inbox[T]) signal() {
	if len(q.wake) == 0 {
		select {
		case q.wake <- struct{}{}:
		default:
		}
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
