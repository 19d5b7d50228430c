package client

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// pipeServer serves one end of a pipe: it accepts the session, tells of every ping and answers it if it is awake.
func pipeServer(nc net.Conn, timeout time.Duration, isAwake func() bool, onPing func()) {
	defer nc.Close()
	err := accept(nc, timeout, 0)
	for err == nil {
		var h proto.RequestHeader
		if h, err = readRequest(nc); err != nil {
			return
		}
		if h.Type == proto.OpPing {
			onPing()
		}
		if isAwake() {
			err = answer(nc, h.Xid, nil)
		}
	}
}

// A heartbeat after a third of the timeout in which nothing was sent; another server after two thirds in which
// nothing was heard.
func TestHeartbeatAndSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 9 * time.Second
		began := time.Now()
		var dialled []string
		var pings, dials []time.Duration
		isAwake := true
		var mu sync.Mutex
		read := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
		c, err := New("a:1,b:1", WithSessionTimeout(timeout), WithBackoff(0, 0),
			WithDialer(func(_ context.Context, _, addr string) (net.Conn, error) {
				near, far := net.Pipe()
				mu.Lock()
				defer mu.Unlock()
				dialled, dials = append(dialled, addr), append(dials, time.Since(began))
				isFirst := len(dialled) == 1
				go pipeServer(far, timeout,
					func() (awake bool) { read(func() { awake = isAwake || !isFirst }); return }, func() {
						if isFirst {
							read(func() { pings = append(pings, time.Since(began)) })
						}
					})
				return near, nil
			}))
		require.NoError(t, err)
		require.NoError(t, c.WaitConnected(t.Context()))
		time.Sleep(4 * time.Second) // of the bubble's clock: a ping at 3 s was answered
		require.NoError(t, c.Sync(t.Context(), "/"))
		synctest.Wait()
		read(func() { require.Equal(t, []time.Duration{3 * time.Second}, pings) })
		time.Sleep(2900 * time.Millisecond) // 6.9 s: silence since 4 s is no reason yet, the sync was a sign of life
		synctest.Wait()
		read(func() { require.Len(t, pings, 1) })
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		read(func() { require.Equal(t, []time.Duration{3 * time.Second, 7 * time.Second}, pings); isAwake = false })
		time.Sleep(5800 * time.Millisecond) // 12.9 s: the last bytes came at 7 s
		synctest.Wait()
		read(func() { require.Len(t, dialled, 1) })
		require.Equal(t, Connected, c.State().State)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		read(func() {
			require.Len(t, dialled, 2)
			require.NotEqual(t, dialled[0], dialled[1])
			require.Equal(t, 13*time.Second, dials[1])
		})
		require.Equal(t, Connected, c.State().State)
		require.NoError(t, c.Close())
	})
}

// A server that is silent from the start is given up like one that was heard.
func TestSilenceFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 9 * time.Second
		var dials atomic.Int32
		c, err := New("a:1,b:1", WithSessionTimeout(timeout), WithBackoff(0, 0),
			WithDialer(func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				isFirst := dials.Add(1) == 1
				go pipeServer(far, timeout, func() bool { return !isFirst }, func() {})
				return near, nil
			}))
		require.NoError(t, err)
		require.NoError(t, c.WaitConnected(t.Context()))
		time.Sleep(5900 * time.Millisecond)
		require.EqualValues(t, 1, dials.Load())
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, dials.Load())
		require.NoError(t, c.Close())
	})
}

// Bytes from the server do not prove that it has heard of the session: neither events, nor answers that were long
// on their way.
func TestHeldOnlyAsLongAsTheServerHasSurelyHeard(t *testing.T) {
	const timeout = 9 * time.Second
	for _, v := range []struct {
		name  string
		delay time.Duration // of the answers to pings; 0 is no answer
		ends  time.Duration // of what is held
	}{
		{"events only", 0, timeout},
		// Of the pings at 3 s, 6 s and so on only the first is answered.
		{"late answers", 5 * time.Second, 3*time.Second + timeout},
	} {
		t.Run(v.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				var pings atomic.Int32
				var mu sync.Mutex
				write := func(h proto.ReplyHeader, body []byte) {
					mu.Lock()
					defer mu.Unlock()
					_, _ = far.Write(endFrame(append(h.AppendTo(beginFrame(nil)), body...), 0))
				}
				isDead := func() bool { return false }
				go pipeServer(far, timeout, isDead, func() {
					if pings.Add(1) == 1 && v.delay > 0 {
						time.AfterFunc(v.delay, func() { write(proto.ReplyHeader{Xid: proto.XidPing}, nil) })
					}
				})
				event := (&proto.WatcherEvent{Type: proto.EventNodeDeleted, State: 3,
					Path: proto.Text("/a")}).AppendTo(nil)
				isFirst := true
				c, err := New("a:1",
					WithSessionTimeout(timeout), WithDialer(func(context.Context, string, string) (net.Conn, error) {
						if !isFirst {
							return nil, net.ErrClosed
						}
						isFirst = false
						return near, nil
					}))
				require.NoError(t, err)
				require.NoError(t, c.WaitConnected(t.Context()))
				began := time.Now()
				held, cancel := c.WhileHeld(t.Context())
				defer cancel()
				events, stop := context.WithCancel(t.Context())
				defer stop()
				go func() {
					for tick := time.NewTicker(time.Second); ; {
						select {
						case <-tick.C:
							write(proto.ReplyHeader{Xid: proto.XidNotification}, event)
						case <-events.Done():
							tick.Stop()
							return
						}
					}
				}()
				<-held.Done()
				require.Equal(t, v.ends, time.Since(began))
				require.Equal(t, Lost, c.State().State)
				stop()
				require.Error(t, c.Close())
			})
		})
	}
}

