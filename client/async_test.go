package client

import (
	"context"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

// An answer that has arrived is told, also to a caller whose context has ended since.
func TestAnswerIsToldAfterTheEndOfAContext(t *testing.T) {
	c := dial(t, newFake(t).addr())
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	f := c.Async().Set(ctx, "/", []byte("x"), AnyVersion)
	<-f.Done()
	cancel()
	for range 100 {
		require.Do(f.Wait(ctx))(t)
	}
}
