package client

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// grant is accept that lets calls outlive the connection.
func grant(nc net.Conn, timeout time.Duration) error {
	return accept(nc, timeout, proto.ExtensionOutcomes)
}

// accept accepts the session of a client at the other end of a pipe.
func accept(nc net.Conn, timeout time.Duration, extensions int32) error {
	if _, err := readFrame(nc); err != nil {
		return err
	}
	resp := proto.ConnectResponse{TimeOut: int32(timeout.Milliseconds()), SessionID: 7, HasReadOnly: true,
		Extensions: extensions}
	_, err := nc.Write(endFrame(resp.AppendTo(beginFrame(nil)), 0))
	return err
}

// readRequest reads one request.
func readRequest(nc net.Conn) (h proto.RequestHeader, err error) {
	frame, err := readFrame(nc)
	if err == nil {
		err = h.ReadFrom(frame)
	}
	return h, err
}

func answer(nc net.Conn, xid int32, body []byte) error {
	reply := proto.ReplyHeader{Xid: xid, Zxid: 1}
	_, err := nc.Write(endFrame(append(reply.AppendTo(beginFrame(nil)), body...), 0))
	return err
}

// keepingServer serves one end of a pipe as pipeServer does, and lets calls outlive the connection. It ends after as
// many requests as it must read without an answer; -1 answers all.
func keepingServer(nc net.Conn, timeout time.Duration, unanswered int) {
	defer nc.Close()
	err := grant(nc, timeout)
	for ; err == nil && unanswered != 0; unanswered = max(unanswered-1, -1) {
		var h proto.RequestHeader
		if h, err = readRequest(nc); err == nil && unanswered < 0 {
			err = answer(nc, h.Xid, nil)
		}
	}
}

// Calls go on over a new connection, except for the last one, which its caller has given up meanwhile. The answers on
// the new connection count as contact all the same: a busy client keeps it, and what it holds.
func TestContactAfterCallsThatOutliveTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 9 * time.Second
		var dials atomic.Int32
		c, err := New("a:1", WithSessionTimeout(timeout), WithBackoff(0, 0),
			WithDialer(func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				if dials.Add(1) == 1 {
					go keepingServer(far, timeout, 2)
					return near, nil
				}
				time.Sleep(time.Second)
				go keepingServer(far, timeout, -1)
				return near, nil
			}))
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.WaitConnected(t.Context()))
		kept := c.Async().Sync(t.Context(), "/")
		hasty, giveUp := context.WithTimeout(t.Context(), time.Second/2)
		defer giveUp()
		require.ErrorIs(t, c.Sync(hasty, "/"), context.DeadlineExceeded)
		require.Do(kept.Wait(t.Context()))(t)
		require.EqualValues(t, 2, dials.Load())

		held, cancel := c.WhileHeld(t.Context())
		defer cancel()
		for range 30 {
			time.Sleep(time.Second)
			require.NoError(t, c.Sync(t.Context(), "/"))
			require.NoError(t, held.Err(), "a server has just answered")
		}
		require.EqualValues(t, 2, dials.Load())
	})
}

// A goroutine may write when the connection has just ended, and all of its calls were taken from it.
func TestWriteAfterTheEndOfAConnection(t *testing.T) {
	near, far := net.Pipe()
	require.NoError(t, far.Close())
	cn := newConn(near, frames{}, "a:1", time.Now(), time.Second, &config{})
	cn.keeps, cn.isWriting, cn.out = true, true, []byte("a request")
	cn.pending.push(&call{})
	cn.fail(net.ErrClosed)
	cn.drain()
	require.False(t, cn.flush())
	require.Zero(t, cn.sent)
	require.EqualValues(t, 1, len(cn.left), "it goes on over the next connection")
}

// pipes returns a client of servers at the other ends of pipes: one for each connection, the last one for all others.
func pipes(t *testing.T, options []Option, servers ...func(nc net.Conn)) *Client {
	var dials atomic.Int32
	c, err := New("a:1", append(options, WithBackoff(0, time.Millisecond),
		WithDialer(func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			serve := servers[min(int(dials.Add(1)), len(servers))-1]
			go func() {
				defer far.Close()
				serve(far)
			}()
			return near, nil
		}))...)
	require.NoError(t, err)
	return c
}

// A server may read its log for so long that the session would expire. The client lets it live, and connects without
// an answer in the end.
func TestOutcomesThatAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 9 * time.Second
		var offered time.Time
		c := pipes(t, []Option{WithSessionTimeout(time.Minute), WithConnectTimeout(time.Minute)},
			func(nc net.Conn) { keepingServer(nc, timeout, 1) },
			func(nc net.Conn) {
				if !offered.IsZero() && time.Since(offered) >= timeout {
					t.Errorf("the server was left alone for %v", time.Since(offered))
				}
				offered = time.Now()
				err := grant(nc, timeout)
				for err == nil {
					var h proto.RequestHeader
					if h, err = readRequest(nc); err == nil && h.Type != proto.OpOutcomes {
						err = answer(nc, h.Xid, nil)
					}
				}
			})
		defer c.Close()
		began := time.Now()
		_, err := c.Set(within(t, time.Hour), "/", nil, AnyVersion)
		require.ErrorIs(t, err, ErrConnectionLoss)
		require.True(t, MayHaveApplied(err))
		require.NoError(t, c.Sync(within(t, time.Hour), "/"))
		require.True(t, time.Since(began) <= 2*timeout, "it took %v", time.Since(began))
	})
}

