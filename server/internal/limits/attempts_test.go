package limits

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSendersRunOutOfAttempts(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := NewGuesses()
	here, neighbour := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::ffff")
	for range GuessesMax {
		require.True(t, a.Take(here, now))
	}
	require.False(t, a.Take(neighbour, now), "the neighbours share the network")
	require.True(t, a.Take(netip.MustParseAddr("2001:db8:0:1::1"), now))
	a.GiveBack(neighbour)
	require.True(t, a.Take(here, now))
	now = now.Add(GuessEvery)
	require.True(t, a.Take(here, now))
	require.False(t, a.Take(here, now))
	require.False(t, a.Has(here, now))
	require.True(t, a.Has(netip.MustParseAddr("10.0.0.1"), now))

	mapped := netip.MustParseAddr("::ffff:10.0.0.1")
	require.Equal(t, Network(netip.MustParseAddr("10.0.0.1")), Network(mapped), "one machine, both ways to write it")
}

// Attempts that go on at once and fail are owed.
func TestFailuresBeyondTheAttemptsAreOwed(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := NewGuesses()
	here := netip.MustParseAddr("10.0.0.1")
	for range GuessesMax + 1000 {
		a.Fail(here, now)
	}
	require.False(t, a.Has(here, now.Add(debtMax*GuessEvery)))
	require.True(t, a.Has(here, now.Add((debtMax+1)*GuessEvery)))
}

func TestSendersThatAreRememberedAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := NewGuesses()
	for i := range 2 * sendersMax {
		now = now.Add(time.Microsecond)
		require.True(t, a.Take(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), now))
		require.LessOrEqual(t, len(a.mu.buckets), sendersMax)
	}
}
