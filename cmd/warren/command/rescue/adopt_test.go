package rescue

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// memberFiles makes the directories of member 3 of an ensemble, with a snapshot in dataDir and the log in dataLogDir,
// and its zoo.cfg.
func memberFiles(t *testing.T) (root, zooCfg string) {
	t.Helper()
	root = t.TempDir()
	data, log := filepath.Join(root, "data", "version-2"), filepath.Join(root, "log", "version-2")
	for _, dir := range []string{data, log} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	fixture := cmdline.Fixtures + "zookeeper-3.8/02-snapshot-and-log/version-2"
	entries := must.ReadDir(t, fixture)
	for _, e := range entries {
		b := must.ReadFile(t, filepath.Join(fixture, e.Name()))
		dir := data
		if strings.HasPrefix(e.Name(), "log.") {
			dir = log
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644))
	}
	zooCfg = filepath.Join(root, "zoo.cfg")
	text := fmt.Sprintf("dataDir=%s/data\ndataLogDir=%s/log\nclientPort=0\nadmin.enableServer=false\ninitLimit=5\n"+
		"syncLimit=5\nserver.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\nserver.3=127.0.0.1:5:6\n", root, root)
	for name, content := range map[string]string{zooCfg: text, filepath.Join(root, "data", "myid"): "3\n",
		filepath.Join(data, "acceptedEpoch"): "7", filepath.Join(data, "currentEpoch"): "6"} {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
	return root, zooCfg
}

// renamed is what contents would be if version-2 had been set aside, by the new names without the time.
func renamed(before map[string]string) map[string]string {
	after := map[string]string{}
	for name, content := range before {
		after[strings.Replace(name, "/version-2/", "/version-2.set-aside-/", 1)] = content
	}
	return after
}

// timeless takes the time out of the names of what was set aside, and the lock files out of the map.
func timeless(t *testing.T, now map[string]string) map[string]string {
	t.Helper()
	times := map[string]bool{}
	plain := map[string]string{}
	for name, content := range now {
		if before, after, ok := strings.Cut(name, ".set-aside-"); ok {
			at, rest, _ := strings.Cut(after, "/")
			times[at] = true
			name = before + ".set-aside-/" + rest
		}
		if filepath.Base(name) != ".warren.lock" {
			plain[name] = content
		}
	}
	require.LessOrEqual(t, len(times), 1, "the directories are set aside under one time")
	return plain
}

func TestAdopt(t *testing.T) {
	for _, how := range []string{"by zoo.cfg", "by directories"} {
		t.Run(how, func(t *testing.T) {
			root, zooCfg := memberFiles(t)
			args := []string{"adopt", zooCfg}
			if how != "by zoo.cfg" {
				args = []string{"adopt", filepath.Join(root, "data"), "--dataLogDir", filepath.Join(root, "log")}
			}
			before := cmdline.Contents(t, root)
			code, out, errs := run(args...)
			require.Equal(t, 1, code)
			require.Contains(t, out, "acceptedEpoch 7, currentEpoch 6; last txn 0x")
			require.Contains(t, out, "not checked: whether the ensemble has a leader")
			require.Equal(t, "warren: nothing was changed: add --yes to make the change\n", errs)
			require.Equal(t, before, cmdline.Contents(t, root))

			code, out, errs = run(append(args, "--yes")...)
			require.Zero(t, code, errs)
			require.Contains(t, out, "/data/version-2 is now ")
			require.Contains(t, out, "/log/version-2 is now ")
			require.Equal(t, renamed(before), timeless(t, cmdline.Contents(t, root)))

			fails(t, 1, "there is no version-2 to set aside", append(args, "--yes")...)
		})
	}
}

