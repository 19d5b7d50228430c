package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Each environment that works with Bitnami's image is read as that image does, and no other one.
func TestWhichImage(t *testing.T) {
	const official, bitnami = "/conf/zoo.cfg", "/opt/bitnami/zookeeper/conf/zoo.cfg"
	for env, want := range map[string]string{
		"ZOO_SERVERS=server.1=a:1:2;3":                                official,
		"ZOO_SERVERS=a:1:2 ALLOW_ANONYMOUS_LOGIN=yes":                 bitnami,
		"ALLOW_ANONYMOUS_LOGIN=yes ZOO_CONF_DIR=/conf":                bitnami,
		"ALLOW_EMPTY_PASSWORD=yes":                                    bitnami,
		"ALLOW_ANONYMOUS_LOGIN=no ZOO_ENABLE_AUTH=yes":                bitnami,
		"ZOO_ENABLE_AUTH_FILE=/run/auth":                              bitnami,
		"ALLOW_ANONYMOUS_LOGIN=":                                      "",
		"ZOO_HEAP_SIZE=1024":                                          "",
		"ZOO_CONF_DIR=/conf ZOO_DATA_DIR=/data ZOO_DATA_LOG_DIR=/dlg": official,
	} {
		require.Equal(t, want, NewImage(strings.Fields(env)).File, env)
	}
}

// bitnamiLoad loads the configuration that env makes of Bitnami's image in a folder of the test.
func bitnamiLoad(t *testing.T, env ...string) (root string, c *Config, warnings Warnings, err error) {
	t.Helper()
	root = t.TempDir()
	c, warnings, err = newBitnamiImage(env, root).Load(nil, env)
	return root, c, warnings, err
}

func TestBitnamiDefaults(t *testing.T) {
	root, c, warnings, err := bitnamiLoad(t, "ALLOW_ANONYMOUS_LOGIN=yes", "ZOO_HEAP_SIZE=1024", "ZOO_LOG_LEVEL=ERROR")
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, filepath.Join(root, "bitnami/zookeeper/data"), c.DataDir)
	require.Equal(t, c.DataDir, c.DataLogDir)
	require.False(t, c.Distributed())
	require.Equal(t, []int{2181, 10, 5, 60, 0, 100000},
		[]int{c.ClientPort, c.InitLimit, c.SyncLimit, c.MaxClientCnxns, c.MaxCnxns, c.SnapCount})
	require.EqualValues(t, 65536, c.PreAllocSizeKB)
	require.Equal(t, []string{"srvr", "mntr"}, c.FourLetterWhitelist)
	require.False(t, c.Admin.Enabled)
	require.Equal(t, 40*time.Second, c.MaxSessionTimeout)
	require.Equal(t, "error", c.Log.Level)
	require.Equal(t, "1\n", string(must.ReadFile(t, filepath.Join(c.DataDir, "myid"))))
	info := must.Do(os.Stat(c.File))(t)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "passwords of key stores are in it")
}

