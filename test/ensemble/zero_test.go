package ensemble

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestNumberedFromZero runs an ensemble with the ids 0, 1 and 2, as many in the field have.
func TestNumberedFromZero(t *testing.T) {
	t.Parallel()
	numberedFromZero(t, of(cluster.Warren, 3)...)
}

// numberedFromZero lets each server of such an ensemble serve sessions, server 0 follow and lead, and a session that
// server 0 has made go on at another.
func numberedFromZero(t *testing.T, kinds ...cluster.Kind) {
	var o []cluster.Options
	for _, kind := range kinds {
		o = append(o, cluster.Options{Kind: kind,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8"}})
	}
	nodes := cluster.Ensemble(t, o...)
	for id, node := range nodes {
		node.Renumber(id)
	}
	cluster.Group(nodes...)
	for _, node := range nodes {
		if node.Kind() == cluster.Warren {
			node.Initialize()
		}
		node.Launch()
	}
	for id, node := range nodes {
		node.WaitServing()
		conn := wire.Open(t, node.Addr(), wire.Options{})
		require.EqualValues(t, id, conn.Session()>>56, "session %v of server %d", conn.Session(), id)
		conn.MustCreate(t, "/from", nil, proto.ModePersistentSequential)
		conn.Close()
	}

	// Server 0 comes to lead: of the two that run it alone has the newest txns.
	zero, one, two := nodes[0], nodes[1], nodes[2]
	one.Stop()
	zero.WaitServing()
	conn := wire.Open(t, zero.Addr(), wire.Options{})
	conn.MustCreate(t, "/without-1", nil, proto.ModeEphemeral)
	two.Stop()
	one.Launch()
	// Until it notices that server 2 is gone, it follows.
	cluster.Eventually(t, func() bool { return zero.Mode() == "leader" }, time.Minute,
		"server 0 does not come to lead")

	// The session that server 0 has made goes on at server 1.
	one.WaitServing()
	again := wire.Open(t, one.Addr(), conn.Resume())
	require.Equal(t, conn.Session(), again.Session())
	require.NoError(t, again.Sync("/"))
	again.MustGetData(t, "/without-1", false)
	conn.Close()
	again.Close()
}
