package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// sampleFile is the typical file of operations 1.7.
const sampleFile = `tickTime=2000
initLimit=10
syncLimit=5
dataDir=/var/lib/zookeeper
dataLogDir=/var/log/zk-txn
clientPort=2181
maxClientCnxns=200
autopurge.snapRetainCount=5
autopurge.purgeInterval=12
4lw.commands.whitelist=srvr,mntr,ruok,stat
admin.serverPort=8080
metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider
metricsProvider.httpPort=7000
server.1=zk1:2888:3888
server.2=zk2:2888:3888
server.3=zk3:2888:3888
server.4=zk4:2888:3888:observer
`

// write puts text into a file of a fresh directory, with DIR replaced by that directory, and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	return writeIn(t, dir, name, text)
}

func writeIn(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	return file
}

func TestSampleFile(t *testing.T) {
	c, warnings := must.Do2(Parse(strings.NewReader(sampleFile), "zoo.cfg"))(t)
	require.Empty(t, warnings)
	require.Equal(t, sampleFile, string(c.Text))
	require.Equal(t, 2*time.Second, c.TickTime)
	require.Equal(t, 4*time.Second, c.MinSessionTimeout)
	require.Equal(t, 40*time.Second, c.MaxSessionTimeout)
	require.Equal(t, 10, c.InitLimit)
	require.Equal(t, 10, c.ConnectToLearnerMasterLimit)
	require.Equal(t, 5, c.SyncLimit)
	require.Equal(t, "/var/lib/zookeeper", c.DataDir)
	require.Equal(t, "/var/log/zk-txn", c.DataLogDir)
	require.Equal(t, ":2181", clientAddress(c))
	require.Equal(t, PortUnset, c.SecureClientPort)
	require.Equal(t, 200, c.MaxClientCnxns)
	require.Equal(t, Autopurge{5, 12 * time.Hour}, c.Autopurge)
	require.Equal(t, []string{"srvr", "mntr", "ruok", "stat"}, c.FourLetterWhitelist)
	require.Equal(t, "0.0.0.0:8080", c.AdminAddress())
	require.Equal(t, PrometheusProvider, c.Metrics.ClassName)
	require.Equal(t, 7000, c.Metrics.Port)
	require.True(t, c.Distributed())
	require.Equal(t, 3, c.Voters())
	require.Equal(t, Observer, c.Member(4).Role)
	require.Equal(t, []string{
		"server.1=zk1:2888:3888:participant", "server.2=zk2:2888:3888:participant",
		"server.3=zk3:2888:3888:participant", "server.4=zk4:2888:3888:observer",
	}, c.Lines())
}

// clientAddress is where a server serves clients.
func clientAddress(c *Config) string { return HostPort{c.ClientPortAddress, c.ClientPort}.String() }

func TestDefault(t *testing.T) {
	c, warnings := must.Do2(Load("", nil, nil))(t)
	require.Empty(t, warnings)
	require.Equal(t, Default(), c)
	require.Equal(t, "127.0.0.1:2181", clientAddress(c))
	require.Equal(t, "127.0.0.1:8080", c.AdminAddress())
	require.Equal(t, DefaultProvider, c.Metrics.ClassName)
	require.Equal(t, 2*time.Second, c.TickTime)
	require.Equal(t, "data", filepath.Clean(c.DataDir))
	require.Equal(t, c.DataDir, c.DataLogDir)
	require.False(t, c.Distributed())
	require.Equal(t, Autopurge{3, time.Hour}, c.Autopurge)
	require.Equal(t, 0xfffff, c.JuteMaxBuffer)
	require.Equal(t, 0xfffff, c.JuteMaxBufferExtra)

	c, _ = must.Do2(Load("", []string{"tickTime=100", "dataDir=" + t.TempDir(), "clientPort=0"}, nil))(t)
	require.Equal(t, 200*time.Millisecond, c.MinSessionTimeout, "derived from the tick that counts")
	require.Equal(t, c.DataDir, c.DataLogDir)
	require.Equal(t, "127.0.0.1:0", clientAddress(c))
}

