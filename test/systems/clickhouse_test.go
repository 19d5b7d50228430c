//go:build systems

package systems

import (
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/must"
)

var clickhouse = &system{
	entry: entry{
		Name: "clickhouse", Title: "ClickHouse",
		Did: "Two nodes, each of which inserts, changes and deletes rows of a KeeperMap table all the time. In the " +
			"middle of the run a node is killed and started again. At the end both read both tables. Replicated " +
			"tables weren't tried.",
		Set: []string{
			"`session_timeout_ms` below the time between two failures (8 s here, 30 s by default).",
		},
	},
	limit: 12 * time.Minute, memory: 1500, run: runClickHouse,
}

func runClickHouse(x *run) {
	var servers strings.Builder
	for _, n := range x.nodes {
		host, port := must.Do2(net.SplitHostPort(n.Addr()))(x)
		servers.WriteString("<node><host>" + host + "</host><port>" + port + "</port></node>")
	}
	x.write("config.xml", "<clickhouse><keeper_map_path_prefix>/maps</keeper_map_path_prefix><zookeeper>"+
		servers.String()+"<session_timeout_ms>8000</session_timeout_ms></zookeeper></clickhouse>")
	source := must.Abs(x, "clickhouse/job.py")
	job := x.start("job", "env", "PYTHONPATH="+x.lib, "python3", source, filepath.Join(x.dir, "config.xml"), x.dir)
	x.drive(job, func() {})
}
