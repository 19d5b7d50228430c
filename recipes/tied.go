package recipes

import "context"

// tied is a context that ends with others. They know the time (see client.WhileHeld), so they are asked whenever this
// one is: in a process that was stopped, a holder may go on before the goroutine that would end its context.
type tied struct {
	context.Context
	end context.CancelCauseFunc
	to  []context.Context
}

// tieTo returns a context with the parent's values and end that ends with others, too.
func tieTo(parent context.Context, to ...context.Context) (*tied, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(parent)
	return &tied{ctx, end, to}, end
}

// Err implements context.Context.
func (t *tied) Err() error {
	t.look()
	return t.Context.Err()
}

// Done implements context.Context.
func (t *tied) Done() <-chan struct{} {
	t.look()
	return t.Context.Done()
}

func (t *tied) look() {
	for _, other := range t.to {
		if other.Err() != nil {
			t.end(context.Cause(other))
		}
	}
}
