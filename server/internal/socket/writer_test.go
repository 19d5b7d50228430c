package socket

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// pair returns the two ends of a connection.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l := must.Listen(t)
	defer l.Close()
	near = must.Do(net.Dial("tcp", l.Addr().String()))(t)
	far = must.Do(l.Accept())(t)
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func TestWriteNowNeverWaits(t *testing.T) {
	near, far := pair(t)
	var w Writer
	sent := make([]byte, 16<<20) // more than any socket buffers
	_, _ = rand.Read(sent)
	n := must.Do(w.WriteNow(Raw(near), sent))(t)
	require.Positive(t, n)
	require.Less(t, n, len(sent))
	for { // the kernel may have moved some of it to the other end meanwhile
		more := must.Do(w.WriteNow(Raw(near), sent[n:]))(t)
		if n += more; more == 0 {
			break
		}
	}
	got := make([]byte, n)
	must.Do(io.ReadFull(far, got))(t)
	require.True(t, bytes.Equal(sent[:n], got))
}

func TestWriteNowFails(t *testing.T) {
	near, _ := pair(t)
	raw := Raw(near)
	require.NoError(t, near.Close())
	var w Writer
	require.ErrorIs(t, must.Err(w.WriteNow(raw, []byte("x"))), net.ErrClosed)
}

func TestRawOfNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	require.Nil(t, Raw(a))
}

func TestWriteNowDoesNotAllocate(t *testing.T) {
	near, far := pair(t)
	go func() { _, _ = io.Copy(io.Discard, far) }()
	var w Writer
	raw, b := Raw(near), []byte("ping")
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = w.WriteNow(raw, b) }))
}

// A port is bound at an IPv4 address of a name if it has one.
func TestToBind(t *testing.T) {
	require.Equal(t, "10.0.0.1", ToBind([]string{"::1", "10.0.0.1", "10.0.0.2"}))
	require.Equal(t, "::1", ToBind([]string{"::1", "::2"}))
}
