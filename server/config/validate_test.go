package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// parse is Parse of a file that has a data directory and a port.
func parse(text string) (*Config, Warnings, error) {
	return Parse(strings.NewReader("dataDir=/d\nclientPort=2181\n"+text), "zoo.cfg")
}

// three is an ensemble that lacks nothing but myid.
const three = "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\n"

const limits = "initLimit=5\nsyncLimit=2\n"

const saslProvider = "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"

// The validation matrix of operations 1.3, and the rules of operations 8.4 and 8.5.
func TestValidationMatrix(t *testing.T) {
	tests := []struct {
		name, text, myid string
		rule             string
	}{
		{"clientPortAddress alone", "clientPortAddress=h", "", "clientPortAddress is set but clientPort is not set"},
		{"secureClientPortAddress alone", "secureClientPortAddress=h", "",
			"secureClientPortAddress is set but secureClientPort is not set"},
		{"number expected", "tickTime=abc", "", "must be a whole number of milliseconds from 0 to 107374182"},
		{"number with a comment", "tickTime=2000 # ms", "", "must be a whole number of milliseconds from 0"},
		{"tickTime 0", "tickTime=0", "", "tickTime must be more than 0"},
		{"tickTime negative", "tickTime=-5", "", "of milliseconds from 0 to"},
		{"tickTime too large", "tickTime=107374183", "", "of milliseconds from 0 to 107374182"},
		{"overflow", "tickTime=99999999999999999999", "", "of milliseconds from 0 to 107374182"},
		{"min above max", "minSessionTimeout=9\nmaxSessionTimeout=8", "",
			"minSessionTimeout must not be larger than maxSessionTimeout"},
		{"min above the default max", "tickTime=1\nminSessionTimeout=21", "",
			"minSessionTimeout must not be larger than maxSessionTimeout"},
		{"session timeout below -1", "minSessionTimeout=-2", "", "of milliseconds from 0 to"},
		{"peer type", "peerType=foo", "", "\"foo\" is no kind of server"},
		{"election algorithm", "electionAlg=2", "", "Invalid electionAlg value. Only 3 is supported."},
		{"metrics provider", "metricsProvider.className=foo", "", "there is no such provider of metrics"},
		{"no exporter port", "metricsProvider.className=" + PrometheusProvider + "\nmetricsProvider.httpPort=-1", "",
			"the port is missing: set"},
		{"purge interval", "autopurge.purgeInterval=5x", "", "must be a whole number of hours, or one with a unit"},
		{"purge interval too large", "autopurge.purgeInterval=9999999d", "", "must be at most"},
		{"native boolean", "reconfigEnabled=yes", "", "must be true or false"},
		{"no myid", three + limits, "", "/myid file is missing"},
		{"myid no number", three + limits, "abc", "\"abc\" is not a number"},
		{"myid below 0", three + limits, "-1", "must be at least 0"},
		{"no initLimit", three + "syncLimit=1", "1", "initLimit is not set"},
		{"no syncLimit", three + "initLimit=1", "1", "syncLimit is not set"},
		{"malformed member", "server.1=x", "", "must have the form"},
		{"same ports", "server.2=x:5:5", "", "the two ports of a server must differ"},
		{"several addresses", "server.2=a:5:6|b:5:6", "",
			"Multiple address feature is disabled, but multiple addresses were specified for sid 2"},
		{"only observers", "server.1=a:5:6:observer", "", "Observers w/o participants is an invalid configuration"},
		{"one voter and observers", "server.1=a:5:6:observer\nserver.2=a:5:6", "",
			"Observers w/o quorum is an invalid configuration"},
		{"no voter", limits + "standaloneEnabled=false\nserver.1=a:1:2:observer", "1",
			"standaloneEnabled = false then number of participants should be >0"},
		{"voter in no group", three + limits + "group.1=1:2", "1", "server 3 is in no group"},
		{"only weights", three + limits + "weight.1=1", "1", "is in no group"},
		{"two groups", three + limits + "group.1=1:2\ngroup.2=2:3", "1", "server 2 is in more than one group"},
		{"no voter counts", three + limits + "group.1=1:2:3\nweight.1=0\nweight.2=0\nweight.3=0", "1",
			"there is no quorum"},
		{"bad weight", three + limits + "group.1=1:2:3\nweight.1=-1", "1", "must be at least 0"},
		{"bad group", three + limits + "group.1=1:x:3", "1", `"x" is not a whole number`},
		{"group given twice", "group.1=1\ngroup.01=2", "", "group 1 is given twice"},
		{"server given twice", "server.1=a:1:2\nserver.01=b:1:2", "", "server 1 is given twice"},
		{"no election port", "server.5=a:1", "", "the election port is missing"},
		{"client port between servers", "server.1=a:2181:2\nserver.2=b:1:2\n" + limits, "1",
			"port 2181 is that of clientPort as well"},
		{"client port for elections", "server.1=a:1:2181\nserver.2=b:1:2\n" + limits, "1",
			"port 2181 is that of clientPort as well"},
		{"two client ports", "secureClientPort=2181\nssl.keyStore.location=k.pem", "",
			"port 2181 is that of clientPort as well"},
		{"admin port", "admin.serverPort=2181", "", "port 2181 is that of clientPort as well"},
		{"admin port between servers", "server.1=a:8080:2\nserver.2=b:1:2\n" + limits, "1",
			"port 8080 is that of admin.serverPort as well"},
		{"observer master port", three + limits + "observerMasterPort=2", "1", "port 2 is that of server.1 as well"},
		{"metrics", "metricsProvider.className=" + PrometheusProvider + "\nmetricsProvider.httpPort=8080", "",
			"port 8080 is that of admin.serverPort as well"},
		{"metrics by HTTPS at the default of HTTP", "metricsProvider.className=" + PrometheusProvider +
			"\nmetricsProvider.httpsPort=7000\nmetricsProvider.ssl.keyStore.location=k.pem\nadmin.serverPort=7000", "",
			"port 7000 is that of admin.serverPort as well"},
		{"address of another server", "server.1=a:1:2\nserver.2=a:2:3\n" + limits, "1",
			"a:2 is an address of server.1 as well"},
		{"own id unknown", three + limits, "9", "id 9 is not in the peer list"},
		{"own id too large for TTL",
			strings.Replace(three, "server.3", "server.255", 1) + limits + "extendedTypesEnabled=true", "255",
			"must not be above 254"},
		{"static and dynamic port differ", three + "server.4=d:1:2;5\n" + limits, "4",
			"client address for this server (id = 4) in static config file is :2181 is different from client " +
				"address found in dynamic file: 0.0.0.0:5"},
		{"digest algorithm", "DigestAuthenticationProvider.digestAlg=foo", "", "foo MessageDigest not available"},
		{"enforce-auth without schemes", "enforce.auth.enabled=true", "", "enforce.auth.schemes must be configured"},
		{"enforce-auth with an absent scheme", "enforce.auth.enabled=true\nenforce.auth.schemes=digest,sasl", "",
			"Authentication scheme sasl is not available."},
		{"enforce-auth with digest off", "enforce.auth.enabled=true\nenforce.auth.schemes=digest\n" +
			"DigestAuthenticationProvider.enabled=false", "", "Authentication scheme digest is not available."},
		{"SASL required without a JAAS file", "sessionRequireClientSASLAuth=true\n" + saslProvider, "",
			"SASL needs the JAAS file"},
		{"SASL enforced without a JAAS file",
			"enforce.auth.enabled=true\nenforce.auth.schemes=digest,sasl\n" + saslProvider, "",
			"SASL needs the JAAS file"},
		{"Java's revocation", "secureClientPort=1\nssl.keyStore.location=k.pem\ncom.sun.net.ssl.checkRevocation=true",
			"", "ssl.crl=true"},
		{"Java's revocation between servers",
			three + limits + "sslQuorum=true\nssl.crl=true\nssl.quorum.keyStore.location=k.pem\n" +
				"com.sun.security.enableCRLDP=true", "1", "ssl.quorum.crl=true"},
		{"OCSP", "ssl.ocsp=true", "", "OCSP is not supported"},
		{"OCSP between servers", "ssl.quorum.ocsp=true", "", "OCSP is not supported"},
		{"SASL required without provider", "sessionRequireClientSASLAuth=true", "",
			"Authentication scheme sasl is not available."},
		{"quorum SASL 1", "quorum.auth.serverRequireSasl=true", "", `needs quorum.auth.enableSasl=true`},
		{"quorum SASL 2", "quorum.auth.learnerRequireSasl=true", "", `needs quorum.auth.enableSasl=true`},
		{"quorum SASL 3", "quorum.auth.enableSasl=true\nquorum.auth.serverRequireSasl=true", "",
			`needs quorum.auth.learnerRequireSasl=true`},
		{"TLS without key", "secureClientPort=2281", "", "ssl.keyStore.location is not set"},
		{"unified port without key", "client.portUnification=true", "", "ssl.keyStore.location is not set"},
		{"quorum TLS without key", three + limits + "sslQuorum=true", "1", "ssl.quorum.keyStore.location is not set"},
		{"BCFKS", "ssl.keyStore.location=a\nssl.keyStore.type=BCFKS", "", "BCFKS stores cannot be read"},
		{"store of unknown type", "ssl.keyStore.location=a.key", "", "extension is not one of"},
		{"context supplier", "ssl.context.supplier.class=x", "", "cannot supply the TLS context"},
		{"demonstration provider", "authProvider.1=org.apache.zookeeper.server.auth.KeyAuthenticationProvider",
			"", "refused"},
		{"command prefix", "admin.commandURL=commands", "", "must start with a slash"},
		{"http version", "admin.httpVersion=12", "", "must be 10, 11 or 20"},
		{"compression", "snapshot.compression.method=lz4", "", "must be one of gz, snappy"},
		{"notification intervals", "fastleader.minNotificationInterval=61000", "", "must not be larger than"},
		{"ratio", "connection_throttle_drop_increase=1.5", "", "must be a number from 0 to 1"},
		{"not a ratio", "connection_throttle_drop_increase=NaN", "", "must be a number from 0 to 1"},
		{"jute.maxbuffer", "jute.maxbuffer=0", "", "must be a whole number from 1 to 1073741824"},
		{"jute.maxbuffer too large", "jute.maxbuffer=1073741825", "", "a whole number from 1 to 1073741824"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.myid != "" {
				writeIn(t, dir, "myid", tt.myid+"\n")
			}
			text := "dataDir=DIR\nclientPort=2181\n" + tt.text
			if strings.HasSuffix(tt.name, "ddress alone") {
				text = "dataDir=DIR\n" + tt.text
			}
			c, _, err := Load(writeIn(t, dir, "zoo.cfg", text), nil, nil)
			require.Nil(t, c)
			require.ErrorContains(t, err, tt.rule)
			require.Equal(t, ExitInvalid, exitCode(err))
			require.Len(t, err.(Problems), strings.Count(err.Error(), "\n")+1)
			for _, p := range err.(Problems) {
				require.Contains(t, p.Rule, tt.rule, "a rule that is not meant is reported too")
			}
		})
	}
	for _, kept := range []string{
		"requireClientAuthScheme=sasl\nsessionRequireClientSASLAuth=true\n" + saslProvider +
			"\njava.security.auth.login.config=/j",
		"requireClientAuthScheme=digest\nenforce.auth.enabled=true\nenforce.auth.schemes=digest",
		"com.sun.net.ssl.checkRevocation=true",
		"secureClientPort=2\nssl.keyStore.location=k.pem\nssl.crl=true\ncom.sun.net.ssl.checkRevocation=true",
		"ssl.ocsp=false",
	} {
		require.NoError(t, must.Err2(parse(kept)), kept)
	}
	for text, warning := range map[string]string{
		"server.1=a:1:2\nserver.2=b:1:2\nserver.3=b:1:2\nstandaloneEnabled=false\n" + limits: "server.3: b:1 is an " +
			"address of server.2 as well",
		"datadir=/d":                   "datadir: key is not known and has no effect; did you mean dataDir?",
		"tickTmie=1":                   "did you mean tickTime?",
		"Server.1=a:1:2":               "did you mean server.1? The server that it names is not in the ensemble",
		"server12=a:1:2":               "did you mean server.12?",
		"sevrer.2=a:1:2":               "did you mean server.2?",
		"autopurge.purgeIntervall=1":   "did you mean autopurge.purgeInterval?",
		"minSesionTimout=1":            "did you mean minSessionTimeout?",
		saslProvider:                   "authProvider.1: no client can authenticate by SASL: SASL needs the JAAS file",
		"requireClientAuthScheme=sasl": "requireClientAuthScheme: no server acts on this key, ZooKeeper neither",
		"enforce.auth.enabled=true\nenforce.auth.schemes=digest\n" + saslProvider: "no client can " +
			"authenticate by SASL",
	} {
		_, warnings, err := parse(text)
		require.NoError(t, err, text)
		require.Contains(t, warningText(warnings), warning)
	}
	require.NoError(t, must.Err2(Load(writeIn(t, t.TempDir(), "zoo.cfg",
		"dataDir=DIR\nclientPort=2181\nclientPortAddress=127.0.0.1\nsecureClientPort=2181\n"+
			"secureClientPortAddress=127.0.0.2\nssl.keyStore.location=k.pem\nadmin.serverPort=0\n"+
			"metricsProvider.className="+PrometheusProvider+
			"\nmetricsProvider.httpPort=0\n"), nil, nil)), "one port of two addresses, and any free port twice")
	_, _, err := Parse(strings.NewReader("clientPort=1"), "zoo.cfg")
	require.EqualError(t, err, "config: zoo.cfg: dataDir is not set: name the directory for snapshots and logs, "+
		"as in dataDir=/var/lib/warren")
	require.Equal(t, ExitInvalid, exitCode(err))
}

