//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

const zookeeperJar = "/usr/share/java/zookeeper.jar"

// toolOutput runs a class of ZooKeeper's jar and returns its standard output.
func toolOutput(t *testing.T, class string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(programContext(t), "java",
		append([]string{"-Xmx128m", "-cp", zookeeperJar, "org.apache.zookeeper.server." + class}, args...)...)
	return utcOutput(t, cmd)
}

// ourOutput runs our binary and returns its standard output.
func ourOutput(t *testing.T, args ...string) string {
	t.Helper()
	return utcOutput(t, exec.CommandContext(programContext(t), cluster.Binary(t), args...))
}

func utcOutput(t *testing.T, cmd *exec.Cmd) string {
	var stderr bytes.Buffer
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8")
	cmd.Stderr = &stderr
	out := must.Do(cmd.Output())(t, "%v\n%s", cmd.Args, stderr.String())
	return string(out)
}

func fixture(t *testing.T, pattern string) string {
	t.Helper()
	found := must.Glob(t, filepath.Join("..", "testdata", "fixtures", "zookeeper-3.8", pattern))
	require.Len(t, found, 1, pattern)
	return found[0]
}

// TestTxnLogToolkit compares dumps byte for byte, but for the name of one operation, which 3.9 spells otherwise.
func TestTxnLogToolkit(t *testing.T) {
	for _, log := range []string{
		"01*/version-2/log.1", "02*/version-2/log.35", "11*/version-2/log.6", "12*/version-2/log.1",
	} {
		file := fixture(t, log)
		want := strings.ReplaceAll(toolOutput(t, "persistence.TxnLogToolkit", "-d", file),
			" createTtl ", " createTTL ")
		require.Equal(t, want, ourOutput(t, "wal", "dump", "--output", "toolkit", file), log)
	}
}

// snapshotFixtures are plain and compressed.
var snapshotFixtures = []string{"02*/version-2/snapshot.34", "09*/version-2/snapshot.*", "10*/version-2/snapshot.*",
	"11*/version-2/snapshot.5"}

// TestSnapshotFormatter compares dumps znode by znode: Java prints them in the order of a hash table.
func TestSnapshotFormatter(t *testing.T) {
	sections := func(s string) []string {
		parts := strings.Split(s, "----\n")
		slices.Sort(parts)
		return parts
	}
	for _, snap := range snapshotFixtures {
		file := fixture(t, snap)
		require.Equal(t, sections(toolOutput(t, "SnapshotFormatter", file)),
			sections(ourOutput(t, "snapshot", "dump", "--output", "toolkit", file)), snap)
		require.Equal(t, sections(toolOutput(t, "SnapshotFormatter", "-d", file)),
			sections(ourOutput(t, "snapshot", "dump", "--data", "--output", "toolkit", file)), snap)
		require.Equal(t, ncdu(t, toolOutput(t, "SnapshotFormatter", "-json", file)),
			ncdu(t, ourOutput(t, "snapshot", "dump", "--output", "ncdu", file)), snap)
	}
}

// ncdu returns the files of an export of ncdu, sorted, without what depends on the order.
func ncdu(t *testing.T, text string) []string {
	var export []any
	require.NoError(t, json.Unmarshal([]byte(text), &export))
	require.Len(t, export, 4)
	var all []string
	var walk func(path string, node any)
	walk = func(path string, node any) {
		children, isDir := node.([]any)
		if isDir {
			node = children[0]
		}
		facts := node.(map[string]any)
		path += "/" + facts["name"].(string)
		all = append(all, fmt.Sprint(path, facts["asize"], facts["dsize"], facts["dev"], isDir))
		for i, c := range children {
			if i > 0 {
				walk(path, c)
			}
		}
	}
	walk("", export[3])
	slices.Sort(all)
	return all
}

