package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// Clients that ask for much and read nothing hold little more than a reply each, and the last of them is served when
// it reads.
func TestClientsThatReadNothingHoldLittle(t *testing.T) {
	const (
		clients, reply = 100, 1_000_000
		most           = 64<<20 + clients*(64<<10+reply+1000)
	)
	s := serveMem(t, memConfig(), nil)
	dialWire(t, s, wire.Options{}).MustCreate(t, "/big", make([]byte, reply), 0)
	var ask []byte
	for xid := range int32(20) {
		ask = frame(ask, 1+xid, wire.GetData("/big", false))
	}
	var last interface{ Read([]byte) (int, error) }
	for range clients {
		nc := dialRaw(t, s)
		require.NoError(t, nc.SetReadBuffer(16<<10))
		hello(t, nc, wire.Options{TimeoutMs: 60_000})
		must.Do(nc.Write(ask))(t)
		last = nc
	}
	held := func() (waiting, bytes int) {
		s.front.Conns.Each(func(c *serve.Conn) {
			v := c.View()
			if v.Paused {
				waiting++
			}
			bytes += v.Unsent
		})
		return waiting, bytes
	}
	require.Eventually(t, func() bool { n, _ := held(); return n == clients }, hangGuard, 50*time.Millisecond,
		"no further request is taken")
	_, bytes := held()
	t.Logf("%d MiB wait", bytes>>20)
	require.Less(t, bytes, most)

	for range 20 {
		require.Greater(t, len(must.Do(wire.ReadFrame(last))(t)), reply)
	}
}
