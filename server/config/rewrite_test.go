package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// written is a static file with members, and what it becomes.
const written = `# how fast
tickTime=2000
initLimit=10
syncLimit = 5
dataDir=/data
  server.1=127.0.0.1:1:2:participant
server.2 = 127.0.0.1:3:\
    4:participant;5
! roles
peerType=participant
clientPort=7
clientPortListenBacklog=9
secureClientPort=8
weight.1=1
group.1=1:2

maxClientCnxns=0`

func load(t *testing.T, text string) *Config {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o640))
	c, _ := must.Do2(Load(file,
		[]string{"dataDir=" + dir, "myid=1", "reconfigEnabled=true", "ssl.keyStore.location=/k.pem"}, nil))(t)
	return c
}

func TestFilesFollowTheConfiguration(t *testing.T) {
	c := load(t, written)
	for version, tc := range map[int64]struct{ members, want string }{
		0x100000000: {"server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4;5", `# how fast
tickTime=2000
initLimit=10
syncLimit = 5
dataDir=/data
! roles
clientPort=7
clientPortListenBacklog=9
secureClientPort=8

maxClientCnxns=0
`},
		0x10000000a: {"server.10=127.0.0.1:11:12;13\nserver.2=127.0.0.1:3:4;5\nserver.1=127.0.0.1:1:2;7", `# how fast
tickTime=2000
initLimit=10
syncLimit = 5
dataDir=/data
! roles
clientPortListenBacklog=9
secureClientPort=8

maxClientCnxns=0
`},
	} {
		c := load(t, written)
		q := members(t, tc.members)
		q.ConfigVersion = version
		require.NoError(t, os.WriteFile(c.File+".dynamic.next", []byte("x"), 0o600))
		for range 2 {
			name := must.Do(c.WriteMembers(q))(t)
			require.Equal(t, tc.want+"dynamicConfigFile="+name+"\n", string(must.ReadFile(t, c.File)))
			require.Equal(t, written, string(must.ReadFile(t, c.File+".bak")))
			require.NoFileExists(t, c.File+".dynamic.next")
			for _, file := range []string{c.File, c.File + ".bak", name} {
				info := must.Do(os.Stat(file))(t)
				require.EqualValues(t, 0o640, info.Mode().Perm(), "%s: secrets stay secrets", file)
			}
		}
		again, _, err := Load(c.File, []string{"dataDir=" + c.DataDir, "myid=1", "ssl.keyStore.location=/k.pem"}, nil)
		require.NoError(t, err)
		require.Equal(t, version, again.ConfigVersion)
		require.Equal(t, q.Text(), again.Quorum.Text())
		require.Equal(t, 7, again.ClientPort)
		require.Empty(t, must.Glob(t, filepath.Join(filepath.Dir(c.File), ".*")), "no temporary file is left")
	}
	must.Do(c.WriteMembers(members(t, lines3)))(t)
	dynamic := must.ReadFile(t, c.File+".dynamic.0")
	require.Equal(t, lines3, string(dynamic), "sorted, no version, no end of line")
}

// A server starts with what a reconfiguration has made of its file, however the lines are written and the file ends.
func TestUnusualFilesFollow(t *testing.T) {
	const rest = "tickTime=2000\ninitLimit=10\nsyncLimit=5\nclientPort=7\n"
	const servers = "server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4"
	for _, text := range []string{
		rest + servers,
		"\ufeff" + servers + "\n" + rest,
		rest + "server\\.1=127.0.0.1\\:1\\:2\nser\\u0076er.2 127.0.0.1\\:3\\:4\n",
		rest + servers + "\naudit.enable=tru\\\ne\\",
		rest + servers + "\naudit.enable=true\\\n",
		rest + servers + "\naudit.enable=true\\\r\n",
		rest + servers + "\n# C:\\zookeeper\\",
	} {
		c := load(t, text)
		q := members(t, "server.1=127.0.0.1:1:2\nserver.3=127.0.0.1:5:6")
		name := must.Do(c.WriteMembers(q))(t)
		again, _, err := Load(c.File, []string{"dataDir=" + c.DataDir, "myid=1"}, nil)
		require.NoError(t, err, "%q", text)
		require.Equal(t, name, again.DynamicConfigFile, "%q", text)
		require.Equal(t, q.Text(), again.Quorum.Text(), "%q", text)
		require.Equal(t, c.Audit.Enabled, again.Audit.Enabled, "%q", text)
	}
}

func TestFilesThatCannotFollow(t *testing.T) {
	q := members(t, lines3)
	require.Empty(t, must.Do(Default().WriteMembers(q))(t), "there are none")

	c := load(t, written)
	c.origins["server.3"] = position{file: "WARREN_SERVER_3"}
	require.ErrorIs(t, must.Err(c.WriteMembers(q)), ErrGivenElsewhere)

	c = load(t, written)
	require.NoError(t, os.Remove(c.File))
	require.ErrorIs(t, must.Err(c.WriteMembers(q)), os.ErrNotExist)
}