func TestAdoptRefuses(t *testing.T) {
	idle := cmdline.Answers(t, cmdline.NotServing)
	follower := cmdline.Answers(t, cmdline.Srvr("0x300000005", "follower"))
	for name, one := range map[string]struct {
		prepare func(t *testing.T, root string)
		args    []string // behind the configuration, or all of them if there are none of it
		says    string
		code    int
	}{
		"a server that runs": {func(t *testing.T, root string) {
			lock := must.Do(vfs.OS().Lock(filepath.Join(root, "log", "version-2", ".warren.lock")))(t)
			t.Cleanup(func() { require.NoError(t, lock.Close()) })
		}, []string{"--yes"}, "stop the server first", 1},
		"a mark for an empty database": {func(t *testing.T, root string) {
			require.NoError(t, os.WriteFile(filepath.Join(root, "data", "initialize"), nil, 0o644))
		}, []string{"--yes"}, "initialize first: with it the server would vote with an empty tree", 1},
		"a standalone server": {func(t *testing.T, root string) {
			text := "clientPort=0\ndataDir=" + root + "/data\n"
			require.NoError(t, os.WriteFile(filepath.Join(root, "zoo.cfg"), []byte(text), 0o644))
		}, []string{"--yes"}, "names no ensemble", 1},
		"no leader": {nil, []string{"--yes", "--servers", idle + "," + follower},
			"none of the servers leads, so nothing was changed: " + idle, 1},
		"nobody answers":         {nil, []string{"--yes", "--servers", "127.0.0.1:1"}, "connection refused", 1},
		"a log of a zoo.cfg":     {nil, []string{"--dataLogDir", "x"}, "zoo.cfg says where the log is", cli.ExitUsage},
		"a second configuration": {nil, []string{"another"}, "name a data directory or a zoo.cfg", cli.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			root, zooCfg := memberFiles(t)
			if one.prepare != nil {
				one.prepare(t, root)
			}
			before := timeless(t, cmdline.Contents(t, root))
			fails(t, one.code, one.says, append([]string{"adopt", zooCfg}, one.args...)...)
			require.Equal(t, before, timeless(t, cmdline.Contents(t, root)))
		})
	}
	root, _ := memberFiles(t)
	require.NoError(t, os.Remove(filepath.Join(root, "data", "myid")))
	fails(t, 1, "has no myid", "adopt", filepath.Join(root, "data"), "--yes")
}

// What cannot be read can be set aside.
func TestAdoptOfADamagedDirectory(t *testing.T) {
	root, zooCfg := memberFiles(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "data", "version-2", "meta.db"), []byte("nothing"), 0o644))
	before := cmdline.Contents(t, root)
	code, out, errs := run("adopt", zooCfg, "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "what it holds cannot be told: meta.db is damaged")
	require.Equal(t, renamed(before), timeless(t, cmdline.Contents(t, root)))
}

// A leader among the servers that are named is enough.
func TestAdoptAsksForALeader(t *testing.T) {
	root, zooCfg := memberFiles(t)
	idle := cmdline.Answers(t, cmdline.NotServing)
	leader := cmdline.Answers(t, cmdline.Srvr("0x300000005", "leader"))
	before := cmdline.Contents(t, root)
	code, out, errs := run("adopt", zooCfg, "--yes", "--servers", idle, "--servers", leader)
	require.Zero(t, code, errs)
	require.Contains(t, out, leader+" leads, at 0x300000005")
	require.NotContains(t, out, "not checked")
	require.Equal(t, renamed(before), timeless(t, cmdline.Contents(t, root)))
}

// An adoption that ends between its two renames leaves directories on which no server starts, whatever it is told to
// trust. The next one completes it.
func TestAdoptIsInterrupted(t *testing.T) {
	root, zooCfg := memberFiles(t)
	before := cmdline.Contents(t, root)
	dirs := []string{filepath.Join(root, "data", "version-2"), filepath.Join(root, "log", "version-2")}
	change := must.Do(datadir.Begin(vfs.OS(), dirs...))(t)
	require.NoError(t, change.Mark("warren adopt", "run it again"))
	const suffix = ".set-aside-20260101T000000.000"
	require.NoError(t, os.Rename(dirs[0], dirs[0]+suffix))
	require.NoError(t, change.Leave(nil))
	for _, trust := range []string{"false", "true"} {
		cfg, _ := must.Do2(config.Load(zooCfg, []string{"snapshot.trust.empty=" + trust}, nil))(t)
		err := server.New(cfg, server.Options{}).Start()
		var refused *server.DataError
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err,
			"warren adopt was interrupted, and what it has left must not be served: run it again")
		require.Equal(t, 3, refused.ExitCode())
	}
	require.ErrorIs(t, must.Err(os.Stat(dirs[0])), os.ErrNotExist, "a server that is refused makes nothing")
	code, out, errs := run("adopt", zooCfg, "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "/log/version-2 is now ")
	require.ErrorIs(t, must.Err(os.Stat(dirs[0])), os.ErrNotExist)

	var kept []string
	for name, content := range cmdline.Contents(t, root) {
		if want, ok := before[name]; ok && want == content {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	require.Equal(t, []string{filepath.Join(root, "data", "myid"), zooCfg}, kept)
	logs := must.Glob(t, filepath.Join(root, "log", "version-2.set-aside-*", "log.*"))
	require.NotEmpty(t, logs)
	require.Subset(t, slices.Collect(maps.Values(before)), valuesOf(t, logs))
}

func valuesOf(t *testing.T, names []string) (all []string) {
	for _, name := range names {
		b := must.ReadFile(t, name)
		all = append(all, string(b))
	}
	return all
}
