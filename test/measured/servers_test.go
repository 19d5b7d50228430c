//go:build interop

package measured

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/bench"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

var (
	record   = flag.String("measured.record", "", "folder of the documents that get the figures")
	turn     = flag.Duration("measured.turn", 0, "length of a turn; 0 leaves the measurements out")
	rounds   = flag.Int("measured.rounds", 3, "turns of each side, for each load")
	znodes   = flag.Int("measured.znodes", 1_000_000, "znodes of the table with that many")
	sessions = flag.Int("measured.sessions", 10_000, "sessions of the table of connections")
)

// load is a row.
type load struct {
	name string
	args string // of warren bench
	goal goal
}

// goal is what a ratio of medians is to reach; without a figure there is none.
type goal struct {
	figure string
	least  float64
	most   float64
}

func (g goal) text(ratio float64) string {
	text := ""
	switch {
	case g.figure == "":
		return ""
	case g.most > 0:
		text = fmt.Sprintf("ratio of p50 <= %v", g.most)
	default:
		text = fmt.Sprintf(">= %v", g.least)
	}
	if ratio < g.least || g.most > 0 && ratio > g.most {
		text += ", **missed**"
	}
	return text
}

func atLeast(ratio float64) goal { return goal{figure: "operations/s", least: ratio} }

var (
	ofOne = []load{
		{"getData, 1 x 1", "get --connections 1 --outstanding 1", atLeast(3)},
		{"getData, 64 x 1", "get --connections 64 --outstanding 1", atLeast(2)},
		{"getData, 16 x 64", "get --connections 16 --outstanding 64", atLeast(10)},
		{"setData, 64 x 1", "set --connections 64 --outstanding 1", atLeast(1.5)},
		{"setData, 16 x 64", "set --connections 16 --outstanding 64", atLeast(7)},
	}
	ofThree = []load{
		{"getData, 64 x 1", "get --connections 64 --outstanding 1", atLeast(2.2)},
		{"getData, 16 x 64", "get --connections 16 --outstanding 64", atLeast(9)},
		{"setData, 1 x 1", "set --connections 1 --outstanding 1", goal{figure: "p50 us", most: 0.75}},
		{"setData, 64 x 1", "set --connections 64 --outstanding 1", atLeast(1.8)},
		{"setData, 16 x 64", "set --connections 16 --outstanding 64", atLeast(5)},
		{"90 % getData, 10 % setData, 64 x 4", "mixed --mix get=90,set=10 --connections 64 --outstanding 4",
			atLeast(3.8)},
		{"create (sequential), 64 x 1", "create --connections 64 --outstanding 1", atLeast(2)},
	}
	others = []load{
		{"getData of 100 kB, 16 x 4", "get --size 100000 --znodes 100 --connections 16 --outstanding 4", goal{}},
		{"90 % getData, 10 % setData of 10 kB, 64 x 4",
			"mixed --mix get=90,set=10 --size 10000 --connections 64 --outstanding 4", goal{}},
		{"setData of 100 kB, 16 x 4", "set --size 100000 --znodes 100 --connections 16 --outstanding 4", goal{}},
		{"setData of 10 kB, 16 x 16", "set --size 10000 --connections 16 --outstanding 16", goal{}},
		{"setData of 1 kB, 64 x 4", "set --size 1000 --connections 64 --outstanding 4", goal{}},
		{"multi of three operations, 16 x 16", "mixed --mix multi=1 --connections 16 --outstanding 16", goal{}},
		{"sync, 64 x 1", "mixed --mix sync=1 --connections 64 --outstanding 1", goal{}},
		{"90 % getChildren, 10 % sequential create, 64 x 4",
			"mixed --mix children=90,seq=10 --connections 64 --outstanding 4", goal{}},
		{"80 % getData with a watch, 20 % setData, 64 x 4",
			"mixed --mix watch=80,set=20 --connections 64 --outstanding 4", goal{}},
	}
)

// TestServers measures servers beside ZooKeeper's, in turns, for docs/BENCHMARKS.md and what others quote of it.
func TestServers(t *testing.T) {
	if *turn == 0 {
		t.Skip("-measured.turn is not given")
	}
	m := Begin(t, "servers", "make benchmarks TURN="+turn.String())
	m.BesideZooKeeper()
	var tables []Table
	t.Run("one", func(t *testing.T) { tables = append(tables, besides(t, One, 1, ofOne)) })
	t.Run("three", func(t *testing.T) { tables = append(tables, besides(t, Three, 3, ofThree)) })
	t.Run("others", func(t *testing.T) { tables = append(tables, besides(t, Others, 3, others)) })
	t.Run("million", func(t *testing.T) { tables = append(tables, million(t)) })
	t.Run("sessions", func(t *testing.T) { tables = append(tables, ofSessions(t)) })
	t.Run("size", func(t *testing.T) { tables = append(tables, size(t)) })
	m.Keep(*record, tables...)
}

