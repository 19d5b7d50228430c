package serve

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
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
		var in input
		got := 0
		for rest := stream; got < len(sizes); {
			in.makeRoom()
			if in.room(); r.IntN(3) == 0 { // the socket is silent for a moment
				before := append([]byte(nil), in.bytes()...)
				in.release()
				if len(before) <= 1024 {
					require.True(t, in.buf == nil || len(in.buf) > inputBuffer,
						"a silent connection holds no buffer")
				}
				in.room()
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
			require.LessOrEqual(t, len(in.buf), max(inputBuffer, 2*(largest+4)),
				"memory follows what has arrived")
		}
		in.makeRoom()
		in.release()
		require.Nil(t, in.buf)
		in.free()
	}
}

// Frames of about the default limit, one after the other, are received in memory that is reused.
func TestInputOfLargeFramesDoesNotAllocate(t *testing.T) {
	var in input
	receive := func() {
		in.room()
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
	in.room()
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

func TestIdleConnectionHoldsNoBuffer(t *testing.T) {
	client, nc := wire.Pair(t)
	r := newReader(newConn(newFront(), nc))
	done := make(chan error)
	go func() { done <- r.fill() }()
	must.Do(client.Write([]byte("abc")))(t)
	require.NoError(t, <-done)
	require.Equal(t, "abc", string(r.in.bytes()))
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	require.Error(t, r.fill(), "nothing arrives")
	require.Nil(t, r.in.buf)
	require.Equal(t, "abc", string(r.in.rest))
	_ = nc.SetReadDeadline(time.Time{})
	must.Do(client.Write([]byte("def")))(t)
	require.NoError(t, r.fill())
	require.Equal(t, "abcdef", string(r.in.bytes()))
}

// Clients that send a part of a large request each fill no more than a part of the memory. One alone may send any.
func TestPartsOfLargeRequestsAreBounded(t *testing.T) {
	front := newFront()
	front.inputs.most = 1 << 20
	// send reads size bytes of a request of a megabyte, on a new connection.
	send := func(size int) (*reader, error) {
		client, nc := wire.Pair(t)
		r := newReader(newConn(front, nc))
		written := make(chan struct{})
		go func() {
			defer close(written)
			_, _ = client.Write(append(binary.BigEndian.AppendUint32(nil, 1<<20-1), make([]byte, size)...))
		}()
		var err error
		for err == nil && len(r.in.bytes()) < 4+size {
			err = r.fill()
		}
		_ = nc.Close()
		<-written
		return r, err
	}
	first := must.Do(send(900 << 10))(t)
	require.NoError(t, must.Err(send(1000)), "small buffers do not count")
	second, err := send(900 << 10)
	require.ErrorIs(t, err, errInputs)
	second.cleanup()
	first.cleanup()
	require.Zero(t, front.inputs.total.Load())
	front.inputs.most = 1
	alone := must.Do(send(900 << 10))(t)
	alone.cleanup()
	require.Zero(t, front.inputs.total.Load())
}
