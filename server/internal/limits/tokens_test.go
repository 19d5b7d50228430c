package limits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
)

// bucketAt returns a bucket whose clock and random number the test controls.
func bucketAt(cfg config.ConnectionThrottle) (b *Tokens, advance func(time.Duration), luck *float64) {
	b = NewTokens(cfg, false)
	now := b.mu.filled
	b.now = func() time.Time { return now }
	luck = new(float64)
	b.random = func() float64 { return *luck }
	return b, func(d time.Duration) { now = now.Add(d) }, luck
}

// takes counts how many new sessions the bucket admits out of n.
func takes(b *Tokens, isNew bool, n int) (admitted int) {
	for range n {
		if b.Take(isNew) {
			admitted++
		}
	}
	return admitted
}

func TestTokensAreRefilledInProportionToTime(t *testing.T) {
	for name, tc := range map[string]struct {
		tokens, fill int
		per, gone    time.Duration
		want         int
	}{
		"nothing yet":            {10, 1, time.Second, time.Second, 0},
		"one":                    {10, 1, time.Second, time.Second + 1, 1},
		"fractions of fill time": {100, 10, time.Second, 1500 * time.Millisecond, 15},
		"to the brim":            {10, 3, time.Second, time.Hour, 10},
		// An overflow of elapsed time times count would refuse everything.
		"no overflow": {100, 1 << 30, time.Nanosecond, 100 * 24 * time.Hour, 100},
	} {
		t.Run(name, func(t *testing.T) {
			b, advance, _ := bucketAt(config.ConnectionThrottle{Tokens: tc.tokens, FillCount: tc.fill,
				FillTime: tc.per, FreezeTime: -1})
			require.Equal(t, tc.tokens, takes(b, true, tc.tokens+5))
			advance(tc.gone)
			require.Equal(t, tc.want, takes(b, true, tc.tokens+5))
		})
	}
}

func TestThrottleIsOffWithoutTokens(t *testing.T) {
	b, _, _ := bucketAt(config.ConnectionThrottle{FreezeTime: -1})
	require.Equal(t, 1000, takes(b, true, 1000))
}

func TestSessionsCostTheirWeight(t *testing.T) {
	cfg := config.ConnectionThrottle{Tokens: 4, FillCount: 1, FillTime: time.Second, FreezeTime: -1,
		WeightEnabled: true, GlobalSessionWeight: 3, RenewSessionWeight: 2}
	b, advance, _ := bucketAt(cfg) // 12 tokens
	require.Equal(t, 6, takes(b, false, 10))
	advance(2 * time.Second) // 6 more
	require.Equal(t, 2, takes(b, true, 10))

	cfg.LocalSessionWeight = 2
	local := NewTokens(cfg, true)
	local.now = b.now
	require.Equal(t, 6, takes(local, true, 10))
	cfg.LocalSessionWeight = 4 // the others cost no less
	require.Equal(t, 3, takes(NewTokens(cfg, false), true, 10))
	require.Equal(t, 3, takes(NewTokens(cfg, false), false, 10))
}

func TestConnectionsAreDroppedAtRandomWhenTheBucketIsEmpty(t *testing.T) {
	b, advance, luck := bucketAt(config.ConnectionThrottle{Tokens: 2, FillCount: 2, FillTime: time.Second,
		FreezeTime: 100 * time.Millisecond, DropIncrease: 0.5, DropDecrease: 0.25, DecreaseRatio: 0.5})
	*luck = 0.6
	require.Equal(t, 2, takes(b, true, 2))
	require.Zero(t, b.DropProbability())
	require.Zero(t, takes(b, true, 5), "empty")
	require.Equal(t, 0.5, b.DropProbability(), "nothing is changed more often than FreezeTime")
	advance(2 * time.Second)
	require.True(t, b.Take(true), "0.6 survives; the bucket is full, so the probability falls")
	require.Equal(t, 0.25, b.DropProbability())
	*luck = 0.2
	require.False(t, b.Take(true), "0.2 is dropped although there is a token")
	advance(200 * time.Millisecond)
	require.True(t, b.Take(true))
	require.Zero(t, b.DropProbability(), "half used is still within DecreaseRatio")
}
