//go:build systems

package systems

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

var helix = &system{
	entry: entry{
		Name: "helix", Title: "Helix",
		Did: "Three participants and two controllers, with a resource of twelve partitions that have a master and a " +
			"slave each. In the middle of the run a participant and the leading controller are killed and started " +
			"again.",
		Set: []string{
			"`zk.session.timeout` below the time between two failures (8 s here): the partitions of a participant " +
				"that died get another master when its session ends.",
			"While partitions are placed anew, Helix may take one from its master, give it to another, and back, " +
				"all within a second. These terms follow each other: none overlapped in any run. Where the resource " +
				"has the strategy `CrushEdRebalanceStrategy`, about half as many masters move.",
		},
	},
	limit: 10 * time.Minute, memory: 400, run: runHelix,
}

func runHelix(x *run) {
	x.compile("Work.java", "helix/Job.java", "helix/Node.java", "helix/Terms.java")
	x.java("create", 128, "Job", x.connect(), "create").finish()
	start := func(kind, name string) *process {
		return x.java(name, 128, "-Dzk.session.timeout=8000", "Node", kind, name, x.connect(),
			filepath.Join(x.dir, "beats"))
	}
	controllers, participants := map[string]*process{}, map[string]*process{}
	for i := range 2 {
		name := fmt.Sprintf("controller-%d", i)
		controllers[name] = start("CONTROLLER", name)
	}
	for i := range 3 {
		name := fmt.Sprintf("participant-%d", i)
		participants[name] = start("PARTICIPANT", name)
	}
	leads := ""
	leader := func() bool {
		var z struct{ ID string }
		text, err := x.get("/cluster/CONTROLLER/LEADER")
		if err != nil || json.Unmarshal([]byte(text), &z) != nil {
			return false
		}
		leads = z.ID
		return controllers[leads] != nil
	}
	x.drive(x.java("job", 192, "Job", x.connect(), filepath.Join(x.dir, "beats")), func() {
		x.eventually("a controller leads", leader)
		killed := leads
		controllers[killed].kill()
		participants["participant-0"].kill()
		x.eventually("another controller leads", func() bool { return leader() && leads != killed })
		controllers[killed] = start("CONTROLLER", killed)
		participants["participant-0"] = start("PARTICIPANT", "participant-0")
	})
}
