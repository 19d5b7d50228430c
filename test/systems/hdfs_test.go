//go:build systems

package systems

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var hdfs = &system{
	entry: entry{
		Name: "hdfs", Title: "HDFS",
		Did: "Two NameNodes with automatic failover and a DataNode. Files are written all the time, and in the " +
			"middle of the run the active NameNode and its failover controller are killed and started again.",
		Set: []string{
			"`ha.zookeeper.session-timeout.ms` below the time between two failures (8 s here): the standby " +
				"takes over from a NameNode whose failover controller died with it when the session ends.",
		},
	},
	limit: 12 * time.Minute, memory: 700, run: runHDFS,
}

const nameNodes = 2

func runHDFS(x *run) {
	settings := map[string]string{
		"fs.defaultFS":                         "hdfs://files",
		"ha.zookeeper.quorum":                  x.connect(),
		"ha.zookeeper.session-timeout.ms":      "8000",
		"dfs.nameservices":                     "files",
		"dfs.ha.namenodes.files":               "nn0,nn1",
		"dfs.namenode.shared.edits.dir":        "file://" + filepath.Join(x.dir, "edits"),
		"dfs.ha.automatic-failover.enabled":    "true",
		"dfs.ha.fencing.methods":               "shell(/bin/true)",
		"dfs.client.failover.sleep.max.millis": "1000",
		"dfs.client.failover.max.attempts":     "60",
		"dfs.client.failover.proxy.provider.files": "org.apache.hadoop.hdfs.server.namenode.ha." +
			"ConfiguredFailoverProxyProvider",
	}
	for i, ports := 0, cluster.FreePorts(x, 3*nameNodes); i < nameNodes; i++ {
		of := fmt.Sprintf(".files.nn%d", i)
		settings["dfs.namenode.rpc-address"+of] = fmt.Sprintf("127.0.0.1:%d", ports[3*i])
		settings["dfs.namenode.http-address"+of] = fmt.Sprintf("127.0.0.1:%d", ports[3*i+1])
		settings["dfs.ha.zkfc.port"+of] = fmt.Sprint(ports[3*i+2])
		settings["dfs.namenode.name.dir"+of] = "file://" + filepath.Join(x.dir, fmt.Sprintf("name-%d", i))
	}
	x.hadoop(settings)
	x.compile("Work.java", "hdfs/Job.java")
	nameNode := func(i int, args ...string) *process {
		return x.nameNode(fmt.Sprintf("name-node-%d", i),
			append([]string{"-D", fmt.Sprintf("dfs.ha.namenode.id=nn%d", i)}, args...)...)
	}
	controller := func(i int, args ...string) *process {
		return x.java(fmt.Sprintf("controller-%d", i), 128, append([]string{
			"org.apache.hadoop.hdfs.tools.DFSZKFailoverController", "-D", fmt.Sprintf("dfs.ha.namenode.id=nn%d", i)},
			args...)...)
	}
	nameNode(0, "-format", "-nonInteractive").finish()
	controller(0, "-formatZK", "-nonInteractive").finish()
	require.NoError(x, os.CopyFS(filepath.Join(x.dir, "name-1"), os.DirFS(filepath.Join(x.dir, "name-0"))))
	nodes, controllers := []*process{nameNode(0), nameNode(1)}, []*process{controller(0), controller(1)}
	x.dataNode()
	leads := -1
	leader := func() bool {
		text, err := x.get("/hadoop-ha/files/ActiveStandbyElectorLock")
		leads = slices.IndexFunc([]string{"nn0", "nn1"}, func(id string) bool { return strings.Contains(text, id) })
		return err == nil && leads >= 0
	}
	x.eventually("a NameNode is active", leader)
	const mark = "/hadoop-ha/files/ActiveBreadCrumb" // is written by each NameNode that becomes active
	before := x.version(mark)
	x.drive(x.java("job", 192, "Job"), func() {
		x.eventually("a NameNode is active", leader)
		killed := leads
		nodes[killed].kill()
		controllers[killed].kill()
		x.eventually("another NameNode is active", func() bool { return leader() && leads != killed })
		nodes[killed], controllers[killed] = nameNode(killed), controller(killed)
	})
	x.felt("NameNodes that took over, besides the one for the one that was killed", "%d", x.version(mark)-before-1)
}

// hadoop writes settings of Hadoop, for all programs of a run, and those that every run has.
func (x *run) hadoop(settings map[string]string) {
	all := map[string]string{
		"hadoop.tmp.dir":                                       filepath.Join(x.dir, "tmp"),
		"dfs.replication":                                      "1",
		"dfs.permissions.enabled":                              "false",
		"dfs.namenode.handler.count":                           "4",
		"dfs.namenode.service.handler.count":                   "2",
		"dfs.datanode.data.dir":                                "file://" + filepath.Join(x.dir, "data"),
		"dfs.datanode.address":                                 "127.0.0.1:0",
		"dfs.datanode.ipc.address":                             "127.0.0.1:0",
		"dfs.datanode.http.address":                            "127.0.0.1:0",
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
	}
	maps.Copy(all, settings)
	for _, part := range []string{"core", "hdfs"} { // each has defaults that the other cannot replace
		x.configure(part, all)
	}
	for _, part := range []string{"hdfs", "datanode"} { // the artefacts have no pages, and the servers want some
		x.write("conf/webapps/"+part+"/index.html", "")
	}
}

// configure writes the settings of a part of Hadoop, and how it logs.
func (x *run) configure(part string, settings map[string]string) {
	x.write("conf/"+part+"-site.xml", properties(settings))
	x.write("conf/log4j.properties", `log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c - %m%n
`)
	if conf := filepath.Join(x.dir, "conf") + ":"; !strings.HasPrefix(x.classPath, conf) {
		x.classPath = conf + x.classPath
	}
}

// properties are settings as Hadoop's files have them.
func properties(settings map[string]string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", key, settings[key])
	}
	return b.String() + "</configuration>\n"
}

func (x *run) nameNode(name string, args ...string) *process {
	return x.java(name, 256, append([]string{"org.apache.hadoop.hdfs.server.namenode.NameNode"}, args...)...)
}

func (x *run) dataNode() *process {
	return x.java("data-node", 192, "org.apache.hadoop.hdfs.server.datanode.DataNode")
}