func TestBitnamiEnsemble(t *testing.T) {
	const pods = "zk-0.zk-headless.ns.svc.cluster.local:2888:3888::7 " +
		"zk-1.zk-headless.ns.svc.cluster.local:2888:3888::8 " +
		"zk-2.zk-headless.ns.svc.cluster.local:2888:3888:observer::9 "
	env := []string{"ALLOW_ANONYMOUS_LOGIN=yes", "ZOO_SERVERS=" + pods, "ZOO_PORT_NUMBER=2182", minServerID + "=7",
		"POD_NAME=zk-1", "ZOO_LISTEN_ALLIPS_ENABLED=yes", "ZOO_RECONFIG_ENABLED=TRUE",
		"ZOO_DATA_LOG_DIR=/bitnami/zookeeper/dataLog", "ZOO_AUTOPURGE_INTERVAL=1", "ZOO_AUTOPURGE_RETAIN_COUNT=10",
		"ZOO_ENABLE_PROMETHEUS_METRICS=yes", "ZOO_PROMETHEUS_METRICS_PORT_NUMBER=9141",
		"ZOO_4LW_COMMANDS_WHITELIST=srvr, mntr, ruok", "ZOO_ENABLE_ADMIN_SERVER=yes",
		"ZOO_ADMIN_SERVER_ADDRESS=0.0.0.0", "ZOO_ADMIN_SERVER_PORT_NUMBER=8081", "ZOO_CFG_globalOutstandingLimit=77",
		"ZOO_CFG_autopurge_purgeInterval=2", "WARREN_SUPER_PASSWORD=secret"}
	_, c, _, err := bitnamiLoad(t, env...)
	require.NoError(t, err)
	require.Equal(t, int64(8), c.ServerID)
	require.Len(t, c.Members, 3)
	require.Equal(t, Observer, c.Member(9).Role)
	require.Equal(t, "zk-1.zk-headless.ns.svc.cluster.local", c.Member(8).Addresses[0].Host)
	require.Equal(t, 2182, c.ClientPort)
	require.True(t, c.ReconfigEnabled)
	require.True(t, c.QuorumListenOnAllIPs)
	require.Equal(t, "/bitnami/zookeeper/dataLog", c.DataLogDir)
	require.Equal(t, Autopurge{10, 2 * time.Hour}, c.Autopurge, "ZOO_CFG_ comes last")
	require.Equal(t, 9141, c.Metrics.Port)
	require.Equal(t, 8081, c.Admin.Port)
	require.Equal(t, 77, c.GlobalOutstandingLimit)
	require.Equal(t, "super:lK75jTNcA+U9vtVEw5vB51mj/w4=", c.SuperDigest)

	_, c, _, err = bitnamiLoad(t, "ALLOW_EMPTY_PASSWORD=1", "ZOO_SERVER_ID=2",
		"ZOO_SERVERS=a:1:2,b:1:2;c:1:2:participant")
	require.NoError(t, err)
	require.Equal(t, "b", c.Member(2).Addresses[0].Host, "without ids they are numbered from 1")
	require.Equal(t, int64(2), c.ServerID)

	for servers, host := range map[string]string{
		"[fd00::1]:1:2 [fd00::2]:1:2": "fd00::2", "[fd00::1]:1:2::2 [fd00::2]:1:2::1": "fd00::1",
	} {
		_, c, _, err = bitnamiLoad(t, "ALLOW_EMPTY_PASSWORD=1", "ZOO_SERVER_ID=2", "ZOO_SERVERS="+servers)
		require.NoError(t, err, servers)
		require.Equal(t, host, c.Member(2).Addresses[0].Host, servers)
	}

	_, c, _, err = bitnamiLoad(t, "ALLOW_EMPTY_PASSWORD=1", "ZOO_SERVERS=zk-0.zk:1:2::1")
	require.NoError(t, err)
	require.False(t, c.Distributed(), "one server is alone")
	_, c, _, err = bitnamiLoad(t, "ALLOW_EMPTY_PASSWORD=1", "ZOO_SERVERS=zk-0.zk:1:2::1", "ZOO_RECONFIG_ENABLED=yes",
		"ZOO_CFG_standaloneEnabled=false")
	require.NoError(t, err)
	require.True(t, c.Distributed(), "others can join it")
}

// A file myid of the volume goes before the variables, as in Bitnami's chart.
func TestBitnamiVolumeHasMyID(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, "bitnami/zookeeper/data")
	require.NoError(t, os.MkdirAll(data, 0o755))
	writeIn(t, data, "myid", "3\n")
	c, _ := must.Do2(newBitnamiImage([]string{"ALLOW_ANONYMOUS_LOGIN=yes", "ZOO_SERVER_ID=1",
		"ZOO_SERVERS=a:1:2 b:1:2 c:1:2"}, root).Load(nil, nil))(t)
	require.Equal(t, int64(3), c.ServerID)
}

