package findings

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
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
		"":                   {},
		"critical digest":    {"digest_mismatches_count": 1},
		"error open-files":   {"open_file_descriptor_count": 81, "max_file_descriptor_count": 100},
		"warning open-files": {"open_file_descriptor_count": 1, "max_file_descriptor_count": 4095},
		"error open-files ": {"open_file_descriptor_count": 9, "max_file_descriptor_count": 64,
			"connections_refused_descriptors": 3, "connection_rejected": 3},
		"error open-files; notice connections-refused": {"open_file_descriptor_count": 9,
			"max_file_descriptor_count": 64, "connections_refused_descriptors": 3, "connection_rejected": 4},
		"warning many-watches":       {"watch_count": 2e6 + 1},
		"warning outstanding":        {"outstanding_requests": 1001},
		"warning fsync":              {"avg_fsynctime": 10.1},
		"warning fsync  ":            {"avg_fsynctime": 10.1, "cnt_fsynctime": syncsMin},
		"warning fsync ":             {"fsync_threshold_exceed_count": 1},
		"warning many-znodes":        {"znode_count": ZnodesWarn + 1},
		"error snapshot-errors":      {"snapshot_error_count": 1},
		"notice connections-refused": {"connection_rejected": 1},
		"notice credentials-refused": {"auth_failed_count": 1},
		"notice other-ensemble":      {"ensemble_auth_fail": 1},
		"notice tls-handshakes":      {"unsuccessful_handshake": 1},
	} {
		require.Equal(t, strings.TrimSpace(want), strings.Join(of(Numbers(having(numbers), 0, SinceStart)), "; "))
	}
	require.Empty(t, Numbers(having(map[string]float64{"open_file_descriptor_count": 80, "znode_count": ZnodesWarn,
		"max_file_descriptor_count": 5000, "outstanding_requests": 1000, "avg_fsynctime": 10}), 0, SinceStart))
	require.Empty(t, Numbers(having(map[string]float64{"avg_fsynctime": 900, "cnt_fsynctime": syncsMin - 1}), 0,
		SinceStart))
	require.Equal(t, []string{"warning fsync"}, of(Numbers(having(nil), 3, SinceStart)))
}

func TestPendingSyncs(t *testing.T) {
	require.Empty(t, PendingSyncs(having(map[string]float64{"pending_syncs": 100})))
	require.Equal(t, []string{"warning pending-syncs"},
		of(PendingSyncs(having(map[string]float64{"pending_syncs": 101}))))
}

func TestCertificate(t *testing.T) {
	for left, want := range map[time.Duration]string{-time.Second: "critical certificate", 0: "critical certificate",
		29 * 24 * time.Hour: "warning certificate", 31 * 24 * time.Hour: ""} {
		require.Equal(t, want, strings.Join(of(Certificate("the certificate", now.Add(left), now)), " "), left)
	}
	require.Empty(t, Certificate("none", time.Time{}, now))
}

func TestWhatIsAround(t *testing.T) {
	require.Empty(t, NextStart(nil))
	found := NextStart(errors.New("config: zoo.cfg:7: tickTime: bad\nzoo.cfg:8: initLimit: bad"))
	require.Equal(t, []string{"error config"}, of(found))
	require.Equal(t, "is running, but would not start again with its current configuration: zoo.cfg:7: tickTime: "+
		"bad; and more", found[0].What)
	require.Equal(t, []string{"warning backup"}, of(Backups(time.Time{}, now)))
	require.Equal(t, []string{"warning backup"}, of(Backups(now.Add(-49*time.Hour), now)))
	require.Empty(t, Backups(now.Add(-47*time.Hour), now))
	require.Equal(t, []string{"warning purge-errors"}, of(Purge(errors.New("no snapshot is whole"))))
	found = Purge(fmt.Errorf("snapshot: prune: %w",
		&fs.PathError{Op: "remove", Path: "/data/log.1", Err: fs.ErrPermission}))
	require.Equal(t, "old snapshots and logs cannot be removed, so its disk fills up: /data/log.1: permission denied",
		found[0].What)
	require.Empty(t, Purge(nil))
	require.Equal(t, []string{"warning memory"}, of(Memory(81, 100)))
	require.Empty(t, Memory(80, 100))
	require.Empty(t, Memory(1<<40, math.MaxInt64))
}

func TestRestarts(t *testing.T) {
	at := func(minutes ...int) (all []time.Time) {
		for _, m := range minutes {
			all = append(all, now.Add(-time.Duration(m)*time.Minute))
		}
		return all
	}
	require.Empty(t, Restarts(nil, now))
	require.Empty(t, Restarts(at(5, 4, 3, 2, 1), now), "that is no loop yet")
	require.Empty(t, Restarts(at(99, 11, 4, 3, 2, 1, 0), now), "it is over when the oldest of them are long ago")
	found := Restarts(at(99, 9, 4, 3, 2, 1, 0), now)
	require.Equal(t, []string{"error restarts"}, of(found))
	require.Equal(t, "ended unexpectedly and was started again 5 times within 10 minutes", found[0].What)
}

func TestConnectionLimit(t *testing.T) {
	require.Equal(t, []string{"warning connection-limit"},
		of(ConnectionLimit(map[string]int{"10.0.0.1": 47, "10.0.0.2": 48}, 60)))
	require.Empty(t, ConnectionLimit(map[string]int{"10.0.0.2": 48}, 0))
}

func TestNames(t *testing.T) {
	require.Empty(t, Names(nil))
	now := time.Now()
	ip := netip.MustParseAddr
	found := Names([]Name{
		{"zk1", []netip.Addr{ip("10.0.0.1"), ip("fd00::1")}, "the name server does not answer", now},
		{"zk2", nil, "the name server does not answer", now.Add(-time.Minute)}})
	require.Equal(t, []string{"warning name"}, of(found))
	require.Equal(t, "cannot resolve zk1 (10.0.0.1 fd00::1), zk2 (no address is known): the name server does not "+
		"answer. It keeps the last known addresses, and will not find a server that moves", found[0].What)
	require.Equal(t, now.Add(-time.Minute), found[0].Since)
}

func TestDisk(t *testing.T) {
	require.Empty(t, Disk(false, -1))
	require.Empty(t, Disk(false, FullSoon))
	require.Equal(t, []string{"warning disk-full"}, of(Disk(false, FullSoon-1)))
	require.Equal(t, []string{"error disk-full"}, of(Disk(true, time.Hour)))
}
