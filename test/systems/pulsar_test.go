//go:build systems

package systems

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
)

var pulsar = &system{
	entry: entry{
		Name: "pulsar", Title: "Pulsar",
		Did: "Two brokers and three bookies of BookKeeper. Messages are sent to eight topics all the time, and one " +
			"topic after the other is created with a subscription and a message. In the middle of the run the " +
			"leading broker is killed and started again. At the end all messages of all topics are read.",
		Set: []string{
			"`metadataStoreSessionTimeoutMillis` of the brokers and `zkTimeout` of the bookies below the time " +
				"between two failures (8 s here): the topics of a broker that died are served by another one when " +
				"its session ends.",
			"`defaultRetentionTimeInMinutes=-1`, `defaultRetentionSizeInMB=-1` and " +
				"`brokerDeleteInactiveTopicsEnabled=false`, as in this run: by default Pulsar deletes topics that " +
				"nobody uses, and messages for which no subscription waits.",
		},
	},
	limit: 15 * time.Minute, memory: 900, run: runPulsar,
}

func runPulsar(x *run) {
	x.compile("Work.java", "pulsar/Job.java")
	ports := cluster.FreePorts(x, 7) // of the services and the pages of both brokers, and of the bookies
	service := func(i int) string { return fmt.Sprintf("pulsar://127.0.0.1:%d", ports[i]) }
	page := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", ports[2+i]) }
	start := func(name string, heap int, args ...string) *process {
		return x.java(name, heap, append(append(opens(), "-Dio.netty.allocator.numDirectArenas=1",
			"-Dio.netty.allocator.numHeapArenas=1", "-XX:MaxDirectMemorySize=160m",
			"--add-opens=java.management/sun.management=ALL-UNNAMED",
			"--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
			"--add-opens=java.base/jdk.internal.platform=ALL-UNNAMED"), args...)...)
	}
	start("cluster", 128, "org.apache.pulsar.PulsarClusterMetadataSetup", "--cluster", "systems",
		"--metadata-store", "zk:"+x.connect(), "--configuration-metadata-store", "zk:"+x.connect(),
		"--web-service-url", page(0), "--broker-service-url", service(0)).finish()
	for i := range 3 {
		name := fmt.Sprintf("bookie-%d", i)
		x.write(name+".conf", fmt.Sprintf(`metadataServiceUri=zk+hierarchical://%s/ledgers
zkTimeout=8000
bookiePort=%d
allowLoopback=true
advertisedAddress=127.0.0.1
journalDirectories=%[3]s/journal
ledgerDirectories=%[3]s/ledgers
indexDirectories=%[3]s/ledgers
diskUsageThreshold=0.99
diskUsageWarnThreshold=0.98
httpServerEnabled=false
journalPreAllocSizeMB=4
skipListSizeLimit=16777216
numJournalCallbackThreads=1
numAddWorkerThreads=1
numReadWorkerThreads=1
serverNumIOThreads=1
`, strings.ReplaceAll(x.connect(), ",", ";"), ports[4+i], filepath.Join(x.dir, name)))
		start(name, 192, "org.apache.bookkeeper.server.Main", "--conf", filepath.Join(x.dir, name+".conf"))
	}
	for i := range 3 {
		x.eventually("a bookie registers", func() bool {
			_, err := x.get(fmt.Sprintf("/ledgers/available/127.0.0.1:%d", ports[4+i]))
			return err == nil
		})
	}
	broker := func(i int) *process {
		name := fmt.Sprintf("broker-%d", i)
		x.write(name+".conf", fmt.Sprintf(`clusterName=systems
metadataStoreUrl=zk:%[1]s
configurationMetadataStoreUrl=zk:%[1]s
metadataStoreSessionTimeoutMillis=8000
brokerServicePort=%[2]d
webServicePort=%[3]d
bindAddress=127.0.0.1
advertisedAddress=127.0.0.1
managedLedgerDefaultEnsembleSize=2
managedLedgerDefaultWriteQuorum=2
managedLedgerDefaultAckQuorum=2
defaultRetentionTimeInMinutes=-1
defaultRetentionSizeInMB=-1
brokerDeleteInactiveTopicsEnabled=false
brokerDeduplicationEnabled=true
functionsWorkerEnabled=false
managedLedgerCacheSizeMB=16
numIOThreads=1
numOrderedExecutorThreads=2
numHttpServerThreads=6
numExecutorThreadPoolSize=2
numCacheExecutorThreadPoolSize=2
bookkeeperNumberOfChannelsPerBookie=1
`, x.connect(), ports[i], ports[2+i]))
		return start(name, 320, "org.apache.pulsar.PulsarBrokerStarter", "-c", filepath.Join(x.dir, name+".conf"))
	}
	brokers := []*process{broker(0), broker(1)}
	leads, terms, term := -1, 0, proto.Zxid(0)
	leader := func() bool {
		text, stat, err := x.read("/loadbalance/leader")
		leads = slices.IndexFunc(ports[2:4], func(port int) bool {
			return strings.Contains(text, fmt.Sprintf("127.0.0.1:%d", port))
		})
		if err == nil && leads >= 0 && stat.Czxid != term {
			terms, term = terms+1, stat.Czxid
		}
		return err == nil && leads >= 0
	}
	x.eventually("a broker leads", leader)
	x.before = func() { leader() }
	x.drive(start("job", 256, "Job", service(0)+","+strings.TrimPrefix(service(1), "pulsar://"),
		page(0)+","+strings.TrimPrefix(page(1), "http://")), func() {
		x.failOver("broker", brokers, &leads, leader, broker)
	})
	x.felt("brokers that took over the lead, besides the one for the one that was killed", "%d", terms-2)
	x.felt("brokers that ended, besides the one that was killed", "%d", ended(brokers))
}
