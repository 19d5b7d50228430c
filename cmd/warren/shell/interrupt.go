package shell

import (
	"context"
	"os"
	"sync"
)

// UntilInterrupt returns a context in which a command counts as interrupted when a signal arrives. Once cancel has
// returned, signals are left to others.
func UntilInterrupt(ctx context.Context, interrupt <-chan os.Signal) (_ context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-interrupt:
			end(errInterrupted)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		end(context.Canceled)
		waiting.Wait()
	}
}
