//go:build systems

package systems

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

var shardingsphere = &system{
	entry: entry{
		Name: "shardingsphere", Title: "ShardingSphere",
		Did: "Two proxies in cluster mode, for two databases of PostgreSQL. Rows are added all the time, and one " +
			"sharded table after the other is created, which both proxies must know. In the middle of the run a " +
			"proxy is killed, and started again when its session has ended.",
		Set: []string{
			"`timeToLiveSeconds` of the repository long enough for a proxy to find another server (30 s here, 60 s " +
				"by default): a proxy whose session ends goes on, but isn't listed until it is restarted.",
			"`maxRetries` of the repository (60 here, 3 by default): a proxy ends at its start if it isn't " +
				"connected within so many times `retryIntervalMilliseconds` (500 by default).",
			"Create tables when all proxies have started: in two of six runs that didn't wait for that, one on each " +
				"kind of server, a snowflake key was given twice. A proxy that hears of a rule while it starts may " +
				"use 0 as its worker id.",
		},
	},
	limit: 15 * time.Minute, memory: 700, run: runShardingSphere,
}

const databases = 2

func runShardingSphere(x *run) {
	x.compile("Work.java", "shardingsphere/Job.java")
	ports := cluster.FreePorts(x, 3)
	x.postgres(ports[2])
	x.write("logback.xml", `<configuration>
<appender name="console" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%d %p %c - %m%n</pattern></encoder>
</appender>
<root level="WARN"><appender-ref ref="console"/></root>
</configuration>
`)
	proxy := func(i int) *process {
		name := fmt.Sprintf("proxy-%d", i)
		x.write(name+"/server.yaml", fmt.Sprintf(`mode:
  type: Cluster
  repository:
    type: ZooKeeper
    props:
      namespace: shards
      server-lists: %s
      timeToLiveSeconds: 30
      maxRetries: 60
rules:
  - !AUTHORITY
    users:
      - root@%%:root
    provider:
      type: ALL_PRIVILEGES_PERMITTED
`, x.connect()))
		shop := "schemaName: shop\nrules: []\ndataSources:\n"
		for d := range databases {
			shop += fmt.Sprintf(`  ds_%d:
    url: jdbc:postgresql://127.0.0.1:%d/ds_%d
    username: postgres
    password: postgres
    minPoolSize: 1
    maxPoolSize: 8
`, d, ports[2], d)
		}
		x.write(name+"/config-shop.yaml", shop)
		folder := filepath.Join(x.dir, name)
		return x.java(name, 256, "-Dlogback.configurationFile="+filepath.Join(x.dir, "logback.xml"),
			"-Dcom.atomikos.icatch.log_base_dir="+folder, "org.apache.shardingsphere.proxy.Bootstrap",
			fmt.Sprint(ports[i]), folder)
	}
	await := func(i int, listed bool) {
		x.eventually("a proxy is listed, or no longer", func() bool {
			var all []string
			err := x.ask(func(c *wire.Conn) (err error) {
				all, err = c.Children("/shards/nodes/compute_nodes/online/proxy", false)
				return err
			})
			return err == nil && listed == slices.ContainsFunc(all, func(child string) bool {
				return strings.HasSuffix(child, fmt.Sprintf("@%d", ports[i]))
			})
		})
	}
	var proxies []*process
	for i := range 2 { // one after the other, as the first one writes the settings
		proxies = append(proxies, proxy(i))
		await(i, true)
		x.accepts(ports[i])
	}
	job := x.java("job", 128, "Job", fmt.Sprint(ports[0]), fmt.Sprint(ports[1]), fmt.Sprint(ports[2]))
	over := 0
	x.before = func() { over += revive(proxies, proxy) }
	x.drive(job, func() {
		proxies[0].kill()
		await(0, false)
		proxies[0] = proxy(0)
	})
	x.felt("proxies that ended, besides the one that was killed", "%d", over+ended(proxies))
}

// postgres starts PostgreSQL at a port, with databases ds_0, ds_1 and so on.
func (x *run) postgres(port int) {
	jars := must.Glob(x, filepath.Join(x.lib, "embedded-postgres-binaries-*.jar"))
	require.Len(x, jars, 1)
	x.start("extract", "python3", "-c", `import sys, tarfile, zipfile
archive = zipfile.ZipFile(sys.argv[1])
name = next(n for n in archive.namelist() if n.endswith(".txz"))
tarfile.open(fileobj=archive.open(name), mode="r|xz").extractall("postgres")`, jars[0]).finish()
	var user []string // PostgreSQL refuses to run as root
	if os.Geteuid() == 0 {
		user = []string{"unshare", "-U"}
	}
	run := func(name, program string, args ...string) *process {
		args = slices.Concat(user, []string{"postgres/bin/" + program}, args, []string{"-D", "data"})
		return x.start(name, args[0], args[1:]...)
	}
	run("initdb", "initdb", "-U", "postgres", "-A", "trust", "--no-sync").finish()
	create := run("create", "postgres", "--single", "postgres")
	for d := range databases {
		x.tell(create, fmt.Sprintf("CREATE DATABASE ds_%d", d))
	}
	require.NoError(x, create.in.Close())
	create.finish()
	run("postgres", "postgres", "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "shared_buffers=16MB", "-c", "fsync=off")
	x.accepts(port)
}

// accepts waits until a program accepts connections at a port.
func (x *run) accepts(port int) {
	x.eventually("a connection is accepted", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}