// A write that was refused without a txn, for example because disks were full, has no outcome, although the next one
// has. To send it again would execute it late.
func TestWritesAreNotExecutedOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 9 * time.Second
		var again []proto.OpCode
		c := pipes(t, nil, func(nc net.Conn) { keepingServer(nc, timeout, 3) },
			func(nc net.Conn) {
				err := grant(nc, timeout)
				for err == nil {
					var h proto.RequestHeader
					var body []byte
					switch h, err = readRequest(nc); h.Type {
					case proto.OpOutcomes:
						body = (&proto.OutcomesResponse{Outcomes: []proto.Outcome{
							{Xid: 2, Zxid: 1, Body: (&proto.Stat{}).AppendTo(nil)}}}).AppendTo(nil)
					case proto.OpSetData:
						again = append(again, h.Type)
						body = (&proto.Stat{}).AppendTo(nil)
					}
					if err == nil {
						err = answer(nc, h.Xid, body)
					}
				}
			})
		defer c.Close()
		var sets [3]Future[Stat]
		for i := range sets {
			sets[i] = c.Async().Set(t.Context(), "/", nil, AnyVersion)
		}
		_, err := sets[0].Wait(t.Context())
		require.ErrorIs(t, err, ErrConnectionLoss)
		require.True(t, SafeToRetry(err))
		for _, f := range sets[1:] {
			require.Do(f.Wait(t.Context()))(t)
		}
		require.Equal(t, []proto.OpCode{proto.OpSetData}, again)
	})
}

// A caller may use its data for something else as soon as an asynchronous call was started.
func TestDataThatIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		var sent []proto.Text
		var granted []ACL
		c := pipes(t, nil, func(nc net.Conn) {
			_ = grant(nc, 9*time.Second)
			_, _ = readRequest(nc)
			_, _ = readRequest(nc)
			<-changed
		}, func(nc net.Conn) {
			err := grant(nc, 9*time.Second)
			for err == nil {
				var frame, body []byte
				if frame, err = readFrame(nc); err != nil {
					return
				}
				r := proto.NewReader(frame)
				xid := r.Int32()
				switch proto.OpCode(r.Int32()) {
				case proto.OpOutcomes:
					body = (&proto.OutcomesResponse{}).AppendTo(nil)
				case proto.OpCreate2:
					path := r.Text()
					sent = append(sent, r.Text())
					granted = readACL(&r)
					body = (&proto.Create2Response{Path: path}).AppendTo(nil)
				case proto.OpSetData:
					_ = r.Text()
					sent = append(sent, r.Text())
					body = (&proto.Stat{}).AppendTo(nil)
				}
				err = answer(nc, xid, body)
			}
		})
		defer c.Close()
		data := []byte("one")
		acl := OpenACL()
		created := c.Async().Create(t.Context(), "/a", data, Persistent, WithACL(acl...))
		copy(data, "two")
		acl[0].Perms = PermRead
		set := c.Async().Set(t.Context(), "/a", data, AnyVersion)
		copy(data, "new")
		close(changed)
		require.Do(created.Wait(t.Context()))(t)
		require.Do(set.Wait(t.Context()))(t)
		require.Equal(t, []proto.Text{proto.Text("one"), proto.Text("two")}, sent)
		require.Equal(t, OpenACL(), granted)
	})
}

// The end of a session does not wait for room, or for the next connection.
func TestCloseNeedsNoRoom(t *testing.T) {
	for name, isLeaving := range map[string]bool{"many requests": false, "the server is about to end": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipes(t, []Option{WithMaxOutstanding(1)}, func(nc net.Conn) {
					_ = grant(nc, 9*time.Second)
					waiting, err := readRequest(nc)
					if isLeaving {
						leave := proto.ReplyHeader{Xid: proto.XidPing, Zxid: proto.LeaveZxid}
						_, _ = nc.Write(endFrame(leave.AppendTo(beginFrame(nil)), 0))
					}
					for h := waiting; err == nil; h, err = readRequest(nc) {
						if h.Type == proto.OpCloseSession {
							_ = answer(nc, waiting.Xid, nil)
							_ = answer(nc, h.Xid, nil)
							return
						}
					}
				})
				waiting := c.Async().Sync(t.Context(), "/")
				synctest.Wait()
				require.NoError(t, c.Close())
				require.Do(waiting.Wait(t.Context()))(t)
			})
		})
	}
}
