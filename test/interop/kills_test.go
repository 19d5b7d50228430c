//go:build interop

package interop

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/measured"
)

var (
	killsFlag = flag.Int("interop.leaders", 3,
		"kills of TestKilledLeaders; ZooKeeper's leader is killed a tenth as often")
	killsRecord  = flag.String("interop.record", "", "folder of the documents that get what TestKilledLeaders counts")
	killsSilence = flag.Duration("interop.silence", 0,
		"99th percentile that TestKilledLeaders allows of the longest silence at the other servers; 0 is any")
)

// killLoad is the load of each kind of client.
var killLoad = load{sessions: 64, pause: 100 * time.Millisecond, window: 1}

// killClients are in the order of the table.
var killClients = []string{"Java", "Curator", "C", "kazoo", "go-zookeeper", "Warren"}

// TestKilledLeaders kills the leader again and again while clients of each kind write, and counts what they see of it:
// those of the server that is killed, and those of the others. Clients of other Warren servers see a slow answer and
// nothing else, and to Warren's own client nothing fails wherever it is connected. Beside it, the same with ZooKeeper.
func TestKilledLeaders(t *testing.T) {
	run := measured.Begin(t, "kills", "make kills KILLS="+strconv.Itoa(*killsFlag))
	run.BesideZooKeeper()
	felt := map[cluster.Kind]*killed{}
	for _, of := range []struct {
		kind  cluster.Kind
		kills int
	}{{cluster.Warren, *killsFlag}, {cluster.ZooKeeper, (*killsFlag + 9) / 10}} {
		if !t.Run(string(of.kind), func(t *testing.T) { felt[of.kind] = killLeaders(t, of.kind, of.kills) }) {
			return
		}
	}
	for row, r := range felt[cluster.Warren].rows {
		assert.Zero(t, r.wrong, "%v: errors", row)
		if row.client == "Warren" || !row.killed {
			assert.Zero(t, r.lost, "%v: requests of unknown outcome", row)
		}
		if !row.killed {
			assert.Zero(t, r.ends, "%v: connections that ended", row)
			if *killsSilence > 0 {
				assert.Less(t, r.silence(99), *killsSilence, "%v", row)
			}
		}
	}
	run.Keep(*killsRecord, measured.Parse(killTable(felt[cluster.Warren], felt[cluster.ZooKeeper])))
}

// killRow says of which clients a row is.
type killRow struct {
	client string
	killed bool // they were connected to the server that was killed
}

// killed is what clients have seen of leaders that were killed.
type killed struct {
	kills int
	rows  map[killRow]*killFelt
}

// killFelt is a row.
type killFelt struct {
	seen
	silences []time.Duration // the longest of each session and kill
}

// silence is a percentile.
func (r *killFelt) silence(percent int) time.Duration {
	if len(r.silences) == 0 {
		return 0
	}
	slices.Sort(r.silences)
	return r.silences[min(len(r.silences)*percent/100, len(r.silences)-1)]
}

// killLeaders does so on an ensemble of one kind.
func killLeaders(t *testing.T, kind cluster.Kind, kills int) *killed {
	t.Helper()
	nodes := cluster.StartEnsemble(t, slices.Repeat([]cluster.Options{{Kind: kind}}, 3)...)
	all := startWriters(t, nodes, killLoad, killClients...)
	k := &killed{kills: kills, rows: map[killRow]*killFelt{}}
	for _, client := range killClients {
		k.rows[killRow{client, true}], k.rows[killRow{client, false}] = new(killFelt), new(killFelt)
	}
	before := lookAtAll(all)
	for n := range kills {
		now := lookAtAll(all)
		for client, views := range now { // since the last kill
			for i, v := range views {
				k.rows[killRow{client, false}].add(v.minus(before[client][i].seen))
			}
		}
		before = now
		leader := leaderOf(t, nodes)
		port := portOf(leader.Addr())
		began := time.Now()
		leader.Kill()
		now = lookAtAll(all)
		for client, views := range now {
			for i, v := range views {
				was := before[client][i]
				row := killRow{client, was.port == port}
				k.rows[row].add(v.minus(was.seen))
				k.rows[row].silences = append(k.rows[row].silences, v.silence)
				if d := v.minus(was.seen); kind == cluster.Warren && !row.killed && d.ends+d.lost+d.wrong > 0 {
					t.Logf("%v, kill %d of server %d: session %d of %s at port %d has seen %+v", began, n, leader.ID(),
						i, client, was.port, d)
				}
			}
		}
		before = now
		leader.Start()
		for _, node := range nodes {
			node.WaitServing()
		}
	}
	for client, w := range all {
		for i, v := range w.end() {
			k.rows[killRow{client, false}].add(v.minus(before[client][i].seen))
		}
	}
	return k
}

// lookAtAll returns what the sessions of each kind of client have seen, as soon as each has been answered once more.
func lookAtAll(all map[string]writers) map[string][]view {
	looks := map[string]func() []view{}
	for client, w := range all {
		looks[client] = w.look()
	}
	views := map[string][]view{}
	for client, look := range looks {
		views[client] = look()
	}
	return views
}

func (r *killFelt) add(s seen) { r.seen = r.plus(s) }

// killTable has a row for each kind of client, at the server that was killed and at the others.
func killTable(warren, zookeeper *killed) string {
	var b strings.Builder
	b.WriteString("| client, connected to |")
	for _, side := range []struct {
		name string
		*killed
	}{{"Warren", warren}, {"ZooKeeper 3.8", zookeeper}} {
		fmt.Fprintf(&b, " %s, %d kills: connections that ended | unknown outcomes, errors |"+
			" longest silence, p50 and p99 |", side.name, side.kills)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", 7) + "\n")
	for _, at := range []struct {
		killed bool
		name   string
	}{{false, "another server"}, {true, "the killed leader"}} {
		for _, client := range killClients {
			fmt.Fprintf(&b, "| %s, %s |", client, at.name)
			for _, k := range []*killed{warren, zookeeper} {
				r := k.rows[killRow{client, at.killed}]
				fmt.Fprintf(&b, " %d of %d | %d, %d | %d, %d ms |", r.ends, len(r.silences), r.lost, r.wrong,
					r.silence(50).Milliseconds(), r.silence(99).Milliseconds())
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
