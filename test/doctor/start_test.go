package doctor

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestServersThatDoNotStart makes the failures of docs/TROUBLESHOOTING.md of servers that do not start: warren doctor
// names each of them, and the server ends with the message of the page.
func TestServersThatDoNotStart(t *testing.T) {
	flip := func(t *testing.T, name string) {
		b := must.ReadFile(t, name)
		b[len(b)/2] ^= 4
		require.NoError(t, os.WriteFile(name, b, 0o644))
	}
	write := func(t *testing.T, name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for name, tt := range map[string]struct {
		spoil   func(t *testing.T, n *cluster.Node)
		message string // of the server, and of the page
	}{
		"a key that is wrong": {message: "Invalid config, exiting abnormally",
			spoil: func(_ *testing.T, n *cluster.Node) { n.Set(map[string]string{"tickTime": "often"}) }},
		"a data directory that cannot be made": {message: "Unable to access datadir, exiting abnormally",
			spoil: func(t *testing.T, n *cluster.Node) {
				file := filepath.Join(n.Dir(), "file")
				write(t, file, "no directory")
				n.Set(map[string]string{"dataDir": filepath.Join(file, "data")})
			}},
		"an empty directory": {message: "is empty, and db.autocreate is false",
			spoil: func(_ *testing.T, n *cluster.Node) {
				n.Wipe()
				n.Set(map[string]string{"db.autocreate": "false"})
			}},
		"snapshots that are all damaged": {message: "no snapshot can be loaded",
			spoil: func(t *testing.T, n *cluster.Node) {
				for _, name := range files(t, n, "snapshot.*") {
					flip(t, name)
				}
			}},
		"a damaged snapshot to which the log does not lead": {message: "the log does not lead to it",
			spoil: func(t *testing.T, n *cluster.Node) {
				snapshots := files(t, n, "snapshot.*")
				flip(t, snapshots[len(snapshots)-1])
				for _, name := range files(t, n, "log.*") {
					require.NoError(t, os.Remove(name))
				}
			}},
		"a restore beside a log of which it was not told": {
			message: "it is the log of another history, and must be moved away",
			spoil: func(t *testing.T, n *cluster.Node) {
				backup, log := filepath.Join(n.Dir(), "backup"), filepath.Join(n.Dir(), "log")
				must.Output(t, exec.Command(cluster.Binary(t), "backup", "create", backup, n.DataDir()))
				restore := func(name string) {
					dir := filepath.Join(n.Dir(), name)
					must.Output(t, exec.Command(cluster.Binary(t), "restore", backup, dir))
					n.Set(map[string]string{"dataDir": dir, "dataLogDir": log})
				}
				restore("restored")
				n.Start()
				wire.Open(t, n.Addr(), wire.Options{}).MustCreate(t, "/after", nil, proto.ModePersistent)
				n.Stop()
				restore("again")
			}},
		"a command that was interrupted": {message: "was interrupted, and what it has left must not be served",
			spoil: func(t *testing.T, n *cluster.Node) {
				write(t, filepath.Join(n.DataDir(), datadir.MarkFile), "warren restore\nrun it again\n")
			}},
		"directories that are mixed up": {message: "dataDir and dataLogDir are mixed up or were not moved together",
			spoil: func(t *testing.T, n *cluster.Node) {
				log := filepath.Join(n.Dir(), "log")
				require.NoError(t, os.MkdirAll(filepath.Join(log, "version-2"), 0o755))
				n.Set(map[string]string{"dataLogDir": log})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			n := used(t)
			tt.spoil(t, n)
			refuses(t, n, tt.message)
			v := examine(t, "--no-measure", "--config", filepath.Join(n.Dir(), "zoo.cfg"))
			require.GreaterOrEqual(t, v.names(t, tt.message).Severity, doctor.Error)
		})
	}
}

// TestMembersThatDoNotStart is the same for members of an ensemble: the directories of two are exchanged, and the
// epochs of the third contradict each other.
func TestMembersThatDoNotStart(t *testing.T) {
	nodes := ensemble(t, nil, nil, nil, nil)
	for _, n := range nodes {
		n.Stop()
	}
	one, two, three := nodes[0], nodes[1], nodes[2]
	aside := filepath.Join(t.TempDir(), "version-2")
	require.NoError(t, os.Rename(filepath.Join(one.DataDir(), "version-2"), aside))
	require.NoError(t, os.Rename(filepath.Join(two.DataDir(), "version-2"), filepath.Join(one.DataDir(), "version-2")))
	require.NoError(t, os.Rename(aside, filepath.Join(two.DataDir(), "version-2")))
	at := func(name string) string { return filepath.Join(three.DataDir(), "version-2", name) }
	epochs := func(accepted, current string) {
		require.NoError(t, os.WriteFile(at("acceptedEpoch"), []byte(accepted), 0o644))
		require.NoError(t, os.WriteFile(at("currentEpoch"), []byte(current), 0o644))
	}
	for _, tt := range []struct {
		n       *cluster.Node
		spoil   func()
		message string // of the server, and of the page
		more    string // of the server
	}{
		{n: one, message: "meta.db belongs to another server"},
		{n: two, message: "meta.db belongs to another server"},
		{n: three, message: "epochs are inconsistent",
			more:  "acceptedEpoch 1000000002 is too far above currentEpoch 2",
			spoil: func() { epochs("1000000002", "2") }},
		{n: three, message: "epochs are inconsistent", more: "acceptedEpoch 1 is below currentEpoch 2",
			spoil: func() { require.NoError(t, os.Remove(at("meta.db"))); epochs("1", "2") }},
		{n: three, message: "epochs are inconsistent",
			more: `acceptedEpoch does not hold an epoch but "three"`, spoil: func() { epochs("three", "1") }},
		{n: three, message: "epochs are inconsistent", more: `currentEpoch does not hold an epoch but ""`,
			spoil: func() { epochs("1", "") }},
		{n: three, message: "so what this server has promised is unknown", more: "meta.db",
			spoil: func() {
				require.NoError(t, errors.Join(os.Remove(at("acceptedEpoch")), os.Remove(at("currentEpoch"))))
				require.NoError(t, os.WriteFile(at("meta.db"), make([]byte, 4096), 0o644))
			}},
	} {
		if tt.spoil != nil {
			tt.spoil()
		}
		v := examine(t, "--no-measure", "--config", filepath.Join(tt.n.Dir(), "zoo.cfg"))
		require.Equal(t, doctor.Critical, v.names(t, tt.message).Severity)
		began := len(tt.n.Log())
		refuses(t, tt.n, tt.message)
		require.Contains(t, tt.n.Log()[began:], tt.more)
		require.Equal(t, exitData, tt.n.ExitCode(), "systemd must not start it again")
	}
}

// exitData is the exit code of a server whose data directory cannot be used.
const exitData = 3

// TestDamagedMetaDB starts a member whose meta.db is damaged, and has its epoch files: it makes meta.db anew.
func TestDamagedMetaDB(t *testing.T) {
	nodes := ensemble(t, nil, nil, nil, nil)
	n := nodes[0]
	n.Stop()
	db := filepath.Join(n.DataDir(), "version-2", "meta.db")
	require.NoError(t, os.WriteFile(db, []byte("no database"), 0o644))
	v := examine(t, "--no-measure", "--config", filepath.Join(n.Dir(), "zoo.cfg"))
	require.Equal(t, doctor.Warning, v.severity("meta"), "%+v", v.Findings)
	n.Start()
	require.Contains(t, n.Log(), "created meta.db anew")
	require.FileExists(t, db+".damaged")
}

// TestPortsThatAreTaken lets other programs have the ports of a server.
func TestPortsThatAreTaken(t *testing.T) {
	n := cluster.New(t, cluster.Options{})
	config := []string{"--no-measure", "--config", filepath.Join(n.Dir(), "zoo.cfg")}
	take := func() (port string) {
		ln := must.Do(net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(cluster.FreePort(t))))(t)
		t.Cleanup(func() { _ = ln.Close() })
		port = must.Port(t, ln.Addr().String())
		return port
	}
	own := must.Do(net.Listen("tcp", n.Addr()))(t)
	refuses(t, n, "address already in use")
	require.Equal(t, doctor.Error, examine(t, config...).names(t, "address already in use").Severity)
	require.NoError(t, own.Close())

	n.Set(map[string]string{
		"metricsProvider.className": "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider",
		"metricsProvider.httpHost":  "127.0.0.1", "metricsProvider.httpPort": take()})
	refuses(t, n, "metrics are not exported")
	require.Equal(t, doctor.Error, examine(t, config...).names(t, "metrics are not exported").Severity)
	asked := cluster.New(t, cluster.Options{Settings: map[string]string{"admin.enableServer": "true",
		"admin.serverAddress": "127.0.0.1", "admin.serverPort": take()}})
	refuses(t, asked, "admin server cannot start on")
	v := examine(t, "--no-measure", "--config", filepath.Join(asked.Dir(), "zoo.cfg"))
	require.Equal(t, doctor.Error, v.names(t, "admin server cannot start on").Severity)

	standard := cluster.New(t, cluster.Options{Settings: map[string]string{"admin.enableServer": "true",
		"admin.serverAddress": "127.0.0.1"}})
	for watch := cluster.NewWatch(); watch.Elapsed() < patience; watch.Pause() {
		if ln, err := net.Listen("tcp", "127.0.0.1:8080"); err == nil { // else another process has it
			defer ln.Close()
			break
		}
	}
	standard.Start()
	const without = "there is no admin server; set admin.serverPort, or admin.enableServer=false"
	require.Contains(t, standard.Log(), without)
	standard.Kill()
	v = examine(t, "--no-measure", "--config", filepath.Join(standard.Dir(), "zoo.cfg"))
	f := v.names(t, "there is no admin server; set admin.serverPort, or admin.enableServer=false")
	require.Equal(t, doctor.Warning, f.Severity)
}