// A file that says nothing of purging is purged all the same, which differs from ZooKeeper; zero turns it off.
func TestPurgesUnlessToldOtherwise(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": time.Hour, "autopurge.purgeInterval=0": 0, "autopurge.purgeInterval=-1": 0,
		"autopurge.purgeInterval=2": 2 * time.Hour, "autopurge.purgeInterval=500ms": 500 * time.Millisecond,
		"autopurge.purgeInterval=30s": 30 * time.Second, "autopurge.purgeInterval=10m": 10 * time.Minute,
		"autopurge.purgeInterval=2h": 2 * time.Hour, "autopurge.purgeInterval=1d": 24 * time.Hour,
	} {
		c, _, err := Parse(strings.NewReader("dataDir=/d\n"+text), "zoo.cfg")
		require.NoError(t, err, text)
		require.Equal(t, want, c.Autopurge.PurgeInterval, text)
	}
}

func TestArguments(t *testing.T) {
	c, _ := must.Do2(LoadArguments([]string{"2182", t.TempDir()}, nil, nil))(t)
	require.Equal(t, ":2182", clientAddress(c))
	require.Equal(t, 3*time.Second, c.TickTime)
	require.Equal(t, 60, c.MaxClientCnxns)

	c, _ = must.Do2(LoadArguments([]string{"2182", t.TempDir(), "500", "9"}, []string{"snapCount=7"}, nil))(t)
	require.Equal(t, 500*time.Millisecond, c.TickTime)
	require.Equal(t, 9, c.MaxClientCnxns)
	require.Equal(t, 7, c.SnapCount)

	_, _, err := LoadArguments([]string{"x", t.TempDir()}, nil, nil)
	require.EqualError(t, err, `config: argument 1: clientPort = "x": must be a whole number from 0 to 65535`)
	require.Error(t, must.Err2(LoadArguments([]string{"2181"}, nil, nil)))
}

