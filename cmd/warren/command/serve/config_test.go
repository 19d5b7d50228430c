package serve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	}
	write("dataDir=DIR\nclientPort=0\nautopurge.purgeInterval=1\n")
	code, out, errs := run("config", "check", file)
	require.Zero(t, code, errs)
	require.Equal(t, "ok          "+file+": standalone, data in "+dir+"\n", out)

	write("clientPort=x\nfoo=1\njute.maxbuffer=4096\npeerType=boss\nautopurge.purgeInterval=1\n")
	code, out, errs = run("config", "check", file)
	require.Equal(t, 2, code)
	require.Equal(t, `problem     `+file+`:1: clientPort = "x": must be a whole number from 0 to 65535
problem     `+file+`:4: peerType = "boss": "boss" is no kind of server: it must be participant or observer
problem     `+file+`: dataDir is not set: name the directory for snapshots and logs, as in dataDir=/var/lib/warren
warning     `+file+`:2: foo: key is not known and has no effect
difference  `+file+`:2: foo: ZooKeeper sets the system property zookeeper.foo and says nothing
difference  `+file+`:3: jute.maxbuffer: ZooKeeper reads it from -Djute.maxbuffer only, and uses the default
`, out)
	require.Equal(t, "warren: "+file+": a server would not start: 3 problems\n", errs)

	code, out, _ = run("config", "check", "--output", "json", "-D", "clientPort=5", file)
	require.Equal(t, 2, code)
	var got struct {
		OK       bool
		Findings []finding
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.False(t, got.OK)
	require.Equal(t,
		finding{Kind: "problem", File: file, Line: 4, Key: "peerType", Value: "boss",
			Rule: `"boss" is no kind of server: it must be participant or observer`}, got.Findings[0])

	write("dataDir=DIR\nclientPort=0\nserver.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\ninitLimit=1\n" +
		"syncLimit=1\nmyid=9\n")
	code, _, _ = run("config", "check", file)
	require.Equal(t, 2, code, "an id that is not in the list")

	write("dataDir=DIR\nclientPort=0\nserver.1=192.0.2.1:11:12\nserver.2=b:1:2\ninitLimit=1\nsyncLimit=1\nmyid=1\n")
	code, out, _ = run("config", "check", file)
	require.Equal(t, 14, code, "a server would wait forever until this machine has its address")
	require.Equal(t, 1, strings.Count(out, "192.0.2.1"), out)
	write("dataDir=DIR\nclientPort=0\nserver.1=127.0.0.1:11:12\nserver.2=no-such-host.invalid:1:2\ninitLimit=1\n" +
		"syncLimit=1\nmyid=1\n")
	code, out, _ = run("config", "check", file)
	require.Zero(t, code, "another server may get its name later: %s", out)

	for _, args := range [][]string{
		{"config", "check"}, {"config", "check", "a", "b"}, {"config", "check", file, "--output", "xml"},
	} {
		code, _, _ = run(args...)
		require.Equal(t, 2, code)
	}
	code, out, _ = run("config")
	require.Zero(t, code)
	require.Contains(t, out, "check")
}

// finding is a finding as programs read it.
type finding struct {
	Kind, File, Key, Value, Rule string
	Line                         int
}
