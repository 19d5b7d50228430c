package client

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// slowLink delays what is read from a connection by as long as a link of so many bytes a second needs.
type slowLink struct {
	net.Conn
	rate int
}

func (l slowLink) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	time.Sleep(time.Duration(n) * time.Second / time.Duration(l.rate))
	return n, err
}

// slowServer answers every request that has arrived whole.
func slowServer(nc net.Conn, timeout time.Duration, rate int) {
	nc = slowLink{nc, rate}
	err := accept(nc, timeout, 0)
	stat := new(proto.Stat).AppendTo(nil)
	for err == nil {
		var h proto.RequestHeader
		if h, err = readRequest(nc); err != nil {
			return
		}
		var body []byte
		if h.Type == proto.OpSetData {
			body = stat
		}
		err = answer(nc, h.Xid, body)
	}
}

// However much is to be written at once, a slow link does not cost the connection: neither the watches of a new one,
// nor many calls.
func TestMuchOverASlowLink(t *testing.T) {
	const timeout, rate, size = 4 * time.Second, 25e6 / 8, 24 << 20
	t.Run("watches", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := pipes(t, []Option{WithSessionTimeout(timeout)},
				func(nc net.Conn) { slowServer(nc, timeout, rate) },
				func(nc net.Conn) { slowServer(nc, timeout, rate) },
				func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
			defer time.Sleep(time.Second) // until the server has noticed
			defer c.Close()
			require.NoError(t, c.WaitConnected(t.Context()))
			long := strings.Repeat("x", 1000)
			for i := range size / len(long) {
				c.watches.activate(c.watches.add(fmt.Sprintf("/%s%d", long, i), watchData, newEventQueue(1), false))
			}
			first := c.s.now.Load()
			first.conn.fail(net.ErrClosed)
			<-first.changed
			require.NoError(t, c.WaitConnected(t.Context()))
			again := c.s.now.Load()
			require.NoError(t, c.Sync(t.Context(), "/"))
			require.True(t, c.s.now.Load() == again, "the connection has stayed")
		})
	})
	t.Run("calls", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := pipes(t, []Option{WithSessionTimeout(timeout), WithoutOutcomes()},
				func(nc net.Conn) { slowServer(nc, timeout, rate) })
			defer time.Sleep(time.Second) // until the server has noticed
			defer c.Close()
			data := make([]byte, 100<<10)
			var all []Future[Stat]
			for range size / len(data) {
				all = append(all, c.Async().Set(t.Context(), "/a", data, AnyVersion))
			}
			for i, f := range all {
				require.NoError(t, require.Err(f.Wait(t.Context())), "call %d", i)
			}
		})
	})
}
