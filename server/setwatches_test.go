package server

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/sessions"
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
	_, err := c.Create("/there", nil, proto.ModePersistent)
	require.NoError(t, err)
	paths := []string{"/there"} // it has come to be since: an event
	for i := range 3*serve.WatchesPerLock + 5 {
		paths = append(paths, fmt.Sprintf("/absent/of/some/length/%d", i))
	}
	call := c.Send(wire.Create("/before", nil, wire.OpenACL, proto.ModePersistent))
	require.NoError(t, c.SetWatches(0, nil, paths, []string{}))
	require.NoError(t, call.Wait())
	require.Equal(t, "/there", <-events)
	_, _, total := s.front.Watchers.Registry.Count()
	require.Equal(t, len(paths)-1, total)

	body := make([]byte, serve.LongSetWatches+1)
	body[8] = 0x7f // so many paths cannot follow
	rep, err := c.Do(wire.Request{Op: proto.OpSetWatches2, Body: body})
	require.NoError(t, err)
	require.ErrorIs(t, rep.Err(), proto.ErrMarshallingError)
}

// A null path is refused, as ZooKeeper does, however long the request is.
func TestNullPathsAreNotWatched(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{})
	for _, op := range []proto.OpCode{proto.OpSetWatches, proto.OpSetWatches2} {
		for list := range serve.WatchLists(op) {
			for _, long := range []int{0, serve.LongSetWatches} {
				body := proto.AppendInt64(nil, 0)
				for i := range serve.WatchLists(op) {
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
				rep, err := c.Do(wire.Request{Op: op, Body: body})
				require.NoError(t, err)
				require.ErrorIs(t, rep.Err(), proto.ErrMarshallingError, "%v, list %d", op, list)
			}
		}
	}
	_, _, total := s.front.Watchers.Registry.Count()
	require.Zero(t, total)
}

// watched is a path in one of the lists of a setWatches.
type watched struct {
	kind watch.Kind
	path string
}

// arrive feeds a body to an Arrival in pieces of n bytes, and returns the result.
func arrive(op proto.OpCode, body []byte, piece int) (a *serve.Arrival, found []watched) {
	a = &serve.Arrival{Op: op, Left: len(body), Lists: serve.WatchLists(op)}
	in := &serve.Input{}
	for !a.Over() {
		ok := true
		if a.Paths == 0 {
			ok = a.Head(in)
		} else {
			var path []byte
			if path, ok = a.Path(in, 1<<20); ok {
				found = append(found, watched{a.Kind, string(path)})
			}
		}
		if ok || a.Malformed {
			continue
		}
		n := min(piece, len(body))
		if n == 0 {
			panic("an arrival waits for more than there is")
		}
		in.Buf = append(slices.Clone(in.Bytes()), body[:n]...)
		in.R, in.W, body = 0, len(in.Buf), body[n:]
	}
	return a, found
}

// decodeWatches returns what the decoders of the records find in a body.
func decodeWatches(op proto.OpCode, body []byte) (relative proto.Zxid, found []watched, ok bool) {
	var req proto.SetWatches2
	var lists [][]proto.Text
	var err error
	if op == proto.OpSetWatches2 {
		err = req.ReadFrom(body)
		lists = [][]proto.Text{req.DataWatches, req.ExistWatches, req.ChildWatches, req.PersistentWatches,
			req.PersistentRecursiveWatches}
	} else {
		var old proto.SetWatches
		err = old.ReadFrom(body)
		req.RelativeZxid = old.RelativeZxid
		lists = [][]proto.Text{old.DataWatches, old.ExistWatches, old.ChildWatches}
	}
	for i, kind := range serve.WatchLists(op) {
		if err != nil || lists[i] == nil {
			return 0, nil, false
		}
		for _, path := range lists[i] {
			if path == nil {
				return 0, nil, false
			}
			found = append(found, watched{kind, string(path)})
		}
	}
	return req.RelativeZxid, found, true
}

