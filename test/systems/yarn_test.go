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

var yarn = &system{
	entry: entry{
		Name: "yarn", Title: "YARN",
		Did: "Two ResourceManagers with automatic failover and their state in the ensemble, and a NodeManager. One " +
			"application runs after the other. In the middle of the run the active ResourceManager is killed and " +
			"started again.",
		Set: []string{
			"`hadoop.zk.timeout-ms` below the time between two failures (8 s here): the standby takes over from a " +
				"ResourceManager that died when its session ends.",
		},
	},
	limit: 12 * time.Minute, memory: 700, run: runYARN,
}

func runYARN(x *run) {
	const classes = "org.apache.hadoop.yarn.server."
	settings := map[string]string{
		"hadoop.zk.address":                                           x.connect(),
		"hadoop.zk.timeout-ms":                                        "8000",
		"yarn.resourcemanager.ha.enabled":                             "true",
		"yarn.resourcemanager.cluster-id":                             "jobs",
		"yarn.resourcemanager.ha.rm-ids":                              "rm0,rm1",
		"yarn.resourcemanager.recovery.enabled":                       "true",
		"yarn.resourcemanager.connect.retry-interval.ms":              "1000",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":     "100",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-min-ms": "100",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-max-ms": "100",
		"yarn.client.failover-sleep-base-ms":                          "100",
		"yarn.client.failover-sleep-max-ms":                           "1000",
		"yarn.scheduler.minimum-allocation-mb":                        "128",
		"yarn.nodemanager.address":                                    "localhost:0",
		"yarn.nodemanager.localizer.address":                          "localhost:0",
		"yarn.nodemanager.webapp.address":                             "localhost:0",
		"yarn.nodemanager.collector-service.address":                  "localhost:0",
		"yarn.nodemanager.local-dirs":                                 filepath.Join(x.dir, "local"),
		"yarn.nodemanager.log-dirs":                                   filepath.Join(x.dir, "logs"),
		"yarn.nodemanager.resource.memory-mb":                         "2048",
		"yarn.nodemanager.vmem-check-enabled":                         "false",
	}
	settings["yarn.resourcemanager.store.class"] = classes + "resourcemanager.recovery.ZKRMStateStore"
	settings["yarn.resourcemanager.scheduler.class"] = classes + "resourcemanager.scheduler.fifo.FifoScheduler"
	parts := []string{"", ".scheduler", ".resource-tracker", ".admin", ".webapp"}
	ports := cluster.FreePorts(x, managers*len(parts))
	for i, port := range ports {
		key := fmt.Sprintf("yarn.resourcemanager%s.address.rm%d", parts[i/managers], i%managers)
		settings[key] = fmt.Sprintf("localhost:%d", port)
	}
	x.configure("yarn", settings)
	x.compile("Work.java", "yarn/Job.java")
	start := func(name string, heap int, args ...string) *process {
		return x.java(name, heap, append(opens(), args...)...)
	}
	manager := func(i int) *process {
		return start(fmt.Sprintf("resource-manager-%d", i), 256,
			classes+"resourcemanager.ResourceManager",
			"-D", fmt.Sprintf("yarn.resourcemanager.ha.id=rm%d", i))
	}
	all := []*process{manager(0), manager(1)}
	node := start("node-manager", 192, classes+"nodemanager.NodeManager")
	leads := -1
	leader := func() bool {
		text, err := x.get("/yarn-leader-election/jobs/ActiveStandbyElectorLock")
		leads = slices.IndexFunc([]string{"rm0", "rm1"}, func(id string) bool { return strings.Contains(text, id) })
		return err == nil && leads >= 0
	}
	x.eventually("a ResourceManager is active", leader)
	const mark = "/yarn-leader-election/jobs/ActiveBreadCrumb" // is written by each one that becomes active
	before := x.version(mark)
	x.drive(start("job", 192, "Job", x.dir), func() {
		x.failOver("ResourceManager", all, &leads, leader, manager)
	})
	x.felt("ResourceManagers that took over, besides the one for the one that was killed", "%d",
		x.version(mark)-before-1)
	x.felt("processes of YARN that ended, besides the one that was killed", "%d", ended(all, []*process{node}))
}