// TestDirectoryInUse starts a second server on the directory of one that runs, whose ports are no finding.
func TestDirectoryInUse(t *testing.T) {
	n := cluster.Start(t, cluster.Options{Settings: map[string]string{"emulate353TTLNodes": "true"}})
	second := cluster.New(t, cluster.Options{Dir: n.DataDir()})
	refuses(t, second, "is in use by")
	for _, x := range []*cluster.Node{n, second} {
		v := examine(t, "--no-measure", "--config", filepath.Join(x.Dir(), "zoo.cfg"))
		f := v.names(t, "is in use by")
		require.Equal(t, doctor.Notice, f.Severity)
		require.Contains(t, f.What, "process "+strconv.Itoa(n.Pid())+" ")
		require.EqualValues(t, -1, v.severity("port"), "%+v", v.Findings)
	}
	require.Contains(t, n.Log(), "settings that this version does not act on")
	v := examine(t, "--no-measure", "--config", filepath.Join(n.Dir(), "zoo.cfg"))
	require.Equal(t, doctor.Warning, v.names(t, "settings that this version does not act on").Severity)
}

// TestNamesThatDoNotResolve gives a member names that no name server can know, and an address of another machine.
func TestNamesThatDoNotResolve(t *testing.T) {
	nodes := cluster.Ensemble(t, cluster.Options{}, cluster.Options{Name: "zk2..example"},
		cluster.Options{Name: "203.0.113.7"})
	one, three := nodes[0], nodes[2]
	one.Launch()
	cluster.Eventually(t, func() bool { return strings.Contains(one.Log(), "name of a server does not resolve") },
		patience, "the server does not say that the name does not resolve")
	v := examine(t, "--no-measure", "--config", filepath.Join(one.Dir(), "zoo.cfg"))
	f := v.names(t, "name of a server does not resolve")
	require.Equal(t, doctor.Warning, f.Severity)
	require.Contains(t, f.Subject, "server.2=zk2..example")
	one.Kill()

	three.Launch()
	cluster.Eventually(t, func() bool { return strings.Contains(three.Log(), "cannot bind port") }, patience,
		"the server does not say that it cannot bind its port")
	three.Kill()
	v = examine(t, "--no-measure", "--config", filepath.Join(three.Dir(), "zoo.cfg"))
	require.Equal(t, doctor.Error, v.names(t, "cannot bind port").Severity)

	alone := cluster.New(t, cluster.Options{Settings: map[string]string{"clientPortAddress": "zk1..example"}})
	refuses(t, alone, "this name has no address") // it has never had an address
	v = examine(t, "--no-measure", "--config", filepath.Join(alone.Dir(), "zoo.cfg"))
	f = v.names(t, "host name of a client port does not resolve: listening on its last known address")
	require.Equal(t, doctor.Error, f.Severity)
}
