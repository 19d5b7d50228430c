package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/limits"
)

// Many clients of one address that come back at once, and send little, take no more of its rate than they send.
func TestConnectionsReserveWhatTheySend(t *testing.T) {
	const limit, now = 3000, int64(time.Hour)
	var rate limits.Rate
	for range limit/10 + 1 { // as many as may come at once
		var p pacer
		require.True(t, p.mayAsk(now, &rate, limit))
		p.worked()
	}
	var busy, late pacer
	require.False(t, busy.mayAsk(now, &rate, limit))
	require.Equal(t, 1, busy.credit)
	for at := now; busy.credit <= limit/rateShares/2; busy.worked() {
		at += int64(time.Second)
		require.True(t, busy.mayAsk(at, &rate, limit))
	}
	require.LessOrEqual(t, busy.credit, limit/rateShares)
	require.False(t, late.mayAsk(now, &rate, limit))
	before := late.due
	busy.leave(&rate, limit)
	late.leave(&rate, limit)
	require.False(t, late.mayAsk(now, &rate, limit))
	require.Less(t, late.due, before, "what a connection has reserved and not used is for the others")
}
