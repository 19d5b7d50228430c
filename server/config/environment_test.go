package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestEnvName(t *testing.T) {
	for key, want := range map[string]string{
		"snapCount": "WARREN_SNAP_COUNT", "myid": "WARREN_MYID", "server.12": "WARREN_SERVER_12",
		"4lw.commands.whitelist": "WARREN_4LW_COMMANDS_WHITELIST", "emulate353TTLNodes": "WARREN_EMULATE353_TTL_NODES",
		"warren.logLevel": "WARREN_LOG_LEVEL", "fips-mode": "WARREN_FIPS_MODE",
		"X509AuthenticationProvider.superUser":      "WARREN_X509_AUTHENTICATION_PROVIDER_SUPER_USER",
		"IPAuthenticationProvider.usexforwardedfor": "WARREN_IP_AUTHENTICATION_PROVIDER_USEXFORWARDEDFOR",
		"DigestAuthenticationProvider.superDigest":  "WARREN_DIGEST_AUTHENTICATION_PROVIDER_SUPER_DIGEST",
		"multiAddress.reachabilityCheckTimeoutMs":   "WARREN_MULTI_ADDRESS_REACHABILITY_CHECK_TIMEOUT_MS",
		"connection_throttle_global_session_weight": "WARREN_CONNECTION_THROTTLE_GLOBAL_SESSION_WEIGHT",
		"metricsProvider.ssl.want.client.auth":      "WARREN_METRICS_PROVIDER_SSL_WANT_CLIENT_AUTH",
		"quorum.auth.kerberos.servicePrincipal":     "WARREN_QUORUM_AUTH_KERBEROS_SERVICE_PRINCIPAL",
		"znode.container.maxNeverUsedIntervalMs":    "WARREN_ZNODE_CONTAINER_MAX_NEVER_USED_INTERVAL_MS",
		"serializeLastProcessedZxid.enabled":        "WARREN_SERIALIZE_LAST_PROCESSED_ZXID_ENABLED",
		"warren.diskWatermarkPercent":               "WARREN_DISK_WATERMARK_PERCENT",
		"org.example.LDAPProviderXYZ":               "WARREN_ORG_EXAMPLE_LDAP_PROVIDER_XYZ",
		"admin.rateLimiterIntervalInMS":             "WARREN_ADMIN_RATE_LIMITER_INTERVAL_IN_MS",
		"ssl.quorum.clientHostnameVerification":     "WARREN_SSL_QUORUM_CLIENT_HOSTNAME_VERIFICATION",
		"SASLAuthenticationProvider.superPassword":  "WARREN_SASL_AUTHENTICATION_PROVIDER_SUPER_PASSWORD",
		"jute.maxbuffer.extrasize":                  "WARREN_JUTE_MAXBUFFER_EXTRASIZE",
		"request_throttler.shutdownTimeout":         "WARREN_REQUEST_THROTTLER_SHUTDOWN_TIMEOUT",
		"DigestAuthenticationProvider.digestAlg":    "WARREN_DIGEST_AUTHENTICATION_PROVIDER_DIGEST_ALG",
		"metricsProvider.exportJvmInfo":             "WARREN_METRICS_PROVIDER_EXPORT_JVM_INFO",
		"observer.election.DelayMs":                 "WARREN_OBSERVER_ELECTION_DELAY_MS",
		"metricsProvider.httpsPort":                 "WARREN_METRICS_PROVIDER_HTTPS_PORT",
		"quorumListenOnAllIPs":                      "WARREN_QUORUM_LISTEN_ON_ALL_IPS",
		"authProvider.":                             "WARREN_AUTH_PROVIDER_",
		"connection_throttle_weight_enabled":        "WARREN_CONNECTION_THROTTLE_WEIGHT_ENABLED",
		"sslQuorumReloadCertFiles":                  "WARREN_SSL_QUORUM_RELOAD_CERT_FILES",
		"autopurge.snapRetainCount":                 "WARREN_AUTOPURGE_SNAP_RETAIN_COUNT",
		"zookeeperIsNotSpecialHere":                 "WARREN_ZOOKEEPER_IS_NOT_SPECIAL_HERE",
		"leader.nodelay":                            "WARREN_LEADER_NODELAY",
		"audit.impl.class":                          "WARREN_AUDIT_IMPL_CLASS",
		"clientPort":                                "WARREN_CLIENT_PORT",
		"superUser":                                 "WARREN_SUPER_USER",
	} {
		require.Equal(t, want, EnvName(key), key)
	}
	seen := map[string]string{}
	for _, s := range base().settings() {
		for _, key := range s.keys {
			name := EnvName(key)
			require.Regexp(t, `^[A-Z0-9_]+$`, name)
			if other, twice := seen[name]; twice {
				require.Contains(t, s.keys, other, "%s and %s are both %s", key, other, name)
			}
			seen[name] = key
		}
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := writeIn(t, dir, "zoo.cfg", "dataDir=DIR\nclientPort=1\nsnapCount=70\ntickTime=100\n")
	c, warnings, err := Load(file, []string{"clientPort=4"}, []string{
		"WARREN_TICK_TIME=200", "JVMFLAGS=-DtickTime=300 -Xmx1g -DmaxCnxns=9", "WARREN_CLIENT_PORT=3",
		"WARREN_MAX_CNXNS= 8 ", "WARREN_SNAP_COUNT=80", "ZOO_LOG4J_PROP=DEBUG, CONSOLE", "WARREN_LOG_FORMAT=json",
		"WARREN_INIT_LIMIT=5", "WARREN_SYNC_LIMIT=2", "WARREN_MYID=2", "WARREN_SERVER_1=a:1:2",
		"WARREN_SERVER_2=b:1:2", "WARREN_SERVER_3=c:1:2",
		"WARREN_AUTH_PROVIDER_1=org.apache.zookeeper.server.auth.DigestAuthenticationProvider",
		"WARREN_SUPER_USER_X=bob", "WARREN_NONSENSE=1", "WARREN_SNAP_CUONT=1", "WARREN_MYID_FROM_HOSTNAME=true",
		"WARREN_SERVICE_HOST=10.0.0.1", "WARREN_PORT=tcp://10.0.0.1:2181", "WARREN_PORT_2181_TCP_ADDR=10.0.0.1",
	})
	require.NoError(t, err)
	require.Equal(t, 200*time.Millisecond, c.TickTime, "ours over Java's over the file")
	require.Equal(t, 4, c.ClientPort, "the command line over all")
	require.Equal(t, 8, c.MaxCnxns)
	require.Equal(t, 70, c.SnapCount, "a property: the file over all")
	require.Equal(t, Log{Level: "debug", Format: "json"}, c.Log)
	require.Equal(t, int64(2), c.ServerID)
	require.Len(t, c.Members, 3)
	require.Equal(t, "1", c.AuthProviders[0].Suffix)
	require.Equal(t, []string{"bob"}, c.SASL.SuperUsers)
	var texts []string
	for _, w := range warnings {
		texts = append(texts, w.String())
	}
	require.Contains(t, texts, "WARREN_SNAP_CUONT: is no setting and has no effect; did you mean WARREN_SNAP_COUNT?")
	require.Contains(t, texts, file+":3: snapCount: wins over a different value at WARREN_SNAP_COUNT")
	require.Contains(t, texts, "settings of a Java server that have no effect here: -Xmx1g")
	for _, text := range texts {
		require.NotContains(t, text, "WARREN_SERVICE")
		require.NotContains(t, text, "WARREN_NONSENSE", "it may belong to another program")
		require.NotContains(t, text, "WARREN_PORT")
		require.NotContains(t, text, "HOSTNAME")
	}

	_, _, err = Load(file, nil, []string{"WARREN_TICK_TIME=x"})
	require.ErrorContains(t, err, `WARREN_TICK_TIME: tickTime = "x": must be a whole number of milliseconds`)
	c, warnings, err = Load(file, nil,
		[]string{"WARREN_CLIENT_PORT=tcp://10.0.0.1:2181", "ZOO_LOG_LEVEL=LOUD", "ZOO_DATADIR_AUTOCREATE_DISABLE=1"})
	require.NoError(t, err)
	require.False(t, c.DatadirAutocreate)
	require.Equal(t, 1, c.ClientPort, "a service named warren-client is no setting")
	require.Equal(t, "info", c.Log.Level)
	require.Contains(t, warnings[len(warnings)-1].String(), `"LOUD" is no level`)
}

func TestImage(t *testing.T) {
	require.Empty(t, NewImage([]string{"ZOO_MY_ID=3", "ZOO_LOG_DIR=/x", "PATH=/bin", "ZOO_LOG4J_PROP=INFO"}))

	require.Empty(t, NewImage([]string{"ZOO_SERVERS="}), "an empty variable is not set")

	i := NewImage([]string{"ZOO_DATA_DIR=/data"})
	require.Equal(t, Image{File: filepath.FromSlash("/conf/zoo.cfg"), MyIDFile: filepath.FromSlash("/data/myid"),
		MyID: "1", IDVariable: "ZOO_MY_ID", Text: `dataDir=/data
dataLogDir=/datalog
tickTime=2000
initLimit=5
syncLimit=2
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
maxClientCnxns=60
standaloneEnabled=true
admin.enableServer=true
server.1=localhost:2888:3888;2181
`}, i)

	dir := t.TempDir()
	env := []string{
		"ZOO_CONF_DIR=" + dir + "/conf", "ZOO_DATA_DIR=" + dir + "/data", "ZOO_DATA_LOG_DIR=" + dir + "/log",
		"ZOO_MY_ID=2", "ZOO_TICK_TIME=1000", "ZOO_INIT_LIMIT=7", "ZOO_SYNC_LIMIT=3", "ZOO_MAX_CLIENT_CNXNS=5",
		"ZOO_STANDALONE_ENABLED=false", "ZOO_ADMINSERVER_ENABLED=false", "ZOO_AUTOPURGE_PURGEINTERVAL=4",
		"ZOO_AUTOPURGE_SNAPRETAINCOUNT=6", "ZOO_4LW_COMMANDS_WHITELIST=srvr, ruok",
		"ZOO_SERVERS=server.1=a:2888:3888;2181  server.2=b:2888:3888;2182",
		"ZOO_CFG_EXTRA=snapCount=9 jute.maxbuffer=4096",
	}
	c, warnings := must.Do2(NewImage(env).Load(nil, env))(t)
	require.Len(t, warnings, 1, "two servers: %v", warnings)
	require.Equal(t, filepath.Join(dir, "conf", "zoo.cfg"), c.File)
	require.Equal(t, int64(2), c.ServerID)
	require.Equal(t, 2182, c.ClientPort)
	require.Equal(t, time.Second, c.TickTime)
	require.Equal(t, []int{7, 3, 5, 9, 4096},
		[]int{c.InitLimit, c.SyncLimit, c.MaxClientCnxns, c.SnapCount, c.JuteMaxBuffer})
	require.False(t, c.StandaloneEnabled)
	require.False(t, c.Admin.Enabled)
	require.Equal(t, Autopurge{6, 4 * time.Hour}, c.Autopurge)
	require.Equal(t, []string{"srvr", "ruok"}, c.FourLetterWhitelist)
	require.Equal(t, "2\n", string(must.ReadFile(t, filepath.Join(dir, "data", "myid"))))

	// Existing files stay unchanged.
	again := NewImage(append(env, "ZOO_MY_ID=1", "ZOO_TICK_TIME=9"))
	require.Empty(t, must.Do(again.Write())(t))
	c, _ = must.Do2(again.Load(nil, nil))(t)
	require.Equal(t, time.Second, c.TickTime)
	require.Equal(t, int64(2), c.ServerID)
}

// TestImageWithoutAPlaceToWrite stands for a read-only file system: the parent of both files is a file.
func TestImageWithoutAPlaceToWrite(t *testing.T) {
	dir := t.TempDir()
	file := writeIn(t, dir, "file", "")
	data := filepath.Join(dir, "data")
	env := []string{"ZOO_CONF_DIR=" + file, "ZOO_DATA_DIR=" + data, "ZOO_MY_ID=7",
		"ZOO_SERVERS=server.7=a:1:2;3 server.8=b:1:2;3 server.9=c:1:2;3"}
	c, warnings := must.Do2(NewImage(env).Load(nil, nil))(t)
	require.Contains(t, warnings[len(warnings)-1].Text+warnings[0].Text, "could not be written")
	require.Equal(t, int64(7), c.ServerID)
	require.Equal(t, data, c.DataDir)
	require.Len(t, c.Members, 3)
}
