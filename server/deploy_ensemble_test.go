package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

// exported returns the names of the metrics on a server's admin port.
func exported(t *testing.T, s *server.Server) map[string]bool {
	t.Helper()
	resp, body := fetch(t, s, "/metrics", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	names := map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^[a-zA-Z_:]\w*`).FindAllString(string(body), -1) {
		names[name] = true
	}
	return names
}

// TestDeployedMetricsOnAnEnsemble scrapes the servers of an ensemble. The metrics in the alert rules and the
// dashboard exist on the leader, and on the others all except those that only a leader has.
func TestDeployedMetricsOnAnEnsemble(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1,
		Configure: func(_ int, c *config.Config) {
			c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", 0
		}})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	leader, follower, observer := roles(t, e)
	for _, id := range []int{leader, follower, observer} {
		c := connect(t, e, id, wire.Options{})
		if id == leader { // a quota, which has metrics of its own
			for _, path := range []string{"/zookeeper/quota/app", "/zookeeper/quota/app/zookeeper_limits",
				"/zookeeper/quota/app/zookeeper_stats"} {
				c.MustCreate(t, path, []byte("count=1,bytes=1"), proto.ModePersistent)
			}
		}
		fill(t, c, fmt.Sprintf("/metrics-%d-", id), 3)
		require.NoError(t, c.Sync("/"))
	}
	missing := func(id int) []string {
		names := exported(t, e.Server(id))
		read := server.DeployedMetrics(t)
		require.Greater(t, len(read), 30)
		// warren_finding exists while something is found; alerts that read it are tested in accidents.
		maps.DeleteFunc(read, func(name string, _ bool) bool { return names[name] || name == "warren_finding" })
		return slices.Sorted(maps.Keys(read))
	}
	// These exist after a hard quota has refused a request; in Prometheus itself; in what a backup writes for the node
	// exporter; in a program that logs to a pipe; on servers with TLS.
	others := []string{"quota_exceeded_error_per_namespace", "up", "warren_backup_last_success_timestamp_seconds",
		"warren_server_log_lines_lost_total", "warren_tls_certificate_expiry_timestamp_seconds",
		"warren_tls_quorum_certificate_expiry_timestamp_seconds"}
	require.Equal(t, others, missing(leader))
	ofLeader := append([]string{"leader_uptime", "learners", "pending_syncs", "synced_followers",
		"warren_zab_spare_voters"}, others...) // operations 2.3
	require.ElementsMatch(t, ofLeader, missing(follower))
	require.ElementsMatch(t, append(ofLeader, "synced_observers"), missing(observer))
}
