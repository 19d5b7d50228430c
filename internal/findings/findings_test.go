package findings

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// of returns the checks and severities of findings, such as "error open-files".
func of(all []Finding) (names []string) {
	for _, f := range all {
		names = append(names, f.Severity.String()+" "+f.Check)
	}
	return names
}

// having is a server with these numbers.
func having(numbers map[string]float64) func(string) (float64, bool) {
	return func(name string) (float64, bool) {
		n, ok := numbers[name]
		return n, ok
	}
}

func TestNumbers(t *testing.T) {
	for want, numbers := range map[string]map[string]float64{
		"":                           {},
		"critical digest":            {"digest_mismatches_count": 1},
		"error open-files":           {"open_file_descriptor_count": 81, "max_file_descriptor_count": 100},
		"warning open-files":         {"open_file_descriptor_count": 1, "max_file_descriptor_count": 4095},
		"warning many-watches":       {"watch_count": 2e6 + 1},
		"warning outstanding":        {"outstanding_requests": 1000},
		"warning fsync":              {"avg_fsynctime": 10},
		"warning fsync ":             {"fsync_threshold_exceed_count": 1},
		"warning many-znodes":        {"znode_count": ZnodesWarn + 1},
		"error snapshot-errors":      {"snapshot_error_count": 1},
		"notice connections-refused": {"connection_rejected": 1},
		"notice credentials-refused": {"auth_failed_count": 1},
		"notice other-ensemble":      {"ensemble_auth_fail": 1},
		"notice tls-handshakes":      {"unsuccessful_handshake": 1},
	} {
		require.Equal(t, strings.TrimSpace(want), strings.Join(of(Numbers(having(numbers), 0)), "; "))
	}
	require.Empty(t, Numbers(having(map[string]float64{"open_file_descriptor_count": 80, "znode_count": ZnodesWarn,
		"max_file_descriptor_count": 5000, "outstanding_requests": 999, "avg_fsynctime": 9.9}), 0))
	require.Equal(t, []string{"warning fsync"}, of(Numbers(having(nil), 3)))
}

func TestQuorum(t *testing.T) {
	for _, c := range []struct {
		size, synced float64
		want         []string
	}{
		{3, 2, nil}, {3, 1, []string{"error no-spare"}}, {3, 0, []string{"critical no-quorum"}}, {1, 0, nil},
		{2, 1, nil}, {5, 3, nil}, {5, 2, []string{"error no-spare"}}, {4, 2, []string{"error no-spare"}},
	} {
		numbers := map[string]float64{"quorum_size": c.size, "synced_followers": c.synced}
		require.Equal(t, c.want, of(Quorum(having(numbers))), "%+v", c)
	}
	require.Empty(t, Quorum(having(map[string]float64{"quorum_size": 3})), "a follower does not know")
	require.Equal(t, []string{"warning pending-syncs"}, of(Quorum(having(map[string]float64{"quorum_size": 3,
		"synced_followers": 2, "pending_syncs": 101}))))
}

func TestDisk(t *testing.T) {
	require.Empty(t, Disk(false, -1))
	require.Empty(t, Disk(false, FullSoon))
	require.Equal(t, []string{"warning disk-full"}, of(Disk(false, FullSoon-1)))
	require.Equal(t, []string{"error disk-full"}, of(Disk(true, time.Hour)))
}
