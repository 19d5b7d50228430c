package shell

import (
	"context"
	"os"
)

// UntilInterrupt returns a context in which a command counts as interrupted when a signal arrives.
func UntilInterrupt(ctx context.Context, interrupt <-chan os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-interrupt:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