func TestDynamicFile(t *testing.T) {
	load := func(t *testing.T, static, dynamic string) (*Config, Warnings, string, error) {
		dir := t.TempDir()
		writeIn(t, dir, "myid", "1")
		if dynamic != "" {
			writeIn(t, dir, "zoo.cfg.dynamic.10000000a", dynamic)
		}
		file := writeIn(t, dir, "zoo.cfg",
			"dataDir=DIR\n"+limits+static+"dynamicConfigFile=DIR/zoo.cfg.dynamic.10000000a\n")
		c, w, err := Load(file, nil, nil)
		return c, w, dir, err
	}

	c, warnings, _, err := load(t, "",
		"server.1=a:1:2:participant;127.0.0.1:2181;2281\nserver.2=b:1:2\nserver.3=c:1:2")
	require.ErrorContains(t, err, "ssl.keyStore.location", "the secure port of the own line counts")
	require.Nil(t, c)
	require.Empty(t, warnings)

	c, warnings, _, err = load(t, "peerType=participant\n",
		"server.1=a:1:2:observer;127.0.0.1:2181\nserver.2=b:1:2\nserver.3=c:1:2\nserver.4=c:1:2\nserver.4=d:1:2")
	require.NoError(t, err)
	require.Equal(t, int64(0x10000000a), c.ConfigVersion)
	require.Equal(t, int64(1), c.ServerID)
	require.Equal(t, Observer, c.PeerType)
	require.Equal(t, "127.0.0.1:2181", clientAddress(c))
	require.Equal(t, "d", c.Member(4).Addresses[0].Host)
	require.Len(t, warnings, 2)
	require.Contains(t, warningText(warnings),
		"Peer type from servers list (OBSERVER) doesn't match peerType (PARTICIPANT). Defaulting to servers list.")
	require.Contains(t, warningText(warnings), "is replaced by line 5")

	for name, tt := range map[string]struct{ static, dynamic, rule string }{
		"members in the static file": {"server.2=b:1:2\n", "server.1=a:1:2",
			"parameter: server.2 must be in a separate dynamic config file"},
		"groups in the static file": {"group.2=1\n", "server.1=a:1:2",
			"parameter: group.2 must be in a separate dynamic config file"},
		"other keys": {"", three + "k=1", "Unrecognised parameter: k"},
		"version":    {"", three + "version=1", "dynamic file shouldn't have version inside"},
		"missing":    {"", "", "zoo.cfg.dynamic.10000000a file is missing"},
		"other client port": {"clientPort=5\nclientPortAddress=127.0.0.1\n", "server.1=a:1:2;127.0.0.2:5",
			"client address for this server (id = 1) in static config file is 127.0.0.1:5 is different from client " +
				"address found in dynamic file: 127.0.0.2:5"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, dir, err := load(t, tt.static, tt.dynamic)
			require.ErrorContains(t, err, tt.rule)
			require.Equal(t, ExitInvalid, exitCode(err))
			require.Contains(t, err.Error(), dir, "the place is named")
		})
	}

	// A static address of all addresses agrees with the line that has the same port.
	c, _, _, err = load(t, "clientPort=5\nclientPortAddress=0.0.0.0\n", "server.1=a:1:2;127.0.0.2:5")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.2:5", clientAddress(c))

	// A name and an address, or two forms of an address, may be the same.
	for static, line := range map[string]string{"127.0.0.1": "localhost", "zk1": "10.0.0.1", "::1": "[0:0::1]"} {
		c, _, _, err = load(t, "clientPort=5\nclientPortAddress="+static+"\n", "server.1=a:1:2;"+line+":5")
		require.NoError(t, err)
		require.Equal(t, strings.Trim(line, "[]"), c.ClientPortAddress, "that of the line counts")
	}

	require.Zero(t, dynamicVersion("/x/zoo.cfg.dynamic"))
	require.Zero(t, dynamicVersion("/x/members"))
}

