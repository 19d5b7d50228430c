package recipes

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed94657493/warren/client"
)

// Errors of the recipes. All other errors are those of package client.
var (
	// ErrBusy is returned by the Try methods when another participant has possession.
	ErrBusy = errors.New("recipes: held by another")
	// ErrLost means that the znode of a recipe was deleted by another client, or ended with its session.
	ErrLost = errors.New("recipes: own znode is gone")
	// ErrReleased is the cause of a Hold's context after Release.
	ErrReleased = errors.New("recipes: released")
)

// again repeats an action that may be applied twice until it gets an answer or ctx ends. Operations wait for a
// connection by themselves, so this loop does not spin.
func again(ctx context.Context, f func(ctx context.Context) error) error {
	for {
		err := client.Retry(ctx, f)
		if !isUnknown(err) || ctx.Err() != nil {
			return err
		}
	}
}

// persist is again that also repeats an action while servers refuse writes, because their disks are full, because they
// have no quorum or because a quota is used up: what must be done in the end is done when they accept writes.
func persist(ctx context.Context, f func(ctx context.Context) error) error {
	for limit := refusedMin; ; limit = min(2*limit, refusedMax) {
		err := again(ctx, f)
		if !errors.Is(err, client.ErrNotReadOnly) && !errors.Is(err, client.ErrQuotaExceeded) {
			return err
		}
		select {
		case <-time.After(rand.N(limit)):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// The pauses of persist.
const (
	refusedMin = 10 * time.Millisecond
	refusedMax = time.Second
)

// renewed waits for the next session after the expiry of one, if the client opens another (client.WithRenewal). It
// returns any other error as it is.
func renewed(ctx context.Context, c *client.Client, err error) error {
	if errors.Is(err, client.ErrSessionExpired) {
		return c.WaitConnected(ctx) // ends with an error if there will be no further session
	}
	return err
}

// outliving runs an action that has no ephemeral while it waits. If the session expires meanwhile it runs again in the
// next one.
func outliving[T any](ctx context.Context, c *client.Client, f func() (T, error)) (T, error) {
	for {
		result, err := f()
		if !errors.Is(err, client.ErrSessionExpired) {
			return result, err
		}
		if err := renewed(ctx, c, err); err != nil {
			return result, err
		}
	}
}

// isUnknown reports whether a connection was lost during a write.
func isUnknown(err error) bool {
	return client.MayHaveApplied(err) && errors.Is(err, client.ErrConnectionLoss)
}

// isGone reports whether a session has ended, and its ephemerals with it.
func isGone(err error) bool {
	return errors.Is(err, client.ErrSessionExpired) || errors.Is(err, client.ErrClosed)
}
