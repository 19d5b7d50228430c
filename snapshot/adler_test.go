package snapshot

import (
	"hash/adler32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdlerBefore(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		b := make([]byte, rng.IntN(20_000))
		for i := range b {
			b[i] = byte(rng.Uint32()) | byte(rng.IntN(2)*0xff) // many 0xff: the sums wrap often
		}
		n := rng.IntN(len(b) + 1)
		require.Equal(t, adler32.Checksum(b[:n]), adlerBefore(adler32.Checksum(b), b[n:]))
	}
}