func TestBitnamiAuthentication(t *testing.T) {
	dir := t.TempDir()
	passwords := writeIn(t, dir, "passwords", `one,back\slash;"quoted"`+"\n")
	env := []string{"ZOO_ENABLE_AUTH=yes", "ALLOW_ANONYMOUS_LOGIN=no", "ZOO_SERVER_USERS=alice;bob carol@REALM",
		"ZOO_SERVER_PASSWORDS_FILE=" + passwords, "ZOO_CLIENT_USER=alice", "ZOO_CLIENT_PASSWORD=one",
		"ZOO_ENABLE_QUORUM_AUTH=yes", "ZOO_QUORUM_LEARNER_USER=q", "ZOO_QUORUM_LEARNER_PASSWORD=p p",
		"ZOO_QUORUM_SERVER_USERS=q", "ZOO_QUORUM_SERVER_PASSWORDS=pp"}
	root, c, _, err := bitnamiLoad(t, env...)
	require.NoError(t, err)
	require.True(t, c.SessionRequireClientSASLAuth)
	require.True(t, c.QuorumAuth.EnableSASL)
	require.True(t, c.QuorumAuth.LearnerRequireSASL)
	require.True(t, c.QuorumAuth.ServerRequireSASL)
	require.Equal(t, filepath.Join(root, "opt/bitnami/zookeeper/conf/zoo_jaas.conf"), c.SASL.LoginConfig)
	require.Equal(t, `Client {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    username="alice"
    password="one";
};
Server {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    user_alice="one"
    user_bob="back\\slash"
    "user_carol@REALM"="\"quoted\"";
};
QuorumLearner {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    username="q"
    password="p p";
};
QuorumServer {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    user_q="pp";
};
`, string(must.ReadFile(t, c.SASL.LoginConfig)))
	info := must.Do(os.Stat(c.SASL.LoginConfig))(t)
	require.Equal(t, os.FileMode(0o400), info.Mode().Perm())

	// With a zoo.cfg of the operator the variables make no JAAS file count, and the start says so.
	require.NoError(t, os.WriteFile(c.File, []byte("dataDir="+c.DataDir+"\nclientPort=2181\n"), 0o600))
	_, warnings := must.Do2(newBitnamiImage(env, root).Load(nil, nil))(t)
	require.Contains(t, warnings[len(warnings)-1].Text, "are not authenticated")
}

func TestBitnamiTLS(t *testing.T) {
	dir := t.TempDir()
	stores := filepath.Join(dir, "stores")
	require.NoError(t, os.Mkdir(stores, 0o755))
	writeIn(t, stores, "k.jks", "")
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		writeIn(t, dir, name, "")
	}
	env := []string{"ALLOW_ANONYMOUS_LOGIN=yes", "ZOO_TLS_CLIENT_ENABLE=true", "ZOO_TLS_PORT_NUMBER=3182",
		"ZOO_TLS_CLIENT_AUTH=none", "ZOO_TLS_CLIENT_KEYSTORE_FILE=" + dir + "/zookeeper.keystore.jks",
		"ZOO_TLS_CLIENT_TRUSTSTORE_FILE=" + dir + "/zookeeper.truststore.jks",
		`ZOO_TLS_CLIENT_KEYSTORE_PASSWORD=a\b` + "\nclientPort=1", "ZOO_TLS_QUORUM_ENABLE=true",
		"ZOO_TLS_QUORUM_KEYSTORE_FILE=" + stores + "/k.jks", "ZOO_TLS_QUORUM_TRUSTSTORE_FILE=" + stores + "/t.jks",
		"ZOO_TLS_QUORUM_KEYSTORE_PASSWORD=x", "ZOO_TLS_QUORUM_TRUSTSTORE_PASSWORD=y"}
	_, c, _, err := bitnamiLoad(t, env...)
	require.NoError(t, err)
	require.Equal(t, 3182, c.SecureClientPort)
	require.Equal(t, PortUnset, c.ClientPort, "the plain port is closed")
	require.Equal(t, "none", c.TLS.ClientAuth)
	require.Equal(t, dir+"/", c.TLS.KeyStore.Location, "the folder of a secret of Kubernetes")
	require.Equal(t, "PEM", c.TLS.KeyStore.Format())
	require.Equal(t, Secret("a\\b\nclientPort=1"), c.TLS.KeyStore.Password, "a line end in a password begins no line")
	require.True(t, c.SSLQuorum)
	require.Equal(t, stores+"/k.jks", c.QuorumTLS.KeyStore.Location)
	require.Equal(t, stores+"/t.jks", c.QuorumTLS.TrustStore.Location)
	require.Equal(t, "need", c.QuorumTLS.ClientAuth)
}

