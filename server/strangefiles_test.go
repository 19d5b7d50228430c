package server

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/wire"
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
		c, err := wire.Dial(s.Addr().String(), wire.Options{})
		require.NoError(t, err)
		_, err = c.Create("/n"+strconv.Itoa(i), nil, proto.ModePersistent)
		require.NoError(t, err)
		names, err := c.Children("/", false)
		require.NoError(t, err)
		require.Len(t, names, i+2) // with /zookeeper
		c.Close()
		_, _, err = s.disk.Snaps.Prune(1)
		require.NoError(t, err)
		s.Stop()
	}
	require.DirExists(t, filepath.Join(version2, "snapshot.ffff"))
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
	n, err := strconv.Atoi(most[1])
	require.NoError(t, err)
	require.Less(t, n, 1<<30, "a petabyte")
	u, err := user.Current()
	require.NoError(t, err)
	require.Contains(t, text, "\nuser.name="+u.Username+"\n")
}
