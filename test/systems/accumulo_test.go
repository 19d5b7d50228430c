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

var accumulo = &system{
	entry: entry{
		Name: "accumulo", Title: "Accumulo",
		Did: "Two managers and two tablet servers. Rows are put into a table of four tablets all the time, and in " +
			"the middle of the run the active manager and a tablet server are killed and started again.",
		Set: []string{
			"`instance.zookeeper.timeout` below the time between two failures (8 s here): the tablets of a server " +
				"that died are opened by another one when its session ends.",
		},
	},
	limit: 12 * time.Minute, memory: 700, run: runAccumulo,
}

func runAccumulo(x *run) {
	const instance = "systems"
	// The default local file system does not write through.
	x.configure("core", map[string]string{"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem"})
	x.write("conf/accumulo.properties", fmt.Sprintf(`instance.volumes=file://%s
instance.zookeeper.host=%s
instance.zookeeper.timeout=8s
instance.secret=secret
manager.recovery.delay=1s
tserver.port.client=0
tserver.memory.maps.native.enabled=false
tserver.memory.maps.max=32M
tserver.cache.data.size=8M
tserver.cache.index.size=8M
tserver.wal.max.size=32M
`, filepath.Join(x.dir, "data"), x.connect()))
	x.compile("Work.java", "accumulo/Job.java")
	start := func(name string, args ...string) *process {
		return x.java(name, 256, append(opens(), append([]string{"-Daccumulo.log.dir=" + x.dir,
			"org.apache.accumulo.start.Main"}, args...)...)...)
	}
	start("init", "init", "--instance-name", instance, "--password", "secret").finish()
	ports := cluster.FreePorts(x, managers)
	manager := func(i int) *process {
		return start(fmt.Sprintf("manager-%d", i), "manager", "-a", "127.0.0.1", "-o",
			fmt.Sprintf("manager.port.client=%d", ports[i]))
	}
	server := func(i int) *process {
		return start(fmt.Sprintf("tablet-server-%d", i), "tserver", "-a", "127.0.0.1")
	}
	all, servers := []*process{manager(0), manager(1)}, []*process{server(0), server(1)}
	leads := -1
	leader := func() bool {
		id, err := x.get("/accumulo/instances/" + instance)
		leads = slices.IndexFunc(ports, func(port int) bool {
			return strings.Contains(x.first("/accumulo/"+id+"/managers/lock"), fmt.Sprintf(":%d", port))
		})
		return err == nil && leads >= 0
	}
	x.eventually("a manager is active", leader)
	again := 0
	x.before = func() { again += revive(all, manager) + revive(servers, server) }
	x.drive(x.java("job", 192, append(opens(), "Job", x.connect())...), func() {
		x.eventually("a manager is active", leader)
		killed, other := leads, 1-leads
		all[killed].kill()
		servers[0].kill()
		x.eventually("another manager is active", func() bool {
			again += revive(all[other:other+1], func(int) *process { return manager(other) })
			return leader() && leads == other
		})
		all[killed], servers[0] = manager(killed), server(0)
	})
	x.felt("managers and tablet servers that ended, besides those that were killed", "%d", again+ended(all, servers))
}