// What would start a server that is open, alone, or another server of the ensemble is refused.
func TestImageMistakes(t *testing.T) {
	for name, test := range map[string]struct{ env, want string }{
		"nobody decided": {"ALLOW_ANONYMOUS_LOGIN=no", "ALLOW_ANONYMOUS_LOGIN: clients are not authenticated"},
		"two ids": {"ALLOW_ANONYMOUS_LOGIN=yes ZOO_SERVER_ID=1 ZOO_MY_ID=2",
			"ZOO_MY_ID: is the id in the official image"},
		"an id, no choice": {"ZOO_CONF_DIR=/conf ZOO_SERVER_ID=2",
			"ZOO_SERVER_ID: is the id in Bitnami's image"},
		"servers, no choice": {"ZOO_CONF_DIR=/conf ZOO_SERVERS=a:2888:3888::1",
			`"a:2888:3888::1" has not the form server.N=`},
		"servers of the other": {"ALLOW_ANONYMOUS_LOGIN=yes ZOO_SERVERS=server.1=a:2888:3888;2181",
			`ZOO_SERVERS: "server.1=a:2888:3888" has neither`},
		"ids of some": {"ALLOW_ANONYMOUS_LOGIN=yes ZOO_SERVERS=a:1:2::1,b:1:2", `"b:1:2" has neither`},
		"an id twice": {"ALLOW_ANONYMOUS_LOGIN=yes ZOO_SERVERS=a:1:2::1,b:1:2::1",
			"two servers have the id 1"},
		"passwords are missing": {"ZOO_ENABLE_AUTH=yes ZOO_SERVER_USERS=a,b ZOO_SERVER_PASSWORDS=x",
			"ZOO_SERVER_USERS: has 2 names, and ZOO_SERVER_PASSWORDS has 1 passwords"},
		"users are missing": {"ZOO_ENABLE_AUTH=yes", "ZOO_SERVER_USERS: is empty"},
		"no password of servers": {"ALLOW_ANONYMOUS_LOGIN=yes ZOO_ENABLE_QUORUM_AUTH=yes ZOO_QUORUM_LEARNER_USER=a",
			"ZOO_QUORUM_LEARNER_USER: ZOO_ENABLE_QUORUM_AUTH=yes needs it"},
		"a file is missing": {"ALLOW_ANONYMOUS_LOGIN=yes ZOO_SERVER_PASSWORDS_FILE=/nowhere/x",
			"ZOO_SERVER_PASSWORDS_FILE: the file cannot be read"},
		"FIPS": {"ZOO_ENABLE_AUTH=yes ZOO_SERVER_USERS=a ZOO_SERVER_PASSWORDS=x ZOO_FIPS_MODE=yes",
			"ZOO_FIPS_MODE: excludes DIGEST-MD5"},
		"a pod without a number": {"ALLOW_ANONYMOUS_LOGIN=yes WARREN_MIN_SERVER_ID=1 POD_NAME=zk",
			`the name "zk" of the pod does not end in one`},
	} {
		env := strings.Fields(test.env)
		i := newOfficialImage(env)
		if isBitnami(env) {
			i = newBitnamiImage(env, t.TempDir())
		}
		_, _, err := i.Load(nil, nil)
		require.ErrorContains(t, err, test.want, name)
		require.Equal(t, ExitInvalid, err.(Problems).ExitCode(), name)
	}
	_, _, warnings, err := bitnamiLoad(t, "ALLOW_ANONYMOUS_LOGIN=yes", "ZOO_CFG_EXTRA=snapCount=5",
		"ZOO_CONF_DIR=/conf")
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].String(), "ZOO_CFG_EXTRA: is a variable of the official image")
}
