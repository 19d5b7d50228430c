package wal

import (
	"bytes"
	"hash/adler32"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecksumIsAdler32(t *testing.T) {
	rng := newRand(t, 1)
	for n := range 600 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		require.Equal(t, adler32.Checksum(b), checksum(b), "%d random bytes", n)
		b = bytes.Repeat([]byte{0xff}, n)
		require.Equal(t, adler32.Checksum(b), checksum(b), "%d times 0xff", n)
	}
	for _, n := range []int{5552, 1<<20 - 1, 1 << 20, 1<<20 + 9, 5<<20 + 3} {
		b := bytes.Repeat([]byte{0xff}, n)
		require.Equal(t, adler32.Checksum(b), checksum(b), "%d times 0xff", n)
	}
}

func FuzzChecksum(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(bytes.Repeat([]byte{0xff}, 1000))
	f.Fuzz(func(t *testing.T, b []byte) {
		require.Equal(t, adler32.Checksum(b), checksum(b))
	})
}