// TestSnapshotComparer compares the analysis of every pair, in both directions.
func TestSnapshotComparer(t *testing.T) {
	seconds := regexp.MustCompile(`[0-9.]+ seconds`)
	for _, pair := range [][2]string{
		{snapshotFixtures[0], "02*/version-2/snapshot.0"}, {snapshotFixtures[3], snapshotFixtures[0]},
	} {
		for _, threshold := range []string{"0", "1", "30"} {
			left, right := fixture(t, pair[0]), fixture(t, pair[1])
			for range 2 {
				want := toolOutput(t, "SnapshotComparer", "-l", left, "-r", right, "-b", threshold, "-n", threshold)
				got := ourOutput(t, "snapshot", "compare", "--output", "toolkit", "-b", threshold, "-n",
					threshold, left, right)
				require.Equal(t, seconds.ReplaceAllString(want, ""), seconds.ReplaceAllString(got, ""))
				left, right = right, left
			}
		}
	}
}

// asScript runs our binary under the name of one of ZooKeeper's scripts and returns its standard output.
func asScript(t *testing.T, in, script string, args ...string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), script)
	require.NoError(t, os.Symlink(cluster.Binary(t), link))
	cmd := exec.CommandContext(programContext(t), link, args...)
	cmd.Stdin = strings.NewReader(in)
	return utcOutput(t, cmd)
}

// TestScripts runs ZooKeeper's tools and our binary under the names of its scripts on copies of the same files: they
// print the same and leave the same files.
func TestScripts(t *testing.T) {
	t.Run("zkCleanup.sh", func(t *testing.T) {
		theirs, ours := t.TempDir(), t.TempDir()
		snap := must.ReadFile(t, fixture(t, "02*/version-2/snapshot.0"))
		for _, dir := range []string{theirs, ours} {
			v := filepath.Join(dir, "version-2")
			require.NoError(t, os.Mkdir(v, 0o755))
			for _, name := range []string{
				"snapshot.1", "snapshot.5", "snapshot.9", "snapshot.c", "snapshot.f", "log.1", "log.3", "log.6",
				"log.a", "log.d", "log.10",
			} {
				require.NoError(t, os.WriteFile(filepath.Join(v, name), snap, 0o644))
				require.NoError(t, os.Chtimes(filepath.Join(v, name), time.Unix(1e9, 0), time.Unix(1e9, 0)))
			}
			require.NoError(t,
				os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte("clientPort=2181\ndataDir="+dir+"\n"), 0o644))
		}
		want := toolOutput(t, "PurgeTxnLog", theirs, "-n", "3")
		got := asScript(t, "", "zkCleanup.sh", "--config", ours, "-n", "3")
		narrow := strings.NewReplacer(theirs, "", ours, "", "\u202f", " ")
		require.Equal(t, narrow.Replace(want), narrow.Replace(got))
		require.Equal(t, strings.Count(want, "\n"), 4)
		require.Equal(t, listFiles(t, theirs+"/version-2"), listFiles(t, ours+"/version-2"))
	})
	for name, args := range map[string][]string{
		"dump": {}, "recover": {"-y", "-r"}, "recover, verbose": {"-y", "-r", "-v"}, "chop": {"-c", "-z", "0x36"},
	} {
		t.Run("zkTxnLogToolkit.sh "+name, func(t *testing.T) {
			theirs, ours, files := t.TempDir(), t.TempDir(), "06-crc-mismatch-middle-record"
			if name == "chop" {
				files = "02-snapshot-and-log"
			}
			for _, dir := range []string{theirs, ours} {
				require.NoError(t, os.CopyFS(dir, os.DirFS(fixture(t, files))))
			}
			const log = "/version-2/log.35"
			want := toolOutput(t, "persistence.TxnLogToolkit", append(args, theirs+log)...)
			got := asScript(t, "", "zkTxnLogToolkit.sh", append(args, ours+log)...)
			without := strings.NewReplacer(theirs+"/version-2/", "", ours+"/version-2/", "")
			require.Equal(t, without.Replace(want), without.Replace(got))
			require.Equal(t, listFiles(t, theirs+"/version-2"), listFiles(t, ours+"/version-2"))
			for _, suffix := range []string{".fixed", ".chopped54"} {
				wantBytes, err := os.ReadFile(theirs + log + suffix)
				if err != nil {
					continue
				}
				gotBytes := must.ReadFile(t, ours+log+suffix)
				require.True(t, bytes.Equal(bytes.TrimRight(wantBytes, "\x00"), bytes.TrimRight(gotBytes, "\x00")),
					"the same records")
			}
		})
	}
	t.Run("zkSnapshotComparer.sh", func(t *testing.T) {
		seconds := regexp.MustCompile(`[0-9.]+ seconds`)
		for _, args := range [][]string{{"-d"}, {"-i"}, {"-i", "-d"}} {
			args = append(args, "-l", fixture(t, "02*/version-2/snapshot.0"), "-r", fixture(t, snapshotFixtures[0]),
				"-b", "5", "-n", "1")
			const questions = "\n/persist\nabc\n17\n\n3\n\n\n\n"
			cmd := exec.CommandContext(programContext(t), "java",
				append([]string{"-Xmx128m", "-cp", zookeeperJar, "org.apache.zookeeper.server.SnapshotComparer"},
					args...)...)
			cmd.Stdin = strings.NewReader(questions)
			want := seconds.ReplaceAllString(utcOutput(t, cmd), "")
			require.Equal(t, want,
				seconds.ReplaceAllString(asScript(t, questions, "zkSnapshotComparer.sh", args...), ""), "%v", args)
		}
	})
}