// target starts servers of a kind.
func target(t *testing.T, kind cluster.Kind, servers int) (*bench.Target, []*cluster.Node) {
	t.Helper()
	var nodes []*cluster.Node
	o := cluster.Options{Kind: kind, JVM: []string{"-Xmx1g"}}
	if servers == 1 {
		nodes = append(nodes, cluster.New(t, o))
	} else {
		nodes = cluster.Ensemble(t, slices.Repeat([]cluster.Options{o}, servers)...)
	}
	for _, node := range nodes {
		node.Launch()
	}
	at := &bench.Target{Name: string(kind)}
	for _, node := range nodes {
		node.WaitServing()
		at.Servers, at.PIDs = append(at.Servers, node.Addr()), append(at.PIDs, node.Pid())
	}
	return at, nodes
}

// run puts targets under the load of some arguments of warren bench.
func run(t *testing.T, args string, targets ...*bench.Target) *bench.Report {
	t.Helper()
	words := strings.Fields(args)
	l := must.Do(bench.Find(words[0]))(t)
	p, flags := bench.DefaultsOf(l), pflag.NewFlagSet(args, pflag.ContinueOnError)
	p.Slice, p.Duration = *turn, *turn*time.Duration(*rounds)
	p.Warmup = min(p.Warmup, *turn)
	p.Register(flags)
	require.NoError(t, flags.Parse(words[1:]))
	require.NoError(t, p.Validate())
	return must.Do(bench.Run(t.Context(), l, p, targets...))(t, args)
}

// besides is a table of loads of servers of both kinds, which take turns.
func besides(t *testing.T, name string, servers int, loads []load) Table {
	ours, _ := target(t, cluster.Warren, servers)
	theirs, _ := target(t, cluster.ZooKeeper, servers)
	run(t, "mixed --warmup 0s --duration "+(5**turn).String(), theirs) // until their code is compiled
	table := Table{Head: []string{name, "Warren, op/s", "ZooKeeper, op/s", "ratio", "goal",
		"Warren, p50 and p99, ms", "ZooKeeper, p50 and p99, ms", "op per CPU second of the servers, ratio",
		"their memory, MiB", "`warren bench`"}}
	for _, l := range loads {
		began := time.Now()
		report := run(t, l.args, ours, theirs)
		of := map[string]bench.Comparison{}
		for _, c := range report.Comparisons {
			of[c.Figure] = c
		}
		for _, at := range report.Targets {
			for _, rows := range at.Rounds {
				require.Empty(t, rows[0].Errors, "%s of %s", l.name, at.Name)
			}
		}
		rate := of["operations/s"]
		table.Rows = append(table.Rows, []string{l.name, Grouped(rate.A.Median), Grouped(rate.B.Median),
			spread(rate.Ratio), l.goal.text(of[l.goal.figure].Ratio.Median),
			ms(of["p50 us"].A.Median) + ", " + ms(of["p99 us"].A.Median),
			ms(of["p50 us"].B.Median) + ", " + ms(of["p99 us"].B.Median),
			two(of["operations/CPU s"].Ratio.Median),
			Grouped(of["resident MiB"].A.Median) + ", " + Grouped(of["resident MiB"].B.Median),
			"`" + l.args + "`"})
		t.Logf("%s after %v: %v", l.name, time.Since(began).Round(time.Second/10), table.Rows[len(table.Rows)-1][1:4])
	}
	return table
}

