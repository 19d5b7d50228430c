package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The closing word of the quorum protocol, and what follows it, is still there for the caller.
func TestStreamStopsBehindTheTerminator(t *testing.T) {
	for _, n := range []int{0, 1, 7, 3000} {
		want := sample(n)
		want.nodes[len(want.nodes)-1].data = make([]byte, 200_000)
		var b bytes.Buffer
		require.NoError(t, WriteStream(&b, want.source()))
		require.Equal(t, bodyOf(want), b.Bytes())
		b.WriteString("BenWasHere")
		for name, r := range map[string]io.Reader{
			"buffered":   bufio.NewReader(bytes.NewReader(b.Bytes())),
			"unbuffered": bytes.NewReader(b.Bytes()),
			"bytewise":   iotest.OneByteReader(bytes.NewReader(b.Bytes())),
		} {
			var got state
			require.NoError(t, ReadStream(r, &got), name)
			want.same(t, &got)
			require.Equal(t, "BenWasHere", string(must.ReadAll(t, r)), name)
		}
	}
}

func TestStreamThatBreaksOff(t *testing.T) {
	b := bodyOf(sample(5))
	for n := range b {
		err := ReadStream(bytes.NewReader(b[:n]), Discard)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "snapshot: stream is corrupt at byte ")

		reset := errors.New("connection reset")
		err = ReadStream(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(reset)), Discard)
		require.ErrorIs(t, err, reset)
		require.NotErrorIs(t, err, ErrCorrupt)
	}
}

func TestStreamWriteFails(t *testing.T) {
	pr, pw := io.Pipe()
	require.NoError(t, pr.Close())
	require.ErrorIs(t, WriteStream(pw, sample(3).source()), io.ErrClosedPipe)
}

// A false length costs no memory: absent bytes are not allocated.
func TestLengthsThatLie(t *testing.T) {
	b := append(make([]byte, 8), 0, 0, 0, 0, 0x3f, 0xff, 0xff, 0) // data of almost 1 GiB
	b = append(b, make([]byte, 1000)...)
	require.Less(t, allocated(func() {
		require.ErrorIs(t, ReadStream(bytes.NewReader(b), Discard), ErrCorrupt)
	}), uint64(200_000))
}
