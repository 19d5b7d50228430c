//go:build systems

package systems

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

var nifi = &system{
	entry: entry{
		Name: "nifi", Title: "NiFi",
		Did: "Two nodes of a cluster. Files are put into a folder all the time; the primary node lists them, with " +
			"the state of the list in the ensemble, and both carry them to another folder. The flow is changed all " +
			"the time, too. In the middle of the run the primary node is killed and started again.",
		Set: []string{
			"`leaderServes=no` at the servers, as in this run: a node gives up the roles of primary node and " +
				"coordinator when it loses its connection, and with this setting no node is connected to the leader.",
			"`nifi.zookeeper.session.timeout` below the time between two failures (8 s here, 10 s by default): " +
				"another node is the primary one when the session of one that died ends.",
			"A file that was under way when the primary node changed may be delivered twice. One at a node that " +
				"died waits until the node is started again.",
		},
	},
	settings: apart,
	limit:    15 * time.Minute, memory: 900, run: runNiFi,
}

func runNiFi(x *run) {
	x.compile("Work.java", "nifi/Job.java")
	ports := cluster.FreePorts(x, 6) // of the pages, of the cluster's protocol and of the balance of both nodes
	nodes := []*process{x.nifiNode(0, ports), x.nifiNode(1, ports)}
	leads := -1
	leader := func() bool {
		leads = slices.IndexFunc(ports[2:4], func(port int) bool {
			return strings.HasSuffix(x.first("/nifi/leaders/Primary Node"), fmt.Sprintf(":%d", port))
		})
		return leads >= 0
	}
	x.drive(x.java("job", 128, "Job", x.dir, fmt.Sprint(ports[0]), fmt.Sprint(ports[1])), func() {
		x.failOver("primary node", nodes, &leads, leader, func(i int) *process {
			return x.nifiNode(i, ports)
		})
	})
	_, stat := must.Do2(x.read("/nifi/leaders/Primary Node"))(x)
	// Each of its children was created by a node that began to take part; one such has been killed.
	x.felt("times that a node left the election of the primary node, and came back", "%d",
		int(stat.Cversion+stat.NumChildren)/2-3)
	x.felt("nodes that ended, besides the one that was killed", "%d", ended(nodes))
}

func (x *run) nifiNode(i int, ports []int) *process {
	name := fmt.Sprintf("node-%d", i)
	home := x.dir + "/" + name
	x.write(name+"/nifi.properties", fmt.Sprintf(`nifi.flow.configuration.file=%[1]s/flow.xml.gz
nifi.flow.configuration.json.file=%[1]s/flow.json.gz
nifi.flowcontroller.graceful.shutdown.period=1 sec
nifi.flowservice.writedelay.interval=500 ms
nifi.templates.directory=%[1]s/templates
nifi.nar.library.directory=%[2]s
nifi.nar.library.autoload.directory=%[1]s/extensions
nifi.nar.working.directory=%[1]s/work/nar
nifi.documentation.working.directory=%[1]s/work/docs
nifi.web.war.directory=%[2]s
nifi.web.jetty.working.directory=%[1]s/work/jetty
nifi.web.http.host=127.0.0.1
nifi.web.http.port=%[3]d
nifi.database.directory=%[1]s/database
nifi.flowfile.repository.directory=%[1]s/flowfiles
nifi.flowfile.repository.implementation=org.apache.nifi.controller.repository.WriteAheadFlowFileRepository
nifi.content.repository.directory.default=%[1]s/content
nifi.content.repository.implementation=org.apache.nifi.controller.repository.FileSystemRepository
nifi.provenance.repository.implementation=org.apache.nifi.provenance.VolatileProvenanceRepository
nifi.sensitive.props.key=no password needs it
nifi.sensitive.props.algorithm=NIFI_PBKDF2_AES_GCM_256
nifi.state.management.configuration.file=%[1]s/state-management.xml
nifi.state.management.provider.local=local
nifi.state.management.provider.cluster=ensemble
nifi.zookeeper.connect.string=%[6]s
nifi.zookeeper.connect.timeout=8 secs
nifi.zookeeper.session.timeout=8 secs
nifi.cluster.is.node=true
nifi.cluster.node.address=127.0.0.1
nifi.cluster.node.protocol.port=%[4]d
nifi.cluster.load.balance.host=127.0.0.1
nifi.cluster.load.balance.port=%[5]d
nifi.cluster.flow.election.max.candidates=2
nifi.cluster.protocol.heartbeat.interval=1 sec
nifi.cluster.node.read.timeout=30 secs
`, home, x.lib, ports[i], ports[2+i], ports[4+i], x.connect()))
	x.write(name+"/state-management.xml", fmt.Sprintf(`<stateManagement>
<local-provider><id>local</id>
<class>org.apache.nifi.controller.state.providers.local.WriteAheadLocalStateProvider</class>
<property name="Directory">%s/state</property></local-provider>
<cluster-provider><id>ensemble</id>
<class>org.apache.nifi.controller.state.providers.zookeeper.ZooKeeperStateProvider</class>
<property name="Connect String">%s</property>
<property name="Session Timeout">8 secs</property></cluster-provider>
</stateManagement>
`, home, x.connect()))
	return x.java(name, 400, "-Dnifi.properties.file.path="+home+"/nifi.properties", "org.apache.nifi.NiFi")
}
