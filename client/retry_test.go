package client

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// Every create is applied, and its first answers are lost: one znode comes of it all the same.
func TestProtectedCreateMakesOneZnode(t *testing.T) {
	for _, mode := range []Mode{Persistent, EphemeralSequential} {
		f, c := faked(t, WithBackoff(0, 0))
		ctx := within(t, time.Minute)
		var losses atomic.Int32
		f.with(func() {
			f.loseReply = func(op proto.OpCode) bool { return op == proto.OpCreate2 && losses.Add(1) <= 2 }
		})
		path := require.Do(c.CreateProtected(ctx, "/lock-", []byte("me"), mode))(t)
		require.True(t, strings.HasPrefix(path, "/_c_"), path)
		require.Contains(t, path, "-lock-")
		names, _ := require.Do2(c.Children(ctx, "/"))(t)
		require.Equal(t, []string{path[1:]}, names)
		require.EqualValues(t, 1, losses.Load())
	}
}

// The request itself is lost: it is sent again.
func TestProtectedCreateRetries(t *testing.T) {
	f, c := faked(t, WithBackoff(0, 0))
	var cuts atomic.Int32
	f.with(func() {
		f.onRequest = func(op proto.OpCode, _ int) bool { return op != proto.OpCreate2 || cuts.Add(1) > 2 }
	})
	ctx := within(t, time.Minute)
	require.Do(c.CreateProtected(ctx, "/a", nil, Persistent))(t)
	names, _ := require.Do2(c.Children(ctx, "/"))(t)
	require.Len(t, names, 1)
	require.ErrorIs(t, require.Err(c.CreateProtected(ctx, "/none/a", nil, Persistent)), ErrNoNode)
	for _, path := range []string{"", "/", "a", "/a/"} {
		require.ErrorIs(t, require.Err(c.CreateProtected(ctx, path, nil, Persistent)), ErrBadArguments, path)
	}
}

// Without the parent there is no znode, so the outcome of a create below it is not unknown.
func TestProtectedCreateWithoutAParent(t *testing.T) {
	f, c := faked(t, WithBackoff(0, 0))
	var losses atomic.Int32
	f.with(func() {
		f.loseReply = func(op proto.OpCode) bool { return op == proto.OpCreate2 && losses.Add(1) <= 2 }
	})
	_, err := c.CreateProtected(within(t, time.Minute), "/none/a", nil, Persistent)
	require.ErrorIs(t, err, ErrNoNode)
	require.False(t, MayHaveApplied(err))
	require.EqualValues(t, 3, losses.Load())
}

// A caller that leaves while the outcome is unknown leaves nothing behind.
func TestAbandonedProtectedCreateIsCleanedUp(t *testing.T) {
	f, c := faked(t, WithBackoff(0, 0))
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	f.with(func() {
		f.loseReply = func(op proto.OpCode) bool {
			if op == proto.OpCreate2 {
				cancel()
			}
			return op == proto.OpCreate2
		}
	})
	_, err := c.CreateProtected(ctx, "/a", nil, Ephemeral)
	require.Error(t, err)
	require.True(t, MayHaveApplied(err))
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.tree) == 1
	}, time.Minute, time.Millisecond)
}

// A server that is too busy, or has too many watches, is not asked again and again without a pause by what follows
// its data.
func TestFollowersOfABusyServerPause(t *testing.T) {
	const busyFor, busyMost, most = 300 * time.Millisecond, 1000, 50
	for name, follow := range map[string]func(ctx context.Context, c *Client, busy func()) error{
		"Follow": func(ctx context.Context, c *Client, busy func()) error {
			busy()
			for _, err := range c.Follow(ctx, "/") {
				return err
			}
			return ctx.Err()
		},
		"Cache": func(ctx context.Context, c *Client, busy func()) error {
			k, err := c.NewCache(ctx, "/")
			if err != nil {
				return err
			}
			defer k.Close()
			busy()
			if _, err := c.Create(ctx, "/a", nil, Persistent); err != nil {
				return err
			}
			for change := range k.Changes(ctx) {
				if change.Node.Path == "/a" {
					return nil
				}
			}
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, c := faked(t)
			refused := 0
			require.NoError(t, follow(within(t, time.Minute), c, func() {
				end := time.Now().Add(busyFor)
				f.with(func() {
					f.refuse = func(op proto.OpCode) bool {
						isBusy := !op.IsWrite() && refused < busyMost && time.Now().Before(end)
						if isBusy {
							refused++
						}
						return isBusy
					}
				})
			}))
			f.with(func() {
				require.Greater(t, refused, 0)
				require.Less(t, refused, most)
			})
		})
	}
}

