package server

import (
	"bytes"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// Directories of any name are no data of a server: it starts, purges and starts again.
// ZooKeeper 3.8 passes over all of them but the directory log.ffff, with which it does not start.
func TestStrangeNamesDoNotStopTheStart(t *testing.T) {
	dir := t.TempDir()
	version2 := filepath.Join(dir, "version-2")
	for _, name := range []string{"snapshot.ffff", "log.ffff/inside", "tmp.snapshot.5/inside", "tmp.log.x/inside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(version2, name), 0o755))
	}
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir, dir
	cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled = 0, "127.0.0.1", false
	for i := range 3 {
		s := New(cfg, Options{})
		require.NoError(t, s.Start())
		c := wire.Open(t, s.Addr().String(), wire.Options{})
		c.MustCreate(t, "/n"+strconv.Itoa(i), nil, proto.ModePersistent)
		require.Len(t, c.MustChildren(t, "/", false), i+2) // with /zookeeper
		c.Close()
		must.Do2(s.disk.Snaps.Prune(1))(t)
		s.Stop()
	}
	require.DirExists(t, filepath.Join(version2, "snapshot.ffff"))
}

// Files that are named like newer snapshots, and never were any, do not stop the start, and are put aside. ZooKeeper
// passes over them, too.
func TestFilesNamedLikeSnapshotsDoNotStopTheStart(t *testing.T) {
	garbage := append(bytes.Repeat([]byte("garbage"), 100), 0, 0, 0, 1, '/') // as a snapshot ends
	for name, data := range map[string][]byte{
		"snapshot.ffff": nil, "snapshot.fffe": []byte("text"), "snapshot.fffd": garbage,
		"snapshot.ffff.gz": []byte("no gzip at all"), "snapshot.fffc.snappy": nil,
		"snapshot.1a.bak": nil, "snapshot.zzz": garbage, "snapshot.": nil, "snapshot.-1": nil,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := standaloneIn(t.TempDir())
			writeOne(t, cfg, "/a")
			version2 := filepath.Join(cfg.DataDir, "version-2")
			require.NoError(t, os.WriteFile(filepath.Join(version2, name), data, 0o644))
			require.Equal(t, []string{"a", "b"}, writeOne(t, cfg, "/b"))
			require.Equal(t, []string{"a", "b", "c"}, writeOne(t, cfg, "/c"))
			if _, _, ok := snapshot.ParseName(name); ok {
				require.NoFileExists(t, filepath.Join(version2, name))
				require.FileExists(t, filepath.Join(version2, snapshot.Aside+name))
			}
		})
	}
}

// A file that was a snapshot of this server and is damaged is no such file: the log before it may be gone.
func TestADamagedSnapshotToWhichNoLogLeadsStopsTheStart(t *testing.T) {
	cfg := standaloneIn(t.TempDir())
	writeOne(t, cfg, "/a")
	version2 := filepath.Join(cfg.DataDir, "version-2")
	db := must.Do(meta.Open(meta.Options{FS: vfs.OS(), Dir: version2}))(t)
	require.NoError(t, db.PutSnapshot("snapshot.ffff", 0xffff, 100, 1))
	require.NoError(t, db.Close())
	require.NoError(t, os.WriteFile(filepath.Join(version2, "snapshot.ffff"), nil, 0o644))
	require.ErrorIs(t, New(cfg, Options{}).Start(), snapshot.ErrUnlinked)

	// Without meta.db nothing tells what the file was.
	require.NoError(t, os.Remove(filepath.Join(version2, meta.FileName)))
	require.ErrorIs(t, New(cfg, Options{}).Start(), snapshot.ErrUnlinked)
	require.FileExists(t, filepath.Join(version2, "snapshot.ffff"))
}

func standaloneIn(dir string) *config.Config {
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir, dir
	cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled = 0, "127.0.0.1", false
	return cfg
}

// writeOne runs a server that creates a znode, and returns the znodes that there are then.
func writeOne(t *testing.T, cfg *config.Config, path string) []string {
	s := New(cfg, Options{})
	require.NoError(t, s.Start())
	defer s.Stop()
	c := must.Do(wire.Dial(s.Addr().String(), wire.Options{}))(t)
	defer c.Close()
	c.MustCreate(t, path, nil, proto.ModePersistent)
	names := c.MustChildren(t, "/", false)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "zookeeper" })
	slices.Sort(names)
	return names
}

// envi and the admin command tell the memory that there is, and the user of the process without the variable USER.
func TestEnvironmentTellsMemoryAndUser(t *testing.T) {
	t.Setenv("USER", "")
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir, cfg.FourLetterWhitelist = t.TempDir(), "", []string{"*"}
	cfg.DataLogDir = cfg.DataDir
	cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled = 0, "127.0.0.1", false
	s := New(cfg, Options{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	text := word(t, s, "envi")
	most := regexp.MustCompile(`\njvm\.memory\.max=(\d+)MB\n`).FindStringSubmatch(text)
	require.NotNil(t, most, text)
	require.Less(t, must.Atoi(t, most[1]), 1<<30, "a petabyte")
	u := must.Do(user.Current())(t)
	require.Contains(t, text, "\nuser.name="+u.Username+"\n")
}
