package flow

import "sync"

// Pool keeps values for reuse. Any goroutine may use it.
type Pool[T interface{ Reset() }] struct{ p sync.Pool }

// NewPool returns a Pool that makes a value when it has none.
func NewPool[T interface{ Reset() }](make func() T) *Pool[T] {
	return &Pool[T]{p: sync.Pool{New: func() any { return make() }}}
}

// Get returns an empty value, which the caller owns.
func (p *Pool[T]) Get() T { return p.p.Get().(T) }

// Put empties a value and takes it back.
func (p *Pool[T]) Put(v T) {
	v.Reset()
	p.p.Put(v)
}