func TestDeleteSurely(t *testing.T) {
	f, c := faked(t, WithBackoff(0, 0))
	ctx := within(t, time.Minute)
	require.NoError(t, c.CreateAll(ctx, "/a"))
	var losses atomic.Int32
	f.with(func() { f.loseReply = func(op proto.OpCode) bool { return op == proto.OpDelete && losses.Add(1) <= 2 } })
	require.NoError(t, c.DeleteSurely(ctx, "/a"))
	require.NoError(t, c.DeleteSurely(ctx, "/a"))

	// With a context that is over, the client goes on in the background.
	require.NoError(t, c.CreateAll(ctx, "/b"))
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, c.DeleteSurely(over, "/b"), context.Canceled)
	require.Eventually(t, func() bool {
		_, exists, err := c.Exists(ctx, "/b")
		return err == nil && !exists
	}, time.Minute, time.Millisecond)
}

func TestSafeToRetry(t *testing.T) {
	for _, c := range []struct {
		err  error
		safe bool
	}{
		{nil, false},
		{&Error{Err: ErrConnectionLoss}, true},
		{&Error{Err: ErrConnectionLoss, MayHaveApplied: true}, false},
		{&Error{Err: ErrThrottled}, true},
		{&Error{Err: ErrNoNode}, false},
		{&Error{Err: context.Canceled}, false},
		{&Error{Err: ErrSessionExpired}, false},
	} {
		require.Equal(t, c.safe, SafeToRetry(c.err), "%v", c.err)
	}
}

// A caller that gave up sees that it did, and what went wrong before.
func TestRetryEndsWithBothErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Retry(ctx, func(context.Context) error {
		cancel()
		return &Error{Op: "getData", Path: "/a", Err: ErrConnectionLoss}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrConnectionLoss)
	require.False(t, SafeToRetry(err))
	for _, only := range []error{nil, ErrNoNode, context.Canceled} {
		require.Equal(t, only, Retry(ctx, func(context.Context) error { return only }))
	}
}

// With renewal, what must be done in the end, and what follows the ensemble, goes on although the session expires
// during a call.
func TestRenewalInTheMiddleOfACall(t *testing.T) {
	for name, run := range map[string]struct {
		op proto.OpCode
		do func(ctx context.Context, c *Client) error
	}{
		"DeleteSurely": {proto.OpDelete, func(ctx context.Context, c *Client) error {
			return c.DeleteSurely(ctx, "/a")
		}},
		"cleanup of CreateProtected": {proto.OpSync, func(ctx context.Context, c *Client) error {
			if _, err := c.Create(ctx, "/_c_1-b", nil, Persistent); err != nil {
				return err
			}
			c.deleteMarked(ctx, "/", "_c_1-")
			_, exists, err := c.Exists(ctx, "/_c_1-b")
			require.False(t, exists)
			return err
		}},
		"Follow": {proto.OpGetData, func(ctx context.Context, c *Client) error {
			for _, err := range c.Follow(ctx, "/a") {
				return err
			}
			return ctx.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			// The client connects again when the repeated call has begun to wait.
			repeated := make(chan struct{}, 100)
			isCut := false
			dialer := func(ctx context.Context, network, addr string) (net.Conn, error) {
				f.mu.Lock()
				mustWait := isCut
				f.mu.Unlock()
				if mustWait {
					select {
					case <-repeated:
					case <-ctx.Done():
					}
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			calls := 0
			c := dial(t, f.addr(), WithRenewal(nil), WithBackoff(0, 0), WithDialer(dialer), WithHooks(Hooks{
				Start: func(ctx context.Context, op, _ string) context.Context {
					if op == run.op.String() {
						if calls++; calls > 1 {
							return asked{ctx, repeated}
						}
					}
					return ctx
				}}))
			ctx := within(t, time.Minute)
			require.NoError(t, c.CreateAll(ctx, "/a"))
			f.with(func() {
				f.onRequest = func(op proto.OpCode, _ int) bool {
					if op == run.op && !isCut {
						isCut = true
						clear(f.sessions)
						return false
					}
					return true
				}
			})
			before, _ := c.Session()
			require.NoError(t, run.do(ctx, c))
			after, _ := c.Session()
			require.NotEqual(t, before, after)
		})
	}
}
