package stages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantilesAreWithinAnEighth(t *testing.T) {
	for us := int64(4); us < 3_000_000_000; us = us*9/8 + 1 {
		var s Spread
		s.observe(us * 1000)
		now := s.Counts()
		ms, ok := now.Quantile(&Counts{}, 0.5)
		require.True(t, ok)
		require.InEpsilon(t, float64(us)/1000, ms, 0.126, us)
	}
}

func TestQuantilesCountFromTheLastTime(t *testing.T) {
	var s Spread
	for range 1000 {
		s.observe(1_000_000)
	}
	before := s.Counts()
	_, ok := before.Quantile(&before, 0.5)
	require.False(t, ok, "nothing was counted since")
	for i := range 100 {
		s.observe(int64(i) * 1_000_000)
	}
	now := s.Counts()
	p50, _ := now.Quantile(&before, 0.5)
	p99, _ := now.Quantile(&before, 0.99)
	require.InEpsilon(t, 50, p50, 0.13)
	require.InEpsilon(t, 99, p99, 0.13)
	s.observe(-5) // a clock that went back
	s.observe(1 << 62)
}
