//go:build interop

package measured

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestIdleServers measures what three servers use that are asked for nothing, beside ZooKeeper's, one kind after the
// other.
func TestIdleServers(t *testing.T) {
	if *turn == 0 {
		t.Skip("-measured.turn is not given")
	}
	const clients = 1000
	m := Begin(t, "idle servers", "make benchmarks TURN="+turn.String())
	m.BesideZooKeeper()
	var alone, pinged, resident []float64
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		at, nodes := target(t, kind, 3)
		run(t, "mixed --warmup 0s", at)
		alone = append(alone, used(t, nodes))
		for i := range clients {
			c := must.Do(client.Dial(t.Context(), at.Servers[i%len(at.Servers)],
				client.WithSessionTimeout(10*time.Second)))(t)
			t.Cleanup(func() { _ = c.Close() })
		}
		pinged = append(pinged, used(t, nodes))
		kib := 0.0
		for _, n := range nodes {
			kib += status(t, n, "VmRSS")
			n.Kill()
		}
		resident = append(resident, kib/1024)
	}
	table := Table{Head: []string{Idle, "Warren", "ZooKeeper", "ratio"}}
	for _, row := range []struct {
		name string
		of   []float64
		unit string
	}{
		{"all three, without clients", alone, " % of a core"},
		{fmt.Sprintf("all three, with %s idle sessions of 10 s", Grouped(clients)), pinged, " % of a core"},
		{"resident memory of all three with them", resident, " MiB"},
	} {
		table.Rows = append(table.Rows,
			[]string{row.name, two(row.of[0]) + row.unit, two(row.of[1]) + row.unit, two(row.of[0] / row.of[1])})
	}
	m.Keep(*record, table)
}

// used is the share of a core that servers use together, in percent, when a moment has passed in which they may finish
// what they were doing.
func used(t *testing.T, nodes []*cluster.Node) float64 {
	t.Helper()
	processor := func() (all time.Duration) {
		for _, n := range nodes {
			all += cluster.ProcessorTime(t, n.Pid())
		}
		return all
	}
	time.Sleep(5 * *turn)
	from, began := processor(), time.Now()
	time.Sleep(20 * *turn)
	return 100 * (processor() - from).Seconds() / time.Since(began).Seconds()
}