func TestParseLeavesOtherFilesAlone(t *testing.T) {
	c, _ := must.Do2(parse("standaloneEnabled=false\ndynamicConfigFile=/nowhere/zoo.cfg.dynamic.1\n" + limits))(t)
	require.Empty(t, c.Members)
	c, _ = must.Do2(parse(three + limits))(t)
	require.EqualValues(t, NoServerID, c.ServerID)
}

func TestServerID(t *testing.T) {
	load := func(t *testing.T, myid, text string, env ...string) (*Config, Warnings, error) {
		dir := t.TempDir()
		if myid != "" {
			writeIn(t, dir, "myid", myid)
		}
		return Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nclientPort=2181\n"+three+limits+text), nil, env)
	}
	for _, myid := range []string{"2", "2\n", " 2 \r\nsecond line\n"} {
		c, warnings := must.Do2(load(t, myid, ""))(t)
		require.Empty(t, warnings)
		require.Equal(t, int64(2), c.ServerID)
	}
	c, _ := must.Do2(load(t, "", "myid=3\n"))(t)
	require.Equal(t, int64(3), c.ServerID)

	c, _ = must.Do2(load(t, "", "", "ZOO_MY_ID=1"))(t)
	require.Equal(t, int64(1), c.ServerID)

	c, warnings := must.Do2(load(t, "2", "myid=3\n", "ZOO_MY_ID=x"))(t)
	require.Equal(t, int64(2), c.ServerID, "the file wins")
	require.Contains(t, warningText(warnings), "myid: loses against the file")

	require.ErrorContains(t, must.Err2(load(t, "", "", "ZOO_MY_ID=x")), "ZOO_MY_ID: \"x\" is not a number")

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "myid"), 0o700))
	_, _, err := Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\n"+three+limits), nil, nil)
	require.ErrorContains(t, err, "myid: file cannot be read")
	require.Equal(t, ExitDataDir, exitCode(err))
}

