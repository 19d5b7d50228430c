package client

import (
	"context"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

// End is told what the caller of an operation is told: also that a transaction was refused, for which servers answer
// that the request as a whole has succeeded; and how long a call took that was never sent.
func TestHooksAreToldOfFailures(t *testing.T) {
	f := newFake(t)
	var ended []OpResult
	c := dial(t, f.addr(), WithHooks(Hooks{End: func(_ context.Context, r OpResult) { ended = append(ended, r) }}))
	ctx := within(t, time.Minute)
	refused := new(Txn).Create("/a", nil, Persistent).Delete("/none", AnyVersion)
	_, called := c.Commit(ctx, refused)
	_, awaited := c.Async().Commit(ctx, refused).Wait(ctx)
	require.Do(c.Commit(ctx, new(Txn).Create("/a", nil, Persistent)))(t)
	require.Len(t, ended, 3)
	for i, err := range []error{called, awaited} {
		require.ErrorIs(t, err, ErrNoNode)
		require.Equal(t, err, ended[i].Err)
	}
	require.NoError(t, ended[2].Err)

	f.stop()
	for st := range c.States(ctx) {
		if !st.State.IsConnected() {
			break
		}
	}
	const patience = 20 * time.Millisecond
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.ErrorIs(t, require.Err(c.Async().Sync(short, "/").Wait(ctx)), context.DeadlineExceeded)
	require.Len(t, ended, 4)
	require.LessOrEqual(t, patience/2, ended[3].Took)
}
