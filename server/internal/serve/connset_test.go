package serve

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// TestConnSetCounts adds and removes at random against a plain count.
func TestConnSetCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, limits := range [][2]int{{0, 0}, {3, 0}, {0, 10}, {4, 9}} {
		cs := newConnSet(limits[0], limits[1], func() int64 { return 0 })
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

// Addresses are remembered for as long as it takes until they have all of their requests again.
func TestConnSetForgetsAddresses(t *testing.T) {
	now := int64(time.Hour)
	cs := newConnSet(0, 0, func() int64 { return now })
	come := func(n int, asks bool) {
		c := &Conn{}
		c.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 1)
		must.Do(cs.add(c, false))(t)
		if asks {
			c.address.rate.Reserve(now, 1, 1)
		}
		cs.remove(c)
	}
	for n := range 1000 {
		come(n, true)
		come(n, false) // it comes and goes again
	}
	require.Len(t, cs.mu.perAddr, 1000)
	now += int64(2 * time.Second)
	for n := range 2000 {
		come(1000+n, false)
	}
	require.Empty(t, cs.mu.perAddr)
	require.Empty(t, cs.mu.left)
}