// Ensembles are numbered from 0 as well.
func TestServerZero(t *testing.T) {
	const from0 = "server.0=a:1:2\nserver.1=b:1:2\nserver.2=c:1:2\ngroup.0=0:1:2\nweight.0=2\n"
	load := func(myid, text string) (*Config, error) {
		dir := t.TempDir()
		if myid != "" {
			writeIn(t, dir, "myid", myid)
		}
		c, _, err := Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nclientPort=2181\n"+limits+text), nil, nil)
		return c, err
	}
	for _, text := range []string{from0, from0 + "myid=0\n"} {
		for _, myid := range []string{"0", ""} {
			c, err := load(myid, text)
			if myid == "" && text == from0 {
				require.ErrorContains(t, err, "myid file is missing")
				continue
			}
			require.NoError(t, err)
			require.Zero(t, c.ServerID)
			require.Zero(t, c.OwnID())
			require.EqualValues(t, 2, c.Member(0).Weight)
		}
	}
	require.ErrorContains(t, must.Err(load("-1", from0)), "must be at least 0")
	for _, myid := range []string{"", "0", "5"} {
		c, err := load(myid, "")
		require.NoError(t, err, "standalone with the id %q", myid)
		require.EqualValues(t, 1, c.OwnID())
	}
}

// The official image has one server line, myid 1 and no clientPort: it runs alone and takes the port from the line.
func TestStandaloneWithOneServerLine(t *testing.T) {
	dir := t.TempDir()
	writeIn(t, dir, "myid", "1")
	c, warnings := must.Do2(Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nserver.1=localhost:2888:3888;2181\n"+
		"standaloneEnabled=true\nadmin.enableServer=true\n"), nil, nil))(t)
	require.False(t, c.Distributed())
	require.Equal(t, "0.0.0.0:2181", clientAddress(c))
	require.Equal(t, "Invalid configuration, only one server specified (ignoring)\n", warningText(warnings))

	c, warnings = must.Do2(Load(writeIn(t, dir, "zoo.cfg",
		"dataDir=DIR\nserver.1=localhost:2888:3888;2181\nstandaloneEnabled=false\n"+limits), nil, nil))(t)
	require.True(t, c.Distributed(), "operators that grow an ensemble from one member start it so")
	require.Equal(t, "No server failure will be tolerated. You need at least 3 servers.\n", warningText(warnings))
}

