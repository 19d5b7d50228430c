//go:build systems

package systems

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

var flink = &system{
	entry: entry{
		Name: "flink", Title: "Flink",
		Did: "Two JobManagers and two TaskManagers with high availability. A job takes a checkpoint each second and " +
			"writes numbers to files, exactly once. In the middle of the run the leading JobManager is killed.",
		Set: []string{
			"`leaderServes=no` at the servers, as in this run: Flink restarts its jobs when the server that it is " +
				"connected to dies, and with this setting the leader is not that server. A server with clients that " +
				"was elected hands over to one without after `warren.priorityPauseMs` (2 s here), for which a kill " +
				"waits.",
			"`high-availability.zookeeper.client.tolerate-suspended-connections` where clients are at the leader, " +
				"or where the ensemble is of ZooKeeper: then Flink only restarts its jobs when a session is lost.",
			"`high-availability.zookeeper.client.session-timeout` as long as a dead JobManager may be missed: it is " +
				"replaced when its session ends, by default, as here, after a minute, or the longest time that the " +
				"servers allow.",
		},
	},
	limit: 16 * time.Minute, kills: 20, memory: 1300, run: runFlink,
	settings: apart,
}

const managers = 2

func runFlink(x *run) {
	x.classPath = filepath.Join(x.lib, "pyflink/lib/*")
	x.compile("flink/Job.java")
	ports := cluster.FreePorts(x, 2*managers)
	jobs := make([]*process, managers)
	for i := range managers {
		jobs[i] = x.jobManager(i, ports[2*i], ports[2*i+1])
		x.flink(fmt.Sprintf("task-manager-%d", i), "org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "")
	}
	leads := -1
	leader := func() bool {
		leads = -1
		text, err := x.get("/flink/default/leader/resource_manager/connection_info")
		for i := range managers {
			if err == nil && strings.Contains(text, fmt.Sprintf(":%d/", ports[2*i])) {
				leads = i
			}
		}
		return leads >= 0
	}
	x.eventually("a JobManager leads", leader)
	x.drive(x.java("job", 256, append(opens(), "Job", x.writeFlink("job", ""), x.dir)...), func() {
		x.failOver("JobManager", jobs, &leads, leader, func(i int) *process {
			return x.jobManager(i, ports[2*i], ports[2*i+1])
		})
	})
}

func (x *run) jobManager(i, port, web int) *process {
	return x.flink(fmt.Sprintf("job-manager-%d", i),
		"org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", fmt.Sprintf(
			"rest.port: %d\nrest.bind-port: %d\nhigh-availability.jobmanager.port: %d\n", web, web, port),
		"--host", "127.0.0.1")
}

// flink starts a program of Flink, with settings besides those that all have.
func (x *run) flink(name, class, settings string, args ...string) *process {
	args = append([]string{class, "--configDir", x.writeFlink(name, settings)}, args...)
	return x.java(name, 384, append(opens(), args...)...)
}

// opens lets Flink reach what Java 17 has closed.
func opens() (all []string) {
	for _, p := range []string{"lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent",
		"util.concurrent.atomic", "util.concurrent.locks"} {
		all = append(all, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	return append(all, "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"--add-exports=java.base/sun.net.util=ALL-UNNAMED")
}

// writeFlink writes the settings of a program of Flink, and returns the folder with them.
func (x *run) writeFlink(name, settings string) (folder string) {
	url := func(name string) string { return "file://" + filepath.Join(x.dir, name) }
	text := fmt.Sprintf(`jobmanager.rpc.address: 127.0.0.1
high-availability.type: zookeeper
high-availability.zookeeper.quorum: %q
high-availability.storageDir: %s
execution.checkpointing.dir: %s
execution.checkpointing.storage: filesystem
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 1000000
restart-strategy.fixed-delay.delay: 1 s
taskmanager.host: 127.0.0.1
taskmanager.numberOfTaskSlots: 1
taskmanager.cpu.cores: 1.0
taskmanager.memory.framework.heap.size: 128mb
taskmanager.memory.framework.off-heap.size: 64mb
taskmanager.memory.task.heap.size: 128mb
taskmanager.memory.task.off-heap.size: 0b
taskmanager.memory.network.min: 32mb
taskmanager.memory.network.max: 32mb
taskmanager.memory.managed.size: 0b
taskmanager.memory.jvm-metaspace.size: 192mb
taskmanager.memory.jvm-overhead.min: 192mb
taskmanager.memory.jvm-overhead.max: 192mb
`, x.connect(), url("jobs"), url("checkpoints"))
	x.write(filepath.Join(name, "config.yaml"), text+settings)
	return filepath.Join(x.dir, name)
}
