package flow

import (
	"sync"

	"github.com/seed94657493/warren/internal/sched"
)

// Inbox passes values from many producers to one consumer in batches: Take returns everything that was put while
// the consumer was busy. It is not bounded. Every producer bounds how many of its values are not answered yet.
type Inbox[T any] struct {
	mu struct {
		sync.Mutex
		items  []T
		closed bool
	}
	// wake has a token when the inbox is closed or has items, except for items that were added by Add and not
	// signalled.
	wake sched.Parker
}

// NewInbox returns an open Inbox, whose consumer waits with wake. Inboxes with the same consumer may share it.
func NewInbox[T any](wake sched.Parker) *Inbox[T] { return &Inbox[T]{wake: wake} }

// Wait waits until there may be something to take, or the inbox is closed. The consumer calls it.
func (q *Inbox[T]) Wait() { q.wake.Park() }

// Put adds v and wakes the consumer. It returns false if the inbox is closed.
func (q *Inbox[T]) Put(v T) bool {
	first, open := q.enter(v)
	if first {
		q.Signal()
	}
	return open
}

// Add adds v without waking the consumer. The caller takes everything itself afterwards, or calls Signal. It returns
// false if the inbox is closed.
func (q *Inbox[T]) Add(v T) bool {
	_, open := q.enter(v)
	return open
}

// enter adds v, and reports whether it is the first since the last Take.
func (q *Inbox[T]) enter(v T) (first, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return false, false
	}
	q.mu.items = append(q.mu.items, v)
	return len(q.mu.items) == 1, true
}

// Signal wakes the consumer. It does nothing if the consumer was signalled already.
func (q *Inbox[T]) Signal() { q.wake.Unpark() }

// Empty reports whether there is nothing to take.
func (q *Inbox[T]) Empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.items) == 0
}

// Take returns everything that was put, in order, and keeps spare as the next buffer. It does not block: the consumer
// calls Wait first.
func (q *Inbox[T]) Take(spare []T) (items []T, closed bool) {
	clear(spare)
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.mu.items = q.mu.items, spare[:0]
	return items, q.mu.closed
}

// Close makes Put and Add fail. Earlier values can still be taken.
func (q *Inbox[T]) Close() {
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.Signal()
}