// Values that ZooKeeper corrects instead of refusing.
func TestCorrectedValues(t *testing.T) {
	tests := []struct {
		text    string
		got     func(*Config) any
		want    any
		warning string
	}{
		{"autopurge.snapRetainCount=1", func(c *Config) any { return c.Autopurge.SnapRetainCount }, 3,
			"1 is below the minimum, 3 is used"},
		{"snapCount=0", func(c *Config) any { return c.SnapCount }, 2, "0 is below the minimum, 2 is used"},
		{"globalOutstandingLimit=0", func(c *Config) any { return c.Limits.GlobalOutstandingLimit }, 1,
			"0 is below the minimum, 1 is used"},
		{"commitLogCount=5", func(c *Config) any { return c.CommitLogCount }, 500, "500 is used"},
		{"snapshotSizeFactor=2", func(c *Config) any { return c.SnapshotSizeFactor }, 0.33, "0.33 is used"},
		{"snapshotSizeFactor=-1", func(c *Config) any { return c.SnapshotSizeFactor }, -1.0, ""},
		{"jute.maxbuffer.extrasize=5", func(c *Config) any { return c.JuteMaxBufferExtra }, 1024, "1024 is used"},
		{"snapSizeLimitInKb=-1", func(c *Config) any { return c.SnapSizeLimitKB }, int64(0), ""},
		{"maxClientCnxns=-1", func(c *Config) any { return c.MaxClientCnxns }, 0, ""},
		{"minSessionTimeout=-1", func(c *Config) any { return c.MinSessionTimeout }, 6 * time.Second, ""},
		{"flushDelay=9", func(c *Config) any { return c.MaxWriteQueuePollTime }, 3 * time.Millisecond,
			"does not act on: flushDelay"},
		{"clientPortAddress=", func(c *Config) any { return c.ClientPortAddress }, "localhost",
			"is empty and is read as localhost"},
		{"digest.enabled=TRUE", func(c *Config) any { return c.DigestEnabled }, true, ""},
		{"digest.enabled=yes", func(c *Config) any { return c.DigestEnabled }, false,
			`"yes" is neither true nor false and is read as false`},
		{"forceSync=No", func(c *Config) any { return c.ForceSync }, true,
			`"No" is neither no nor yes and is read as yes`},
		{"forceSync=no", func(c *Config) any { return c.ForceSync }, false, "loses writes that were acknowledged"},
		{"skipACL=true", func(c *Config) any { return c.SkipACL }, false,
			`"true" is neither yes nor no and is read as no`},
		{"skipACL=yes", func(c *Config) any { return c.SkipACL }, true, "every ACL check is off"},
		{"leaderServes=false", func(c *Config) any { return c.LeaderServes }, true, "is read as yes"},
		{"admin.enableServer=FALSE", func(c *Config) any { return c.Admin.Enabled }, true, "is read as true"},
		{"localSessionsEnabled=TRUE", func(c *Config) any { return c.LocalSessionsEnabled }, true, ""},
		{"4lw.commands.whitelist=cons, envi,,* ", func(c *Config) any { return c.FourLetterWhitelist },
			[]string{"cons", "envi", "*"}, ""},
		{"4lw.commands.whitelist=ruok, reqs, telnet close", func(c *Config) any { return c.FourLetterWhitelist },
			[]string{"ruok", "reqs", "telnet close"},
			"reqs: no four-letter words, and without effect; there are conf cons "},
		{"DigestAuthenticationProvider.superDigest=bob:x", func(c *Config) any { return c.SuperDigest }, "bob:x",
			"no client can be the super user"},
		{"authProvider.x509=com.example.Mine", func(c *Config) any { return len(c.AuthProviders) }, 0,
			"is not known and is ignored"},
		{"superUser.b=y\nsuperUser=x", func(c *Config) any { return c.SASL.SuperUsers }, []string{"x", "y"}, ""},
		{"superUserx=y", func(c *Config) any { return len(c.SASL.SuperUsers) }, 0, "has no effect"},
		{"server.256=a:1:2", func(c *Config) any { return c.Members[0].ID }, int64(256), "an id above 255"},
		{"ssl.keyStore.location=a.P12", func(c *Config) any { return c.TLS.KeyStore.Format() }, "PKCS12", ""},
		{"ssl.keyStore.location=a.jks", func(c *Config) any { return c.TLS.KeyStore.Format() }, "JKS", ""},
		{"ssl.keyStore.location=a.jks\nssl.keyStore.type=pem",
			func(c *Config) any { return c.TLS.KeyStore.Format() }, "PEM", ""},
		{"secureClientPort=2\nssl.keyStore.location=a.pem",
			func(c *Config) any { return c.HasScheme("x509") }, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			c, warnings := must.Do2(parse(tt.text))(t)
			require.Equal(t, tt.want, tt.got(c))
			if tt.warning == "" {
				require.Empty(t, warnings)
			} else {
				require.Contains(t, warningText(warnings), tt.warning)
			}
		})
	}
}

