package server

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// TestInputDeliversEveryFrameHoweverItArrives feeds frames of all sizes in pieces of all sizes, with and without
// silence between them, and compares what comes out.
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
		var in input
		got := 0
		for rest := stream; got < len(sizes); {
			in.makeRoom()
			if in.acquire(); r.IntN(3) == 0 { // the socket is silent for a moment
				before := append([]byte(nil), in.bytes()...)
				in.release()
				if len(before) <= 1024 {
					require.True(t, in.buf == nil || len(in.buf) > inputBuffer, "a silent connection holds no buffer")
				}
				in.acquire()
				require.True(t, bytes.Equal(before, in.bytes()))
			}
			require.Less(t, in.w, len(in.buf), "there is room to read")
			n := min(len(rest), 1+r.IntN(min(len(in.buf)-in.w, 1<<r.IntN(18))))
			in.w += copy(in.buf[in.w:in.w+n], rest)
			rest = rest[n:]
			for {
				n, ok := in.peekLength()
				if !ok || in.w-in.r-4 < int(n) {
					break
				}
				require.EqualValues(t, sizes[got], n)
				require.Equal(t, int(n), bytes.Count(in.bytes()[4:4+n], []byte{byte(got + 1)}))
				in.r += 4 + int(n)
				got++
			}
			require.LessOrEqual(t, len(in.buf), max(inputBuffer, 2*(largest+4)), "memory follows what has arrived")
		}
		in.makeRoom()
		in.release()
		require.Nil(t, in.buf)
		in.free()
	}
}

// Frames of about the usual limit, one after the other, are received in memory that is used again.
func TestInputOfLargeFramesDoesNotAllocate(t *testing.T) {
	var in input
	receive := func() {
		in.acquire()
		binary.BigEndian.PutUint32(in.buf, proto.DefaultMaxBuffer)
		for in.w < 4+proto.DefaultMaxBuffer {
			in.makeRoom()
			in.w = min(len(in.buf), 4+proto.DefaultMaxBuffer)
		}
		in.r = in.w
		in.makeRoom()
		in.release()
	}
	receive()
	require.Less(t, testing.AllocsPerRun(50, receive), 4.0, "most buffers are there already")
}

func TestInputShrinksAfterALargeFrame(t *testing.T) {
	var in input
	in.acquire()
	for in.w < 1<<20 {
		in.w = len(in.buf)
		in.makeRoom()
	}
	require.GreaterOrEqual(t, len(in.buf), 1<<20)
	in.r = in.w - 10
	want := append([]byte(nil), in.bytes()...)
	in.makeRoom()
	require.Len(t, in.buf, inputBuffer)
	require.Equal(t, want, in.bytes())
	in.drop()
	require.Empty(t, in.bytes())
	in.free()
	require.Nil(t, in.buf)
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
	client, nc := tcpPair(t)
	c := newConn(New(memConfig(), Options{}).front, nc)
	done := make(chan error)
	go func() { done <- c.fill() }()
	_, err := client.Write([]byte("abc"))
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Equal(t, "abc", string(c.in.bytes()))
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	require.Error(t, c.fill(), "nothing arrives")
	require.Nil(t, c.in.buf)
	require.Equal(t, "abc", string(c.in.rest))
	_ = nc.SetReadDeadline(time.Time{})
	_, err = client.Write([]byte("def"))
	require.NoError(t, err)
	require.NoError(t, c.fill())
	require.Equal(t, "abcdef", string(c.in.bytes()))
}

// A connection that ends in the middle of a large frame, while it has its turn, keeps nobody else from his.
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
	require.Eventually(t, func() bool { return s.front.conns.len() == 0 && len(s.front.turns) == 0 }, hangGuard, time.Millisecond)
}
