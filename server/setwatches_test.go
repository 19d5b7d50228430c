package server

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestLongSetWatchesAreRegisteredInParts(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	events := make(chan string, 10)
	c := dialWire(t, s, wire.Options{Observe: func(p wire.Packet) {
		if p.Event != nil {
			events <- p.Event.Path
		}
	}})
	c.MustCreate(t, "/there", nil, proto.ModePersistent)
	paths := []string{"/there"} // it has come to be since: an event
	for i := range 10_000 {
		paths = append(paths, fmt.Sprintf("/absent/of/some/length/%d", i))
	}
	call := c.Send(wire.Create("/before", nil, wire.OpenACL, proto.ModePersistent))
	require.NoError(t, c.SetWatches(0, nil, paths, []string{}))
	require.NoError(t, call.Wait())
	require.Equal(t, "/there", <-events)
	require.Equal(t, len(paths)-1, s.front.CountWatches())

	body := make([]byte, 64<<10)
	body[8] = 0x7f // so many paths cannot follow
	rep := c.MustDo(t, wire.Request{Op: proto.OpSetWatches2, Body: body})
	require.ErrorIs(t, rep.Err(), proto.ErrMarshallingError)
}

// A null path is refused, as ZooKeeper does, however long the request is.
func TestNullPathsAreNotWatched(t *testing.T) {
	s, c := serveOne(t, memConfig())
	for _, op := range []proto.OpCode{proto.OpSetWatches, proto.OpSetWatches2} {
		lists := 3
		if op == proto.OpSetWatches2 {
			lists = 5
		}
		for list := range lists {
			for _, long := range []int{0, 64 << 10} {
				body := proto.AppendInt64(nil, 0)
				for i := range lists {
					switch {
					case i == list && long > 0:
						body = proto.AppendString(proto.AppendInt32(proto.AppendInt32(body, 2), -1),
							"/"+strings.Repeat("x", long))
					case i == list:
						body = proto.AppendInt32(proto.AppendInt32(body, 1), -1)
					default:
						body = proto.AppendInt32(body, 0)
					}
				}
				rep := c.MustDo(t, wire.Request{Op: op, Body: body})
				require.ErrorIs(t, rep.Err(), proto.ErrMarshallingError, "%v, list %d", op, list)
			}
		}
	}
	require.Zero(t, s.front.CountWatches())
}

// Missed events are not assembled faster than the client takes them.
func TestLongSetWatchesWaitForTheClient(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	nc := dialRaw(t, s)
	require.NoError(t, nc.SetReadBuffer(16<<10))
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	var paths []string
	for i := range 60_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i)) // each is deleted
	}
	go func() { _, _ = nc.Write(frame(nil, 7, wire.SetWatches(0, paths, nil, nil))) }()
	var c *serve.Conn
	require.Eventually(t, func() bool {
		waiting := false
		s.front.Conns.Each(func(one *serve.Conn) {
			c, waiting = one, one.View().Paused
		})
		return waiting
	}, hangGuard, time.Millisecond, "the reader waits")
	require.Less(t, c.View().Unsent, 2<<20)
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	for range paths {
		b := must.Do(wire.ReadFrame(nc))(t)
		require.Equal(t, proto.XidNotification, int32(binary.BigEndian.Uint32(b)))
	}
	b := must.Do(wire.ReadFrame(nc))(t)
	require.EqualValues(t, 7, binary.BigEndian.Uint32(b))
}

// A client that announces more watches than a connection may have is closed before they arrive.
func TestTooManyWatchesAreClosedWhenTheyAreAnnounced(t *testing.T) {
	cfg := memConfig()
	cfg.MaxWatches = 100_000
	s := serveMem(t, cfg, nil)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	b := frame(nil, 1, wire.SetWatches(0, make([]string, 100_001), nil, nil))
	require.Empty(t, closedWith(t, nc, b[:4+8+8+4]))
}

// The reader of a long setWatches ends if its connection ends meanwhile.
func TestLongSetWatchesOfAConnectionThatIsOver(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	b := frame(nil, 1, wire.SetWatches(0, nil, slices.Repeat([]string{"/absent"}, 100_000), nil))
	must.Do(nc.Write(b[:len(b)/2]))(t)
	require.Eventually(t, func() bool { return s.front.CountWatches() == 1 }, hangGuard, time.Millisecond)
	require.NoError(t, nc.Close())
	require.Eventually(t, func() bool { return s.front.CountWatches() == 0 && s.front.Conns.Len() == 0 }, hangGuard,
		time.Millisecond)
}

// A client is heard of while its list of watches arrives, which may take longer than its timeout.
func TestSessionLivesWhileItsWatchesArrive(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{TimeoutMs: 400})
	body := proto.AppendInt32(proto.AppendInt32(proto.AppendInt64(nil, 0), 0), 1<<10)
	for i := range 1 << 10 {
		body = proto.AppendString(body, fmt.Sprintf("/absent/of/some/length/%d", i))
	}
	body = proto.AppendInt32(body, 0)
	b := frame(nil, proto.XidSetWatches, wire.Request{Op: proto.OpSetWatches, Body: body})
	for pieces := 12; pieces > 0; pieces-- {
		n := len(b) / pieces
		must.Do(nc.Write(b[:n]))(t)
		b = b[n:]
		time.Sleep(100 * time.Millisecond) // the network is slow
	}
	reply := must.Do(wire.ReadFrame(nc))(t)
	require.Equal(t, uint32(0xfffffff8), binary.BigEndian.Uint32(reply))
	require.Equal(t, 1<<10, s.front.CountWatches())
}
