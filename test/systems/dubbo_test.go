//go:build systems

package systems

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

var dubbo = &system{
	entry: entry{
		Name: "dubbo", Title: "Dubbo",
		Did: "Two providers of a service and a consumer that calls them in turn all the time. In the middle of the " +
			"run a provider is killed and started again at the same address.",
		Set: []string{
			"`session` in the address of the registry (8000 ms here, 60 s by default): consumers forget a provider " +
				"that died when its session ends.",
			"The parameter `dubbo.application.least-reconnect-duration` of references and `heartbeat` of the " +
				"protocol (2000 ms each here, 60 s by default): a consumer keeps a provider that died and was " +
				"started again at its address, and looks so often whether it can be connected to again. By " +
				"default, calls go to it up to a minute later, on either server.",
		},
	},
	limit: 12 * time.Minute, memory: 500, run: runDubbo,
}

func runDubbo(x *run) {
	x.compile("Work.java", "dubbo/Squares.java", "dubbo/Provider.java", "dubbo/Job.java")
	first, others, _ := strings.Cut(x.connect(), ",")
	registry := "zookeeper://" + first + "?backup=" + others + "&session=8000&timeout=15000"
	ports := cluster.FreePorts(x, 2)
	start := func(name string, args ...string) *process {
		return x.java(name, 192, append([]string{"-Ddubbo.application.qos.enable=false",
			"-Ddubbo.network.interface.preferred=lo", "-Duser.home=" + x.dir}, args...)...)
	}
	provider := func(i int) *process {
		return start(fmt.Sprintf("provider-%d", i), "Provider", registry, fmt.Sprint(ports[i]))
	}
	providers := []*process{provider(0), provider(1)}
	x.drive(start("job", "Job", registry), func() {
		providers[0].kill()
		providers[0] = provider(0)
	})
	x.felt("providers that ended, besides the one that was killed", "%d", ended(providers))
}
