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

var nifi = &system{
	entry: entry{
		Name: "nifi", Title: "NiFi",
		Did: "A cluster of two nodes, whose flow lists the files of a folder at the primary node, with its state in " +
			"the ensemble, and writes what it has listed to another folder. Files are made all the time. In the " +
			"middle of the run the primary node is killed and started again.",
		Set: []string{
			"`nifi.zookeeper.session.timeout` below the time between two failures (8 s here): there is another " +
				"primary node when the session of one that died ends.",
		},
	},
	limit: 15 * time.Minute, memory: 1500, run: runNiFi,
}

func runNiFi(x *run) {
	ports := cluster.FreePorts(x, 6) // of the pages, the protocol and the load balancer of both nodes
	x.write("classes/logback.xml", `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">`+
		`<encoder><pattern>%d %p %c - %m%n</pattern></encoder></appender>`+
		`<root level="WARN"><appender-ref ref="out"/></root></configuration>`)
	x.classPath = filepath.Join(x.dir, "classes") + ":" + x.classPath
	require.NoError(x, os.Mkdir(filepath.Join(x.dir, "lib"), 0o755))
	require.NoError(x, os.Symlink(x.lib, filepath.Join(x.dir, "lib/bootstrap"))) // where NiFi looks
	node := func(i int) *process {
		name := fmt.Sprintf("node-%d", i)
		home := filepath.Join(x.dir, name)
		x.write(name+"/state-management.xml", fmt.Sprintf(`<stateManagement><local-provider><id>local</id>
<class>org.apache.nifi.controller.state.providers.local.WriteAheadLocalStateProvider</class>
<property name="Directory">%s/state</property></local-provider><cluster-provider><id>ensemble</id>
<class>org.apache.nifi.controller.state.providers.zookeeper.ZooKeeperStateProvider</class>
<property name="Connect String">%s</property><property name="Root Node">/nifi</property>
<property name="Session Timeout">8 seconds</property><property name="Access Control">Open</property>
</cluster-provider></stateManagement>`, home, x.connect()))
		x.write(name+"/nifi.properties", fmt.Sprintf(`nifi.flow.configuration.file=%[1]s/flow.xml.gz
nifi.flow.configuration.json.file=%[1]s/flow.json.gz
nifi.flow.configuration.archive.enabled=false
nifi.flowcontroller.autoResumeState=true
nifi.flowservice.writedelay.interval=100 ms
nifi.nar.library.directory=%[2]s
nifi.nar.working.directory=%[1]s/nars
nifi.documentation.working.directory=%[1]s/docs
nifi.web.jetty.working.directory=%[1]s/jetty
nifi.state.management.configuration.file=%[1]s/state-management.xml
nifi.state.management.provider.local=local
nifi.state.management.provider.cluster=ensemble
nifi.database.directory=%[1]s/database
nifi.flowfile.repository.directory=%[1]s/flowfiles
nifi.content.repository.directory.default=%[1]s/content
nifi.provenance.repository.implementation=org.apache.nifi.provenance.VolatileProvenanceRepository
nifi.web.http.host=127.0.0.1
nifi.web.http.port=%[3]d
nifi.web.jetty.threads=20
nifi.sensitive.props.key=only-for-tests
nifi.sensitive.props.algorithm=NIFI_PBKDF2_AES_GCM_256
nifi.cluster.is.node=true
nifi.cluster.node.address=127.0.0.1
nifi.cluster.node.protocol.port=%[4]d
nifi.cluster.node.connection.timeout=30 secs
nifi.cluster.node.read.timeout=30 secs
nifi.cluster.load.balance.port=%[5]d
nifi.cluster.flow.election.max.candidates=2
nifi.cluster.flow.election.max.wait.time=1 min
nifi.zookeeper.connect.string=%[6]s
nifi.zookeeper.session.timeout=8 secs
nifi.zookeeper.connect.timeout=8 secs
nifi.zookeeper.root.node=/nifi
`, home, x.lib, ports[i], ports[2+i], ports[4+i], x.connect()))
		return x.java(name, 448, append(opens(), "-Djava.awt.headless=true",
			"-Dnifi.properties.file.path="+filepath.Join(home, "nifi.properties"), "org.apache.nifi.NiFi")...)
	}
	nodes := []*process{node(0), node(1)}
	primary := -1
	leads := func() bool {
		primary = slices.IndexFunc(ports[2:4], func(port int) bool {
			return strings.HasSuffix(x.first("/nifi/leaders/Primary Node"), fmt.Sprintf(":%d", port))
		})
		return primary >= 0
	}
	source, err := filepath.Abs("nifi/job.py")
	require.NoError(x, err)
	x.drive(x.start("job", "python3", source, fmt.Sprint(ports[0]), x.dir), func() {
		x.eventually("there is a primary node", leads)
		killed := primary
		nodes[killed].kill()
		x.eventually("there is another primary node", func() bool { return leads() && primary != killed })
		nodes[killed] = node(killed)
	})
	x.felt("nodes that ended, besides the one that was killed", "%d", ended(nodes))
}
