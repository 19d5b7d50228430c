//go:build systems

package systems

import (
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var shardingsphere = &system{
	entry: entry{
		Name: "shardingsphere", Title: "ShardingSphere",
		Did: "Two proxies in cluster mode before two databases of H2. Sharded tables are created by one proxy, and " +
			"rows are put into them and read by the other, all the time. In the middle of the run the first proxy is " +
			"killed and started again, with nothing but what the ensemble knows.",
		Set: []string{
			"`timeToLiveSeconds` of the repository (60 by default, 8 here) below the time between two failures.",
		},
	},
	limit: 12 * time.Minute, memory: 900, run: runShardingSphere,
}

func runShardingSphere(x *run) {
	x.compile("Work.java", "shardingsphere/Job.java")
	ports := append(cluster.FreePorts(x, 2), shortPort(x))
	x.java("h2", 128, "org.h2.tools.Server", "-tcp", "-tcpPort", fmt.Sprint(ports[2]), "-ifNotExists", "-baseDir",
		filepath.Join(x.dir, "h2"))
	x.write("conf/proxy/server.yaml", fmt.Sprintf(`mode:
  type: Cluster
  repository:
    type: ZooKeeper
    props:
      namespace: proxies
      server-lists: %s
      timeToLiveSeconds: 8
      operationTimeoutMilliseconds: 5000
  overwrite: false
rules:
  - !AUTHORITY
    users: ["root@%%:root"]
    provider: {type: ALL_PRIVILEGES_PERMITTED}
`, x.connect()))
	x.write("conf/logback.xml", `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">`+
		`<encoder><pattern>%d %p %c - %m%n</pattern></encoder></appender>`+
		`<root level="WARN"><appender-ref ref="out"/></root></configuration>`)
	x.classPath = filepath.Join(x.dir, "conf") + ":" + x.classPath
	proxy := func(i int) *process {
		return x.java(fmt.Sprintf("proxy-%d", i), 320, append(opens(), "org.apache.shardingsphere.proxy.Bootstrap",
			fmt.Sprint(ports[i]), "/proxy")...)
	}
	proxies := []*process{proxy(0), proxy(1)}
	job := x.java("job", 128, "Job", fmt.Sprint(ports[0]), fmt.Sprint(ports[1]), fmt.Sprint(ports[2]))
	x.drive(job, func() {
		proxies[0].kill()
		proxies[0] = proxy(0)
	})
	x.felt("proxies that ended, besides the one that was killed", "%d", ended(proxies))
}

// shortPort is a free port of four digits: ShardingSphere knows no address of H2 with a longer one.
func shortPort(x *run) int {
	for port := 4000; port < 9999; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			require.NoError(x, l.Close())
			return port
		}
	}
	x.Fatal("no free port")
	return 0
}
