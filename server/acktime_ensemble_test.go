package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

// A leader measures how long each of its followers takes to acknowledge.
func TestLeaderMeasuresAcks(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3,
		Configure: func(_ int, c *config.Config) { c.Quorum.AckLoggingFrequency = 2 }})
	leader := leaderOf(t, e)
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	c := connect(t, e, leader, wire.Options{})
	fill(t, c, "/acks-", 10)
	for _, id := range []string{"1", "2", "3"} {
		if id == string(rune('0'+leader)) {
			continue
		}
		require.Eventually(t, func() bool {
			text, err := wire.FourLetter(e.Addr(leader), "mntr", time.Minute)
			return err == nil && strings.Contains(text, "zk_cnt_"+id+"_ack_latency\t") &&
				!strings.Contains(text, "zk_cnt_"+id+"_ack_latency\t0\n")
		}, time.Minute, 10*time.Millisecond, id)
	}
}