func TestPrecedence(t *testing.T) {
	tests := []struct {
		name, file string
		set, env   []string
		want       func(*Config) any
		value      any
		warning    string
	}{
		{"native: command line over file", "tickTime=1000", []string{"tickTime=500"}, nil,
			func(c *Config) any { return c.TickTime }, 500 * time.Millisecond,
			"-D: tickTime: wins over a different value at zoo.cfg:2"},
		{"native: command line over environment over file", "tickTime=1000", []string{"tickTime=500"},
			[]string{"JVMFLAGS=-DtickTime=700"}, func(c *Config) any { return c.TickTime },
			500 * time.Millisecond, "wins over"},
		{"native: environment over file, with prefix", "tickTime=1000", nil,
			[]string{"JVMFLAGS=-Dzookeeper.tickTime=700"}, func(c *Config) any { return c.TickTime },
			700 * time.Millisecond, "JVMFLAGS: zookeeper.tickTime: wins over"},
		{"passthrough: file over command line", "snapCount=5", []string{"zookeeper.snapCount=6"}, nil,
			func(c *Config) any { return c.SnapCount }, 5, "zoo.cfg:2: snapCount: wins over a different value at -D"},
		{"passthrough: command line over environment", "", []string{"snapCount=6"},
			[]string{"JVMFLAGS=-Dzookeeper.snapCount=7"}, func(c *Config) any { return c.SnapCount }, 6,
			"wins over a different value at JVMFLAGS"},
		{"passthrough: the same twice is quiet", "snapCount=6", []string{"snapCount=6"}, nil,
			func(c *Config) any { return c.SnapCount }, 6, ""},
		{"bare: command line over file", "jute.maxbuffer=5000", []string{"jute.maxbuffer=6000"}, nil,
			func(c *Config) any { return c.JuteMaxBuffer }, 6000, "-D: jute.maxbuffer: wins over"},
		{"bare: from the file", "jute.maxbuffer=5000", nil, nil,
			func(c *Config) any { return c.JuteMaxBuffer }, 5000, ""},
		{"bare: from the file, with prefix", "zookeeper.readonlymode.enabled=true", nil, nil,
			func(c *Config) any { return c.ReadOnlyMode }, true, ""},
		{"hexadecimal as in many installations", "", nil, []string{"SERVER_JVMFLAGS=-Xmx1g -Djute.maxbuffer=0x9fffff"},
			func(c *Config) any { return c.JuteMaxBuffer }, 0x9fffff, "no effect here: -Xmx1g"},
		{"JVMFLAGS come after SERVER_JVMFLAGS", "", nil,
			[]string{"JVMFLAGS=-DsnapCount=8", "SERVER_JVMFLAGS=-DsnapCount=9"},
			func(c *Config) any { return c.SnapCount }, 8, "replaces the value given at SERVER_JVMFLAGS"},
		{"the last of two lines", "snapCount=5\nsnapCount=6", nil, nil,
			func(c *Config) any { return c.SnapCount }, 6,
			"zoo.cfg:3: snapCount: replaces the value given at zoo.cfg:2"},
		{"both spellings are one key", "zookeeper.snapCount=5\nsnapCount=6", nil, nil,
			func(c *Config) any { return c.SnapCount }, 6, "replaces"},
		{"the real name over the one of the documentation", "connection_throttle_tokens=5\nconnectionMaxTokens=6", nil,
			nil, func(c *Config) any { return c.ConnectionThrottle.Tokens }, 5,
			"connectionMaxTokens: loses against connection_throttle_tokens"},
		{"observer.syncEnabled over syncEnabled", "observer.syncEnabled=false\nsyncEnabled=true", nil, nil,
			func(c *Config) any { return c.SyncEnabled }, false, "loses"},
		{"free keys too", "authProvider.1=org.apache.zookeeper.server.auth.X509AuthenticationProvider",
			[]string{"authProvider.1=x"}, nil, func(c *Config) any { return c.HasScheme("x509") }, true,
			"zoo.cfg:2: authProvider.1: wins over"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, "zoo.cfg", "dataDir=DIR\n"+tt.file+"\nclientPort=2181\n")
			c, warnings := must.Do2(Load(file, tt.set, tt.env))(t)
			require.Equal(t, tt.value, tt.want(c))
			all := strings.ReplaceAll(warningText(warnings), filepath.Dir(file)+"/", "")
			if tt.warning == "" {
				require.Empty(t, all)
			} else {
				require.Contains(t, all, tt.warning)
			}
		})
	}
}

func warningText(warnings Warnings) string {
	var b strings.Builder
	for _, w := range warnings {
		b.WriteString(w.String() + "\n")
	}
	return b.String()
}

func TestUnknownKeysWarnOnceEach(t *testing.T) {
	c, warnings := must.Do2(Parse(strings.NewReader("dataDir=/d\nclientPort=2181\nfoo=1\nzookeeper.bar=2\nfoo=1\n"+
		"nio.numWorkerThreads=3\ncommitProcessor.numWorkerThreads=4\n"), "zoo.cfg"))(t)
	require.NotNil(t, c)
	require.Equal(t, `zoo.cfg:4: zookeeper.bar: key is not known and has no effect
zoo.cfg:5: foo: key is not known and has no effect
settings of a Java server that have no effect here: nio.numWorkerThreads, commitProcessor.numWorkerThreads
`, warningText(warnings))
}

func TestRelativePathsWarn(t *testing.T) {
	_, warnings, err := Parse(strings.NewReader("dataDir=data\ndataLogDir=./log\nclientPort=2181\n"), "zoo.cfg")
	require.NoError(t, err)
	require.Equal(t, "zoo.cfg:1: dataDir: data is relative. Prepend ./ to indicate that you're sure!\n",
		warningText(warnings))
	_, warnings = must.Do2(LoadArguments([]string{"2181", "data"}, []string{"dataLogDir=log"}, nil))(t)
	require.Empty(t, warningText(warnings), "paths that were typed")
}