// A connection that lasted is followed by the next one at once, however often that happens; one that did not last
// is not.
func TestPauseAfterLostConnection(t *testing.T) {
	for _, v := range []struct {
		lasts, pause time.Duration // of each connection, and after the last one at most
		isPaused     bool
	}{
		{lasts: 1100 * time.Millisecond, pause: 20 * time.Millisecond},
		{lasts: 10 * time.Millisecond, isPaused: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			const n = 30
			var ended time.Time
			var longest time.Duration
			var dials atomic.Int32
			c, err := New("a:1,b:1",
				WithSessionTimeout(30*time.Second),
				WithDialer(func(context.Context, string, string) (net.Conn, error) {
					if !ended.IsZero() {
						longest = max(longest, time.Since(ended))
					}
					near, far := net.Pipe()
					go pipeServer(far, 30*time.Second, func() bool { return true }, func() {})
					if dials.Add(1) <= n {
						time.AfterFunc(v.lasts, func() { ended = time.Now(); far.Close() })
					}
					return near, nil
				}))
			require.NoError(t, err)
			for dials.Load() <= n {
				time.Sleep(time.Second)
			}
			if v.isPaused {
				require.Greater(t, longest, 500*time.Millisecond)
			} else {
				require.LessOrEqual(t, longest, v.pause+time.Millisecond)
			}
			require.NoError(t, c.Close())
		})
	}
}

// Without any server the session is Lost when nothing was heard for its timeout, and the client goes on looking,
// but not in a hurry.
func TestLostAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 6 * time.Second
		var dials atomic.Int32
		var far atomic.Pointer[net.Conn]
		c, err := New("a:1",
			WithSessionTimeout(timeout), WithDialer(func(context.Context, string, string) (net.Conn, error) {
				if dials.Add(1) > 1 {
					return nil, net.ErrClosed
				}
				near, server := net.Pipe()
				far.Store(&server)
				go pipeServer(server, timeout, func() bool { return true }, func() {})
				return near, nil
			}))
		require.NoError(t, err)
		require.NoError(t, c.WaitConnected(t.Context()))
		held, cancel := c.WhileHeld(t.Context())
		defer cancel()
		_ = (*far.Load()).Close()
		synctest.Wait()
		require.Equal(t, Disconnected, c.State().State)
		time.Sleep(5900 * time.Millisecond)
		require.Equal(t, Disconnected, c.State().State)
		require.NoError(t, held.Err())
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, Lost, c.State().State)
		require.ErrorIs(t, context.Cause(held), ErrSessionExpired)
		require.Less(t, dials.Load(), int32(60))
		time.Sleep(time.Minute)
		require.Equal(t, Lost, c.State().State)
		require.Error(t, c.Close()) // no server could be told
	})
}

// deafConn never gives up a read, as if its goroutine and its timer came late.
type deafConn struct{ net.Conn }

func (deafConn) SetReadDeadline(time.Time) error { return nil }

// A look at the context of a session tells in time, even if everything else comes late.
func TestHeldContextLooksAtTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 6 * time.Second
		c, err := New("a:1",
			WithSessionTimeout(timeout), WithDialer(func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go pipeServer(far, timeout, func() bool { return false }, func() {})
				return deafConn{near}, nil
			}))
		require.NoError(t, err)
		require.NoError(t, c.WaitConnected(t.Context()))
		held, cancel := c.WhileHeld(t.Context())
		defer cancel()
		connected, cancel := c.WhileConnected(t.Context())
		defer cancel()
		derived, cancel := context.WithCancel(connected)
		defer cancel()
		time.Sleep(timeout - time.Millisecond)
		require.NoError(t, held.Err())
		require.NoError(t, connected.Err())
		time.Sleep(time.Millisecond)
		require.Equal(t, Connected, c.State().State)
		require.ErrorIs(t, held.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(held), ErrSessionExpired)
		<-connected.Done()
		require.ErrorIs(t, context.Cause(derived), ErrSessionExpired)
		require.Error(t, c.Close())
	})
}
