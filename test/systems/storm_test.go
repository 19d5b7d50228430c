//go:build systems

package systems

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var storm = &system{
	entry: entry{
		Name: "storm", Title: "Storm",
		Did: "Two Nimbuses and a Supervisor with two workers. A topology processes numbers all the time, and Nimbus " +
			"is asked for its topologies. In the middle of the run the leading Nimbus is killed and started again.",
		Set: []string{
			"`storm.zookeeper.session.timeout` below the time between two failures (8 s here): another Nimbus leads " +
				"when the session of one that died ends. Topologies go on without a Nimbus.",
		},
	},
	limit: 10 * time.Minute, memory: 500, run: runStorm,
}

func runStorm(x *run) {
	classes := x.compile("Work.java", "storm/Job.java")
	home, jar := filepath.Join(x.dir, "home"), filepath.Join(x.dir, "topology.jar")
	require.NoError(x, tool(x.T, x.dir, "jar", "cf", jar, "-C", classes, "."))
	require.NoError(x, os.Mkdir(home, 0o755))
	require.NoError(x, os.Symlink(x.lib, filepath.Join(home, "lib-worker"))) // where the Supervisor looks
	x.write("home/log4j2/worker.xml", `<Configuration><Appenders><Console name="out"/></Appenders>`+
		`<Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers></Configuration>`)
	x.classPath = filepath.Join(home, "conf") + ":" + x.classPath
	ports := cluster.FreePorts(x, 5)            // of both Nimbuses, the Supervisor, and the workers
	last := strings.LastIndex(x.connect(), ":") // Storm adds the port to what it takes for a host
	start := func(name, host string, heap, nimbus int, args ...string) *process {
		x.write("home/conf/"+name+".yaml", fmt.Sprintf(`
storm.zookeeper.servers: [%q]
storm.zookeeper.port: %s
storm.zookeeper.session.timeout: 8000
storm.local.hostname: %s
storm.local.dir: %q
storm.metricstore.rocksdb.location: %q
nimbus.seeds: [127.0.0.1]
nimbus.thrift.port: %d
supervisor.thrift.port: %d
supervisor.slots.ports: [%d, %d]
worker.childopts: -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
topology.worker.logwriter.childopts: -Xmx32m -XX:+UseSerialGC
`, x.connect()[:last], x.connect()[last+1:], host, filepath.Join(x.dir, name), filepath.Join(x.dir, name+"-metrics"),
			nimbus, ports[2], ports[3], ports[4]))
		return x.java(name, heap, append([]string{"-Dstorm.home=" + home, "-Dstorm.log.dir=" + x.dir,
			"-Dstorm.jar=" + jar, "-Dstorm.conf.file=" + name + ".yaml"}, args...)...)
	}
	// Where clients look for the leading Nimbus can be down while it is killed: it is started again at once.
	nimbus := func(i int) *process {
		return start(fmt.Sprintf("nimbus-%d", i), fmt.Sprintf("127.0.0.%d", i+1), 256, ports[i],
			"org.apache.storm.daemon.nimbus.Nimbus")
	}
	nimbuses := []*process{nimbus(0), nimbus(1)}
	leads := -1
	leader := func() bool {
		leads = slices.IndexFunc(ports[:2], func(port int) bool {
			return strings.Contains(x.first("/storm/leader-lock"), fmt.Sprintf(":%d:", port))
		})
		return leads >= 0
	}
	x.eventually("a Nimbus leads", leader)
	supervisor := start("supervisor", "127.0.0.1", 192, ports[leads], "org.apache.storm.daemon.supervisor.Supervisor")
	x.drive(start("job", "127.0.0.1", 192, ports[leads], "Job", x.dir), func() {
		x.failOver("Nimbus", nimbuses, &leads, leader, nimbus)
	})
	x.felt("Nimbuses and Supervisors that ended, besides the one that was killed", "%d",
		ended(nimbuses, []*process{supervisor}))
}