func TestEveryProblemIsReported(t *testing.T) {
	_, _, err := Parse(strings.NewReader("tickTime=abc\nsnapCount=1x\n\nclientPort=70000\npeerType=foo\n"), "zoo.cfg")
	require.EqualError(t, err, `config: zoo.cfg:1: tickTime = "abc": must be a whole number of milliseconds from 0 to 107374182
zoo.cfg:2: snapCount = "1x": must be a whole number from 2 to 2147483647
zoo.cfg:4: clientPort = "70000": must be a whole number from 0 to 65535
zoo.cfg:5: peerType = "foo": "foo" is no kind of server: it must be participant or observer
zoo.cfg: dataDir is not set: name the directory for snapshots and logs, as in dataDir=/var/lib/warren`)
	var p *Problem
	require.True(t, errors.As(err, &p))
	require.Equal(t, ExitInvalid, p.ExitCode())
	var all Problems
	require.True(t, errors.As(err, &all))
	require.Len(t, all, 5)
}

// The value of a password is in no message and in no printed Config.
func TestSecretsAreNotShown(t *testing.T) {
	_, warnings, err := Parse(strings.NewReader(`dataDir=/d
clientPort=1
ssl.keyStore.password=hunter2
ssl.keyStore.password=hunter22
ssl.keyStore.type=hunterless
DigestAuthenticationProvider.superDigest=hunter2222
`), "zoo.cfg")
	require.Error(t, err)
	require.NotContains(t, err.Error()+warningText(warnings), "hunter2")
	require.Equal(t, "***", Secret("x").String())
	require.Equal(t, "", Secret("").String())
	text, _ := Secret("x").MarshalText()
	require.Equal(t, "***", string(text))
	require.Equal(t, `"***"`, Secret("x").GoString())
}

func TestFileProblems(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "zoo.cfg")
	_, _, err := Load(missing, nil, nil)
	require.EqualError(t, err, "config: "+missing+" file is missing")
	require.Equal(t, ExitInvalid, exitCode(err))

	require.ErrorContains(t, must.Err2(Load(t.TempDir(), nil, nil)), "cannot be read")

	_, _, err = Load(write(t, "zoo.cfg", strings.Repeat("#", fileBytesMax+1)), nil, nil)
	require.ErrorContains(t, err, "larger than")
	_, _, err = Parse(strings.NewReader(strings.Repeat("#", fileBytesMax+1)), "zoo.cfg")
	require.ErrorContains(t, err, "larger than")
}

func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 0
}

// FuzzParse: no panic; an error is always Problems with an exit code; what is accepted is valid by itself.
func FuzzParse(f *testing.F) {
	f.Add(sampleFile)
	var all strings.Builder
	for _, k := range listedKeys(f) {
		f.Add("dataDir=/d\n" + k.key + "=" + k.value)
		all.WriteString(k.key + " " + k.value + "\n")
	}
	f.Add(all.String())
	f.Add("server.1=[::1]:1:2:observer|a:3:4;[::]:5;6\ngroup.1=1:2\nweight.1=0\nstandaloneEnabled=false")
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := Parse(strings.NewReader(text), "zoo.cfg")
		if err != nil {
			require.Nil(t, c)
			var problems Problems
			require.True(t, errors.As(err, &problems))
			require.NotEmpty(t, problems)
			require.Equal(t, ExitInvalid, problems.ExitCode())
			require.NotEmpty(t, err.Error())
			return
		}
		c.ServerID = 1
		if c.DynamicConfigFile == "" && !c.Distributed() {
			require.NoError(t, c.Validate())
		}
		for _, line := range c.Lines() {
			key, value, _ := strings.Cut(line, "=")
			if id, err := memberID(key); strings.HasPrefix(key, "server.") {
				require.NoError(t, err)
				m, err := parseMember(id, value)
				require.NoError(t, err, line)
				m.Weight = c.Member(id).Weight
				require.Equal(t, *c.Member(id), m)
			}
		}
	})
}
