package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The servers of a zoo.cfg are read where nothing else is that the file names: on a machine of an operator.
func TestLoadServers(t *testing.T) {
	dir := t.TempDir()
	static := filepath.Join(dir, "zoo.cfg")
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	const settings = "dataDir=/does/not/exist\nclientPort=2182\ntickTime=never\nsslQuorum=true\n" +
		"ssl.quorum.keyStore.location=/no/such.pem\nsecureClientPort=2281\nadmin.serverPort=8081\n"
	const lines = "server.1=a:2888:3888\nserver.2=[::1]:2888:3888:observer;[::1]:2190\n"
	check := func(c *Config, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Len(t, c.Members, 2)
		require.Equal(t, PeerAddress{Host: "a", QuorumPort: 2888, ElectionPort: 3888}, c.Members[0].Addresses[0])
		require.Equal(t, HostPort{"::1", 2190}, c.Members[1].Client)
		require.Equal(t, Observer, c.Members[1].Role)
		require.Equal(t, 2182, c.ClientPort)
		require.Equal(t, 2281, c.SecureClientPort)
		require.Equal(t, 8081, c.Admin.Port)
	}
	write(static, settings+lines)
	check(LoadServers(static))

	dynamic := filepath.Join(dir, "zoo.cfg.dynamic.100000000")
	write(static, settings+"dynamicConfigFile="+dynamic+"\n")
	write(dynamic, lines)
	check(LoadServers(static))

	write(dynamic, "server.1=nonsense\n")
	require.ErrorContains(t, must.Err(LoadServers(static)), "server.1")
	require.ErrorContains(t, must.Err(LoadServers(filepath.Join(dir, "none.cfg"))), "none.cfg file is missing")
	write(static, "server.1=a:2888:3888\nclientPort=none\n")
	require.ErrorContains(t, must.Err(LoadServers(static)), "clientPort")
}

func TestSuperPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("from file\n"), 0o600))
	for _, test := range []struct {
		env  []string
		want Secret
	}{
		{nil, ""},
		{[]string{"WARREN_SUPER_PASSWORD=plain"}, "plain"},
		{[]string{"WARREN_SUPER_PASSWORD=plain", "ALLOW_ANONYMOUS_LOGIN=yes"}, "plain"},
		{[]string{"WARREN_SUPER_PASSWORD_FILE=" + file}, "from file"},
		{[]string{"WARREN_SUPER_PASSWORD_FILE=" + file, "WARREN_SUPER_PASSWORD=plain"}, "from file"},
	} {
		require.Equal(t, test.want, must.Do(SuperPassword(test.env))(t), "%v", test.env)
	}
	require.ErrorIs(t, must.Err(SuperPassword([]string{"WARREN_SUPER_PASSWORD_FILE=" + file + "x"})), os.ErrNotExist)
}
