//go:build systems

package systems

import (
	"encoding/binary"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

var hbase = &system{
	entry: entry{
		Name: "hbase", Title: "HBase",
		Did: "Two masters and two region servers on HDFS. Rows are put into a table of four regions all the time, " +
			"and in the middle of the run the active master and a region server are killed and started again.",
		Set: []string{
			"`zookeeper.session.timeout` below the time between two failures (8 s here): the regions of a server " +
				"that died are opened by another one when its session ends.",
		},
	},
	limit: 15 * time.Minute, memory: 900, run: runHBase,
}

func runHBase(x *run) {
	ports := cluster.FreePorts(x, 6)
	x.hadoop(map[string]string{
		"fs.defaultFS":                 fmt.Sprintf("hdfs://127.0.0.1:%d", ports[0]),
		"dfs.namenode.http-address":    fmt.Sprintf("127.0.0.1:%d", ports[1]),
		"dfs.namenode.name.dir":        "file://" + filepath.Join(x.dir, "name"),
		"dfs.namenode.edits.dir":       "file://" + filepath.Join(x.dir, "name"),
		"dfs.namenode.replication.min": "1",
	})
	x.write("conf/hbase-site.xml", properties(map[string]string{
		"hbase.rootdir":                                fmt.Sprintf("hdfs://127.0.0.1:%d/hbase", ports[0]),
		"hbase.cluster.distributed":                    "true",
		"hbase.zookeeper.quorum":                       x.connect(),
		"zookeeper.session.timeout":                    "8000",
		"hbase.wal.provider":                           "filesystem",
		"hbase.unsafe.regionserver.hostname":           "127.0.0.1",
		"hbase.master.hostname":                        "127.0.0.1",
		"hbase.master.info.port":                       "-1",
		"hbase.regionserver.info.port":                 "-1",
		"hbase.regionserver.handler.count":             "4",
		"hbase.master.start.timeout.localHBaseCluster": "300000",
	}))
	x.compile("Work.java", "hbase/Job.java")
	x.nameNode("name-node", "-format", "-nonInteractive").finish()
	x.nameNode("name-node")
	x.dataNode()
	x.eventually("the NameNode listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0]))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	start := func(class, kind string, i, port int) *process {
		return x.java(fmt.Sprintf("%s-%d", kind, i), 320, append(opens(), class,
			fmt.Sprintf("-Dhbase.%s.port=%d", kind, port), "start")...)
	}
	master := func(i int) *process {
		return start("org.apache.hadoop.hbase.master.HMaster", "master", i, ports[2+i])
	}
	server := func(i int) *process {
		return start("org.apache.hadoop.hbase.regionserver.HRegionServer", "regionserver", i, ports[4+i])
	}
	masters, servers := []*process{master(0), master(1)}, []*process{server(0), server(1)}
	leads := -1
	leader := func() bool {
		text, err := x.get("/hbase/master") // a protocol buffer with the port
		leads = slices.IndexFunc(ports[2:4], func(port int) bool {
			return strings.Contains(text, string(binary.AppendUvarint([]byte{0x10}, uint64(port))))
		})
		return err == nil && leads >= 0
	}
	x.drive(x.java("job", 256, append(opens(), "Job")...), func() {
		x.eventually("a master is active", leader)
		killed := leads
		masters[killed].kill()
		servers[0].kill()
		x.eventually("another master is active", func() bool { return leader() && leads != killed })
		masters[killed], servers[0] = master(killed), server(0)
	})
	x.felt("masters and region servers that ended, besides those that were killed", "%d", ended(masters, servers))
}