// listFiles returns the names in a folder.
func listFiles(t *testing.T, dir string) (names []string) {
	entries := must.ReadDir(t, dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestWALRepairForZooKeeper repairs a log that 3.8 refuses, and lets 3.8 read it.
func TestWALRepairForZooKeeper(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(fixture(t, "06-crc-mismatch-middle-record"))))
	file := filepath.Join(dir, "version-2", "log.35")
	require.Contains(t, toolOutput(t, "persistence.TxnLogToolkit", "-d", file), "CRC ERROR")
	ourOutput(t, "wal", "repair", dir, "--yes", "--lose-txns")
	out := toolOutput(t, "persistence.TxnLogToolkit", "-d", file)
	require.NotContains(t, out, "CRC ERROR")
	require.Contains(t, out, "EOF reached after 2 txns.")
}

// TestBackupOfZooKeeper backs up a running 3.8, in two steps, and looks at its data while it runs.
func TestBackupOfZooKeeper(t *testing.T) {
	node := cluster.Start(t, cluster.Options{Kind: cluster.ZooKeeper})
	backup, restored := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	for i, want := range []string{"snapshot.0: snapshot", "log."} {
		ourOutput(t, "shell", "-s", node.Addr(), "create", fmt.Sprintf("/kept-%d", i), "data")
		require.Contains(t, ourOutput(t, "backup", "create", backup, node.DataDir()), want)
	}
	require.Contains(t, ourOutput(t, "backup", "verify", backup), "digests compared\nok\n")
	require.Contains(t, ourOutput(t, "restore", backup, restored), "restored txn 0x6")
	dump := toolOutput(t, "SnapshotFormatter", filepath.Join(restored, "version-2", "snapshot.100000001"))
	require.Contains(t, dump, "----\n/kept-0\n")
	require.Contains(t, dump, "----\n/kept-1\n")
	again := cluster.Start(t, cluster.Options{Kind: cluster.ZooKeeper, Dir: restored})
	require.Contains(t, ourOutput(t, "shell", "-s", again.Addr(), "get", "/kept-1"), "data")
	require.NotContains(t, ourOutput(t, "doctor", "--no-measure", node.DataDir()), "error")
	require.NotContains(t, ourOutput(t, "doctor", "--admin-port", "0", node.Addr()), "error")
}
