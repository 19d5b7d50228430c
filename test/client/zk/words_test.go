package zk_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client/zk"
)

func TestWordsOfAServer(t *testing.T) {
	c, _ := connect(t, address)
	servers := []string{address, "127.0.0.1:1"}
	require.Equal(t, []bool{true, false}, zk.FLWRuok(servers, time.Minute))
	stats, ok := zk.FLWSrvr(servers, time.Minute)
	require.False(t, ok)
	require.NoError(t, stats[0].Error)
	require.Equal(t, "3.9.1-warren", stats[0].Version)
	require.Equal(t, 2026, stats[0].BuildTime.Year(), "as servers since 3.9 write it")
	require.Equal(t, zk.ModeStandalone, stats[0].Mode)
	require.Error(t, stats[1].Error)
	clients, ok := zk.FLWCons(servers[:1], time.Minute)
	require.True(t, ok)
	found := false
	for _, one := range clients[0].Clients {
		require.NoError(t, one.Error)
		require.NotEqual(t, c.SessionID(), one.SessionID, "words show labels, because an id opens its session")
		if one.SessionID != 0 {
			found = true
			require.WithinDuration(t, time.Now(), one.Established, time.Minute)
		}
	}
	require.True(t, found)
}
