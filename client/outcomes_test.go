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

// keepingServer serves one end of a pipe as pipeServer does, and lets calls outlive the connection. It ends after as
// many requests as it must read without an answer; -1 answers all.
func keepingServer(nc net.Conn, timeout time.Duration, unanswered int) {
	defer nc.Close()
	if _, err := readFrame(nc); err != nil {
		return
	}
	resp := proto.ConnectResponse{TimeOut: int32(timeout.Milliseconds()), SessionID: 7, HasReadOnly: true,
		Extensions: proto.ExtensionOutcomes}
	_, err := nc.Write(endFrame(resp.AppendTo(beginFrame(nil)), 0))
	for ; err == nil && unanswered != 0; unanswered = max(unanswered-1, -1) {
		var frame []byte
		if frame, err = readFrame(nc); err != nil || unanswered > 0 {
			continue
		}
		var h proto.RequestHeader
		_ = h.ReadFrom(frame)
		reply := proto.ReplyHeader{Xid: h.Xid, Zxid: 1}
		_, err = nc.Write(endFrame(reply.AppendTo(beginFrame(nil)), 0))
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
		_, err = kept.Wait(t.Context())
		require.NoError(t, err)
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