// FuzzArrival feeds a body in pieces, and finds the same as the decoders of the records find in the whole body.
func FuzzArrival(f *testing.F) {
	f.Add([]byte{}, 1, false)
	f.Add(wire.SetWatches(7, []string{"/a", ""}, []string{"/bcd"}, nil).Body, 1, false)
	f.Add(wire.SetWatches2(7, nil, []string{"/a"}, nil, []string{"/p", "/q"}, []string{"/"}).Body, 3, true)
	f.Add(wire.SetWatches(7, []string{"/a"}, nil, nil).Body, 5, true)
	f.Add(append(make([]byte, 8), 0xff, 0xff, 0xff, 0xff), 2, false)
	f.Add(append(make([]byte, 8), 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0), 9, false)
	f.Fuzz(func(t *testing.T, body []byte, piece int, two bool) {
		if len(body) >= 1<<20 {
			return // a path may be too long
		}
		op := proto.OpSetWatches
		if two {
			op = proto.OpSetWatches2
		}
		relative, want, ok := decodeWatches(op, body)
		a, got := arrive(op, body, max(1, piece))
		require.Equal(t, !ok, a.Malformed)
		if ok {
			require.Equal(t, relative, a.Relative)
			require.Equal(t, want, got)
			require.Equal(t, len(want), a.Wanted)
		}
	})
}

func TestPathsThatNobodyCouldWatchAreMalformed(t *testing.T) {
	body := wire.SetWatches(0, []string{"/a", string(make([]byte, 1<<20+1))}, nil, nil).Body
	a, found := arrive(proto.OpSetWatches, body, 100)
	require.True(t, a.Malformed)
	require.Equal(t, []watched{{watch.Data, "/a"}}, found)
}

// readerOf is a connection that the test reads from instead of the reader goroutine, and the client's end of it.
func readerOf(t *testing.T, s *Server) (c *serve.Conn, client interface{ Write([]byte) (int, error) }) {
	client, nc := wire.Pair(t)
	c = serve.NewConn(s.front, nc)
	c.Session.Store(&sessions.Session{ID: 1})
	return c, client
}

// watchesOf is how many watches there are.
func watchesOf(s *Server) int {
	s.Store.Mu.Lock()
	defer s.Store.Mu.Unlock()
	_, _, n := s.front.Watchers.Registry.Count()
	return n
}

// A list of watches takes no more memory than the buffer of a socket, however long it is.
func TestLongSetWatchesTakeNoMemory(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c, client := readerOf(t, s)
	var paths []string
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i))
	}
	b := frame(nil, 1, wire.SetWatches(0, nil, paths, nil))
	go func() { _, _ = client.Write(b[:len(b)-1]) }()
	for watchesOf(s) < len(paths) { // all of them, before the end of the frame
		require.NoError(t, c.Fill())
		require.LessOrEqual(t, len(c.In.Buf), serve.InputBuffer)
		require.True(t, c.Process())
	}
	require.NotNil(t, c.Arriving)
	_, err := client.Write(b[len(b)-1:])
	require.NoError(t, err)
	for c.Arriving != nil {
		require.NoError(t, c.Fill())
		require.True(t, c.Process())
	}
	c.Unwatch()
	require.Zero(t, watchesOf(s))
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
	require.Less(t, c.View().Unsent, serve.OutputPause+200*serve.WatchesPerLock)
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	for range paths {
		b, err := wire.ReadFrame(nc)
		require.NoError(t, err)
		require.Equal(t, proto.XidNotification, int32(binary.BigEndian.Uint32(b)))
	}
	b, err := wire.ReadFrame(nc)
	require.NoError(t, err)
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
	_, err := nc.Write(b[:len(b)/2])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return watchesOf(s) == 1 }, hangGuard, time.Millisecond)
	require.NoError(t, nc.Close())
	require.Eventually(t, func() bool { return watchesOf(s) == 0 && s.front.Conns.Len() == 0 }, hangGuard,
		time.Millisecond)
}
