//go:build systems

package systems

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

var pinot = &system{
	entry: entry{
		Name: "pinot", Title: "Pinot",
		Did: "Two controllers, a broker and a server. One segment after the other is added to a table, which is " +
			"queried all the time. In the middle of the run the leading controller is killed and started again.",
		Set: []string{
			"The Java property `zk.session.timeout` below the time between two failures (8 s here, 30 s by " +
				"default): another controller leads when the session of one that died ends.",
			"A controller that ends, or loses its connection, while it creates a segment may leave it without a " +
				"server. It accepts the segment again, without an effect: delete it first. This happened on either " +
				"server.",
		},
	},
	limit: 15 * time.Minute, memory: 900, run: runPinot,
}

func runPinot(x *run) {
	x.compile("Work.java", "Queries.java", "pinot/Node.java", "pinot/Job.java")
	ports := cluster.FreePorts(x, 6) // of the controllers and the broker; the server has three
	start := func(name, class string, settings ...string) *process {
		return x.java(name, 256, slices.Concat(opens(), []string{"-XX:MaxDirectMemorySize=128m",
			"-Dzk.session.timeout=8000", "Node", "org.apache.pinot." + class}, settings)...)
	}
	controller := func(i int) *process {
		name := fmt.Sprintf("controller-%d", i)
		return start(name, "controller.ControllerStarter", "controller.helix.cluster.name=systems",
			"controller.zk.str="+x.connect(), "controller.host=127.0.0.1", fmt.Sprintf("controller.port=%d", ports[i]),
			"controller.data.dir="+filepath.Join(x.dir, "segments"),
			"controller.local.temp.dir="+filepath.Join(x.dir, name))
	}
	controllers := []*process{controller(0)}
	x.eventually("the cluster is there", func() bool { // two controllers that create it at once don't start
		_, err := x.get("/systems/IDEALSTATES/brokerResource")
		return err == nil
	})
	controllers = append(controllers, controller(1))
	leads := -1
	leader := func() bool {
		var z struct{ ID string }
		text, err := x.get("/systems/CONTROLLER/LEADER")
		if err != nil || json.Unmarshal([]byte(text), &z) != nil {
			return false
		}
		leads = slices.IndexFunc(ports[:2], func(port int) bool {
			return strings.HasSuffix(z.ID, fmt.Sprintf("_%d", port))
		})
		return leads >= 0
	}
	x.eventually("a controller leads", leader)
	others := []*process{
		start("broker", "broker.broker.helix.HelixBrokerStarter", "pinot.cluster.name=systems",
			"pinot.zk.server="+x.connect(), "pinot.broker.hostname=127.0.0.1",
			fmt.Sprintf("pinot.broker.client.queryPort=%d", ports[2])),
		start("server", "server.starter.helix.HelixServerStarter", "pinot.cluster.name=systems",
			"pinot.zk.server="+x.connect(), "pinot.server.netty.host=127.0.0.1",
			fmt.Sprintf("pinot.server.netty.port=%d", ports[3]),
			fmt.Sprintf("pinot.server.adminapi.port=%d", ports[4]),
			fmt.Sprintf("pinot.server.grpc.port=%d", ports[5]),
			"pinot.server.instance.dataDir="+filepath.Join(x.dir, "server-data"),
			"pinot.server.instance.segmentTarDir="+filepath.Join(x.dir, "server-tars")),
	}
	x.drive(x.java("job", 128, "Job", fmt.Sprint(ports[0]), fmt.Sprint(ports[1]), fmt.Sprint(ports[2])), func() {
		x.failOver("controller", controllers, &leads, leader, controller)
	})
	x.felt("processes of Pinot that ended, besides the one that was killed", "%d", ended(controllers, others))
}