// Validate finds in a Config built in code what Load finds in a file.
func TestValidateBuiltConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"snapCount must be a whole number":             func(c *Config) { c.SnapCount = 1 },
		"tickTime must be more than 0":                 func(c *Config) { c.TickTime = 0; c.MinSessionTimeout = 0 },
		"dataDir is not set":                           func(c *Config) { c.DataDir = "" },
		"clientPort must be at most 65535":             func(c *Config) { c.ClientPort = 70000 },
		"ssl.clientAuth must be one of":                func(c *Config) { c.TLS.ClientAuth = "maybe" },
		"jute.maxbuffer must be a whole number from 1": func(c *Config) { c.JuteMaxBuffer = -1 },
		"myid must be at least -1":                     func(c *Config) { c.ServerID = -2 },
		"has no address":                               func(c *Config) { c.Members = []Member{{ID: 1}} },
		"the election port is missing of server 1": func(c *Config) {
			c.Members = []Member{{ID: 1, Addresses: []PeerAddress{{"h", 1, PortUnset}}}}
		},
		"data/myid file is missing":                    func(c *Config) { c.Members = []Member{{ID: 1}, {ID: 2}} },
		"minSessionTimeout must not be larger":         func(c *Config) { c.MinSessionTimeout = time.Hour },
		"autopurge.purgeInterval must be at least 0":   func(c *Config) { c.Autopurge.PurgeInterval = -time.Hour },
		"admin.commandURL must start with a slash":     func(c *Config) { c.Admin.CommandURL = "x/" },
		"warren.diskWatermarkPercent must be a number": func(c *Config) { c.DiskWatermark.Percent = 101 },
	} {
		c := Default()
		change(c)
		require.ErrorContains(t, c.Validate(), name)
	}
}