// million is the table of what many znodes cost, with restarts after a SIGKILL.
func million(t *testing.T) Table {
	const starts = 3
	type side struct {
		rate, perCPU, resident float64
		starts                 []float64
	}
	var sides []side
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		at, nodes := target(t, kind, 1)
		row := run(t, "fill --connections 4 --outstanding 200 --size 100 --path-length 40 --keep --znodes "+
			strconv.Itoa(*znodes), at).Targets[0].Rounds[0][0]
		require.Empty(t, row.Errors)
		s := side{rate: row.PerSecond, perCPU: row.Servers.PerCPUSecond, resident: row.Servers.ResidentMiB}
		for range starts {
			nodes[0].Kill()
			from := time.Now()
			nodes[0].Launch()
			nodes[0].WaitServing()
			s.starts = append(s.starts, time.Since(from).Seconds())
		}
		slices.Sort(s.starts)
		sides = append(sides, s)
		nodes[0].Kill()
	}
	w, z := sides[0], sides[1]
	table := Table{Head: []string{Million, "Warren", "ZooKeeper", "ratio", "goal"}}
	add := func(name string, warren, zookeeper, ratio, goal string) {
		table.Rows = append(table.Rows, []string{name, warren, zookeeper, ratio, goal})
	}
	add("creating them, op/s", Grouped(w.rate), Grouped(z.rate), two(w.rate/z.rate), atLeast(4).text(w.rate/z.rate))
	add("operations per CPU second of the server", Grouped(w.perCPU), Grouped(z.perCPU), two(w.perCPU/z.perCPU), "")
	add("resident memory with them", Grouped(w.resident)+" MiB", Grouped(z.resident)+" MiB",
		two(w.resident/z.resident), limit(w.resident, 320, "MiB"))
	add("restart until served, after SIGKILL", seconds(w.starts), seconds(z.starts),
		two(w.starts[starts/2]/z.starts[starts/2]), limit(w.starts[starts/2], 1, "s"))
	return table
}

// ofSessions is the table of idle sessions, of a watch event for all of them, and of their return.
func ofSessions(t *testing.T) Table {
	table := Table{Head: []string{Sessions, "`warren bench`", "result"}}
	for _, l := range []load{
		{name: "idle sessions", args: "connections --duration " + (2 * *turn).String()},
		{name: "connections that watch one znode", args: "watch-fanout --rounds 3"},
		{name: "connections that are reset at once, with 10 watches each", args: "reconnect-storm --rounds 3"},
	} {
		at, nodes := target(t, cluster.Warren, 1)
		args := l.args + " --connections " + strconv.Itoa(*sessions)
		row := run(t, args, at).Targets[0].Rounds[0][0]
		require.Empty(t, row.Errors, l.name)
		var said []string
		for _, f := range row.Figures {
			value := Grouped(f.Value)
			if f.Unit == "us" {
				value, f.Unit = ms(f.Value), "ms"
			}
			said = append(said, strings.TrimSpace(f.Name+" "+value+" "+f.Unit))
		}
		table.Rows = append(table.Rows, []string{Grouped(float64(*sessions)) + " " + l.name, "`" + args + "`",
			strings.Join(said, "; ")})
		nodes[0].Kill()
	}
	return table
}

// size is the table of what a server takes that does nothing.
func size(t *testing.T) Table {
	info := must.Do(os.Stat(cluster.Binary(t)))(t)
	_, nodes := target(t, cluster.Warren, 1)
	binary, resident := float64(info.Size())/(1<<20), status(t, nodes[0], "VmRSS")/1024
	return Table{Head: []string{Size, "MiB", "goal"}, Rows: [][]string{
		{"the binary", one(binary), limit(binary, 25, "MiB")},
		{"resident memory of an empty server", one(resident), limit(resident, 20, "MiB")},
		{"of it, not pages of the binary", one(status(t, nodes[0], "RssAnon") / 1024), ""},
	}}
}

// status is a field of the status of a server's process, in KiB.
func status(t *testing.T, n *cluster.Node, field string) float64 {
	t.Helper()
	text := must.ReadFile(t, fmt.Sprintf("/proc/%d/status", n.Pid()))
	found := regexp.MustCompile(`(?m)^` + field + `:\s*(\d+) kB$`).FindSubmatch(text)
	require.NotNil(t, found, field)
	return must.Do(strconv.ParseFloat(string(found[1]), 64))(t)
}

func limit(is, most float64, unit string) string {
	text := fmt.Sprintf("<= %v %s", most, unit)
	if is > most {
		text += ", **missed**"
	}
	return text
}

func spread(s bench.Spread) string {
	return two(s.Median) + " (" + two(s.Min) + " to " + two(s.Max) + ")"
}

// seconds is the median of sorted times, with the others.
func seconds(all []float64) string {
	return fmt.Sprintf("%s s (%s to %s)", two(all[len(all)/2]), two(all[0]), two(all[len(all)-1]))
}

func ms(us float64) string { return two(us / 1000) }

func one(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// two writes two decimals, or none of large numbers.
func two(v float64) string {
	switch {
	case v >= 100:
		return Grouped(v)
	case v >= 10:
		return one(v)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
