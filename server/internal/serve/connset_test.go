package serve

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConnSetCounts adds and removes at random against a plain count.
func TestConnSetCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, limits := range [][2]int{{0, 0}, {3, 0}, {0, 10}, {4, 9}} {
		cs := newConnSet(limits[0], limits[1])
		var open []*Conn
		perAddr := map[netip.Addr]int{}
		reserved := 0
		for range 5000 {
			if len(open) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(open))
				c := open[i]
				open = slices.Delete(open, i, i+1)
				cs.remove(c)
				cs.remove(c)
				if c.reserved {
					reserved--
				} else {
					perAddr[c.Remote.Addr()]--
				}
				continue
			}
			c := &Conn{}
			c.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(5))}), uint16(r.IntN(65536)))
			full := limits[0] > 0 && perAddr[c.Remote.Addr()] >= limits[0] || limits[1] > 0 &&
				len(open)-reserved >= limits[1]
			got, err := cs.add(c, false)
			require.Equal(t, full && reserved >= wordReserve, err != nil)
			require.Equal(t, full && reserved < wordReserve, got)
			switch {
			case err != nil:
				continue
			case got:
				reserved++
			default:
				perAddr[c.Remote.Addr()]++
			}
			open = append(open, c)
			require.Equal(t, len(open), cs.Len())
		}
		n := 0
		cs.Each(func(c *Conn) { n++; cs.remove(c) })
		require.Equal(t, len(open), n)
		require.Zero(t, cs.Len()+len(cs.mu.perAddr)+cs.mu.reserved)
		require.Zero(t, cs.Len())
	}
}
