package kept

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bodies of requests that are not answered keep their content, in whatever order the others are answered.
func TestBodiesAreKeptUntilTheyAreDropped(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a Bodies
	type one struct {
		body Body
		want byte
	}
	var all []one
	for i := range 50_000 {
		b := make([]byte, rng.IntN(200))
		if i%1000 == 0 {
			b = make([]byte, bodyChunkSize/4+rng.IntN(3))
		}
		for k := range b {
			b[k] = byte(i)
		}
		all = append(all, one{a.Keep(b), byte(i)})
		for len(all) > 0 && rng.IntN(100) < 50 {
			k := rng.IntN(min(len(all), 500))
			if got := all[k].body.Data; bytes.Count(got, []byte{all[k].want}) != len(got) {
				t.Fatalf("%x, not all %x", got, all[k].want)
			}
			a.Drop(all[k].body)
			all = append(all[:k], all[k+1:]...)
		}
	}
	require.LessOrEqual(t, len(a.free), bodiesFreeMax)
}
