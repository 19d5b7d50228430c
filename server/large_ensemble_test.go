package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

// Servers take from each other what they take from clients, however large jute.maxbuffer is.
func TestServersPassOnWhatClientsMaySend(t *testing.T) {
	const size = 65 << 20
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Configure: func(_ int, c *config.Config) {
		c.JuteMaxBuffer, c.JuteMaxBufferExtra = size+1024, 1024
	}})
	_, follower, _ := roles(t, e)
	connect(t, e, follower, wire.Options{}).MustCreate(t, "/large", make([]byte, size), proto.ModePersistent)
	require.NoError(t, e.WaitEqual(within(t)))
}