// A standalone server has no use for an id: a myid of -1, no number, or none that can be read, does not stop it, as
// ZooKeeper starts with -1. In an ensemble each is refused.
func TestIDOfAStandaloneServer(t *testing.T) {
	for _, text := range []string{"-1", "x", "", "99999999999999999999"} {
		dir := t.TempDir()
		writeIn(t, dir, "myid", text+"\n")
		c, warnings, err := Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nclientPort=2181\n"), nil, nil)
		require.NoError(t, err, text)
		require.EqualValues(t, NoServerID, c.ServerID, text)
		require.Contains(t, warningText(warnings), "has no effect on a standalone one", text)
		_, _, err = Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nclientPort=2181\n"+three+limits), nil, nil)
		require.Error(t, err, text)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "myid"), 0o700))
	_, warnings := must.Do2(Load(writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nclientPort=2181\n"), nil, nil))(t)
	require.Contains(t, warningText(warnings), "cannot be read")
}

// An ensemble that no server would start with is refused, and one of the largest size is not.
func TestMostVoters(t *testing.T) {
	text := limits
	for id := range votersMax + 2 {
		role := "participant"
		if id == 0 {
			role = "observer"
		}
		text += fmt.Sprintf("server.%d=zk%d:2888:3888:%s\n", id, id, role)
		_, _, err := parse(text)
		switch {
		case id == votersMax:
			require.NoError(t, err)
		case id > votersMax:
			require.ErrorContains(t, err, "65 servers vote, at most 64 are supported")
			require.Equal(t, ExitInvalid, exitCode(err))
		}
	}
}
