package embed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/wire"
)

// breakLinks ends the connections of a server to the others, which may connect again.
func (e *Ensemble) breakLinks(id int) {
	n := e.network
	n.mu.Lock()
	var gone []*conn
	for c, w := range n.conns {
		if w.from == id {
			gone = append(gone, c)
		}
	}
	n.mu.Unlock()
	for _, c := range gone {
		_ = c.Close()
	}
}

// A follower that loses its link to the leader, and is back at the same one, keeps the connections of its clients,
// also in an epoch that has no txn yet.
func TestClientsOutliveALinkInAnEpochWithoutTxns(t *testing.T) {
	e := Start(t, Options{Servers: 3, TickTime: 4 * time.Second, Configure: func(_ int, c *config.Config) {
		c.ConnectionKeep = time.Minute // and no longer than the lease
	}})
	first, _ := leader(t, e)
	clients := map[int]*wire.Conn{}
	for _, id := range others(e, first) {
		clients[id] = dial(t, e, id, wire.Options{TimeoutMs: 60_000})
	}
	e.Kill(first)
	require.NoError(t, e.WaitServing(within(t), others(e, first)...))
	require.NoError(t, e.Start(first))
	require.NoError(t, e.WaitServing(within(t)))
	leads, _ := leader(t, e)
	delete(clients, leads)
	require.Len(t, clients, 1, "those of the follower that has not been restarted")
	for id, c := range clients {
		require.NoError(t, c.Ping(), "the connection has outlived the leader")
		searches := e.Server(id).Metrics.Quorum.Looking
		before := searches.Total()
		e.breakLinks(id)
		require.NoError(t, poll(within(t), "the end of the role", func() (bool, error) {
			return searches.Total() > before, nil
		}))
		require.NoError(t, e.WaitServing(within(t)))
		now, _ := leader(t, e)
		require.Equal(t, leads, now)
		require.NoError(t, c.Ping(), "the connection has outlived the link")
	}
}
