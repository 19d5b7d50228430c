//go:build systems

package systems

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

var druid = &system{
	entry: entry{
		Name: "druid", Title: "Druid",
		Did: "Two Coordinators that are Overlords, too, an Indexer, a Historical and a Broker, and their metadata " +
			"in Derby. One task after the other adds rows, which are queried all the time. In the middle of the run " +
			"the leading Coordinator is killed and started again.",
		Set: []string{
			"`druid.zk.service.sessionTimeoutMs` below the time between two failures (8 s here, 30 s by default): " +
				"another Coordinator leads when the session of one that died ends.",
		},
	},
	limit: 15 * time.Minute, memory: 900, run: runDruid,
}

func runDruid(x *run) {
	x.compile("Work.java", "Queries.java", "druid/Job.java")
	ports := cluster.FreePorts(x, 8) // of the processes, of Derby, and of what Coordinators start in its place
	x.java("derby", 128, "-Dderby.system.home="+x.dir, "org.apache.derby.drda.NetworkServerControl", "start", "-h",
		"127.0.0.1", "-p", fmt.Sprint(ports[5]), "-noSecurityManager")
	start := func(name, kind string, port, heap int, args ...string) *process {
		folder := filepath.Join(x.dir, name)
		x.write(name+"/tmp/begun", "")
		settings := append(opens(), "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
			"--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
			"--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
			"-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-Djava.io.tmpdir="+folder+"/tmp",
			"-XX:MaxDirectMemorySize=128m",
			"-Ddruid.zk.service.host="+x.connect(),
			"-Ddruid.zk.service.sessionTimeoutMs=8000",
			"-Ddruid.host=127.0.0.1", fmt.Sprintf("-Ddruid.plaintextPort=%d", port),
			"-Ddruid.metadata.storage.type=derby",
			fmt.Sprintf("-Ddruid.metadata.storage.connector.connectURI=jdbc:derby://127.0.0.1:%d/druid;create=true",
				ports[5]),
			"-Ddruid.storage.type=local", "-Ddruid.storage.storageDirectory="+filepath.Join(x.dir, "segments"),
			"-Ddruid.indexer.logs.type=file", "-Ddruid.indexer.logs.directory="+filepath.Join(x.dir, "task-logs"),
			"-Ddruid.extensions.loadList=[]", "-Ddruid.emitter=noop", "-Ddruid.monitoring.monitors=[]",
			"-Ddruid.processing.numThreads=1", "-Ddruid.processing.numMergeBuffers=2",
			"-Ddruid.processing.buffer.sizeBytes=4000000", "-Ddruid.server.http.numThreads=8",
			"-Ddruid.selectors.coordinator.serviceName=druid/coordinator",
			"-Ddruid.selectors.indexing.serviceName=druid/coordinator")
		return x.java(name, heap, append(append(settings, args...), "org.apache.druid.cli.Main", "server", kind)...)
	}
	coordinator := func(i int) *process {
		return start(fmt.Sprintf("coordinator-%d", i), "coordinator", ports[i], 256,
			"-Ddruid.service=druid/coordinator",
			"-Ddruid.metadata.storage.connector.host=127.0.0.1",
			fmt.Sprintf("-Ddruid.metadata.storage.connector.port=%d", ports[6+i]),
			"-Ddruid.coordinator.asOverlord.enabled=true",
			"-Ddruid.coordinator.asOverlord.overlordService=druid/overlord",
			"-Ddruid.indexer.storage.type=metadata", "-Ddruid.indexer.queue.startDelay=PT1S",
			"-Ddruid.indexer.runner.type=httpRemote",
			"-Ddruid.coordinator.startDelay=PT2S", "-Ddruid.coordinator.period=PT2S",
			"-Ddruid.manager.segments.pollDuration=PT2S")
	}
	coordinators := []*process{coordinator(0), coordinator(1)}
	leads := -1
	leader := func() bool {
		leads = slices.IndexFunc(ports[:2], func(port int) bool {
			return strings.HasSuffix(x.first("/druid/coordinator/_COORDINATOR"), fmt.Sprintf(":%d", port))
		})
		return leads >= 0
	}
	x.eventually("a Coordinator leads", leader)
	others := []*process{
		start("indexer", "indexer", ports[2], 320, "-Ddruid.service=druid/indexer", "-Ddruid.worker.capacity=2",
			"-Ddruid.indexer.task.baseTaskDir="+filepath.Join(x.dir, "tasks"),
			"-Ddruid.worker.numConcurrentMerges=1"),
		start("historical", "historical", ports[3], 256, "-Ddruid.service=druid/historical",
			fmt.Sprintf(`-Ddruid.segmentCache.locations=[{"path":%q,"maxSize":"1g"}]`, filepath.Join(x.dir, "cache"))),
		start("broker", "broker", ports[4], 256, "-Ddruid.service=druid/broker"),
	}
	x.drive(x.java("job", 192, "Job", fmt.Sprint(ports[0]), fmt.Sprint(ports[1]), fmt.Sprint(ports[4])), func() {
		x.failOver("Coordinator", coordinators, &leads, leader, coordinator)
	})
	x.felt("processes of Druid that ended, besides the one that was killed", "%d", ended(coordinators, others))
}
