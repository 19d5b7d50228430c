package server

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/wire"
)

// TestInputDeliversEveryFrameHoweverItArrives feeds frames of all sizes in pieces of all sizes, with and without
// pauses between them, and compares the result.
func TestInputDeliversEveryFrameHoweverItArrives(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		var sizes []int
		var stream []byte
		largest := 0
		for i := range 1 + r.IntN(20) {
			size := r.IntN(1 << (4 + r.IntN(15)))
			sizes, largest = append(sizes, size), max(largest, size)
			stream = binary.BigEndian.AppendUint32(stream, uint32(size))
			stream = append(stream, bytes.Repeat([]byte{byte(i + 1)}, size)...)
		}
		var in serve.Input
		got := 0
		for rest := stream; got < len(sizes); {
			in.MakeRoom()
			if in.Acquire(); r.IntN(3) == 0 { // the socket is silent for a moment
				before := append([]byte(nil), in.Bytes()...)
				in.Release()
				if len(before) <= 1024 {
					require.True(t, in.Buf == nil || len(in.Buf) > serve.InputBuffer,
						"a silent connection holds no buffer")
				}
				in.Acquire()
				require.True(t, bytes.Equal(before, in.Bytes()))
			}
			require.Less(t, in.W, len(in.Buf), "there is room to read")
			n := min(len(rest), 1+r.IntN(min(len(in.Buf)-in.W, 1<<r.IntN(18))))
			in.W += copy(in.Buf[in.W:in.W+n], rest)
			rest = rest[n:]
			for {
				n, ok := in.PeekLength()
				if !ok || in.W-in.R-4 < int(n) {
					break
				}
				require.EqualValues(t, sizes[got], n)
				require.Equal(t, int(n), bytes.Count(in.Bytes()[4:4+n], []byte{byte(got + 1)}))
				in.R += 4 + int(n)
				got++
			}
			require.LessOrEqual(t, len(in.Buf), max(serve.InputBuffer, 2*(largest+4)),
				"memory follows what has arrived")
		}
		in.MakeRoom()
		in.Release()
		require.Nil(t, in.Buf)
		in.Free()
	}
}

// Frames of about the default limit, one after the other, are received in memory that is reused.
func TestInputOfLargeFramesDoesNotAllocate(t *testing.T) {
	var in serve.Input
	receive := func() {
		in.Acquire()
		binary.BigEndian.PutUint32(in.Buf, proto.DefaultMaxBuffer)
		for in.W < 4+proto.DefaultMaxBuffer {
			in.MakeRoom()
			in.W = min(len(in.Buf), 4+proto.DefaultMaxBuffer)
		}
		in.R = in.W
		in.MakeRoom()
		in.Release()
	}
	receive()
	require.Less(t, testing.AllocsPerRun(50, receive), 4.0, "most buffers are there already")
}

func TestInputShrinksAfterALargeFrame(t *testing.T) {
	var in serve.Input
	in.Acquire()
	for in.W < 1<<20 {
		in.W = len(in.Buf)
		in.MakeRoom()
	}
	require.GreaterOrEqual(t, len(in.Buf), 1<<20)
	in.R = in.W - 10
	want := append([]byte(nil), in.Bytes()...)
	in.MakeRoom()
	require.Len(t, in.Buf, serve.InputBuffer)
	require.Equal(t, want, in.Bytes())
	in.Drop()
	require.Empty(t, in.Bytes())
	in.Free()
	require.Nil(t, in.Buf)
}

// TestFramesSplitAnywhereOverASocket cuts a handshake and three requests at every byte.
func TestFramesSplitAnywhereOverASocket(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 10_000})
	stream := wire.AppendFrame(nil, req.AppendTo(nil))
	stream = frame(stream, 1, wire.SetData("/", []byte("x"), -1))
	stream = frame(stream, 2, wire.GetData("/", false))
	stream = frame(stream, proto.XidPing, wire.Request{Op: proto.OpPing})
	for split := 1; split < len(stream); split++ {
		nc := dialRaw(t, s)
		_ = nc.SetDeadline(time.Now().Add(hangGuard))
		_, err := nc.Write(stream[:split])
		require.NoError(t, err)
		if split%8 == 0 { // give the server time to park the first part
			require.NoError(t, dialOnce(s))
		}
		_, err = nc.Write(stream[split:])
		require.NoError(t, err)
		for _, xid := range []int32{0, 1, 2, proto.XidPing} {
			reply, err := wire.ReadFrame(nc)
			require.NoError(t, err, "split at %d", split)
			require.Equal(t, xid, int32(binary.BigEndian.Uint32(reply)))
		}
		_ = nc.Close()
	}
}

// dialOnce is a round trip to the server.
func dialOnce(s *Server) error {
	_, err := wire.FourLetter(s.Addr().String(), "ruok", hangGuard)
	return err
}

func TestIdleConnectionHoldsNoBuffer(t *testing.T) {
	client, nc := wire.Pair(t)
	c := serve.NewConn(New(memConfig(), Options{}).front, nc)
	done := make(chan error)
	go func() { done <- c.Fill() }()
	_, err := client.Write([]byte("abc"))
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Equal(t, "abc", string(c.In.Bytes()))
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	require.Error(t, c.Fill(), "nothing arrives")
	require.Nil(t, c.In.Buf)
	require.Equal(t, "abc", string(c.In.Rest))
	_ = nc.SetReadDeadline(time.Time{})
	_, err = client.Write([]byte("def"))
	require.NoError(t, err)
	require.NoError(t, c.Fill())
	require.Equal(t, "abcdef", string(c.In.Bytes()))
}

// A connection that ends in the middle of a large frame, while it has its turn, gives the turn back.
func TestTurnOfAConnectionThatEndsIsPassed(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	half := frame(nil, 1, wire.SetData("/", make([]byte, 1<<20-1000), -1))[:1<<20-100_000]
	for range 20 {
		nc := dialRaw(t, s)
		hello(t, nc, wire.Options{TimeoutMs: 60_000})
		_, err := nc.Write(half)
		require.NoError(t, err)
		require.NoError(t, nc.Close())
	}
	require.Eventually(t, func() bool { return s.front.Conns.Len() == 0 && len(s.front.Turns) == 0 }, hangGuard,
		time.Millisecond)
}
