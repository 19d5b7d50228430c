//go:build interop

package ensemble

import (
	"testing"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/measured"
)

// TestLeaderWithoutClientsBeside counts what TestLeaderWithoutClientsIsKilled does, and beside it with ZooKeeper.
func TestLeaderWithoutClientsBeside(t *testing.T) {
	run := measured.Begin(t, "kills of a leader without clients", "make kills KILLS=200")
	run.BesideZooKeeper()
	var tables []*figures
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		l := crowdAtKills(t, kind)
		if kind == cluster.Warren && l.ended.Load()+l.unknown.Load() > 0 {
			t.Errorf("%v: %v", kind, l)
		}
		f := &figures{head: titles[kind]}
		f.add("leaders killed", "%d", *crowdKills)
		f.add("sessions at the others, each with a write in flight", "%d", *crowdSessions)
		f.add("connections that ended", "%d", l.ended.Load())
		f.add("writes without an answer", "%d", l.unknown.Load())
		f.add("longest wait for an answer", "%s", shortly(l.longest()))
		tables = append(tables, f)
	}
	run.Keep(*recordFlag, measured.Parse(markdown(measured.Crowd, tables)))
}
