package ensemble

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/measured"
	"github.com/seed94657493/warren/test/wire"
)

var (
	failoverFlag = flag.Int("ensemble.failover", 0, "rounds of TestFailover; 0 leaves it out")
	targetFlag   = flag.String("ensemble.target", "warren",
		"servers of TestFailover: warren, zookeeper, or both separated by a comma")
	explainFlag = flag.Duration("ensemble.explain", 0,
		"print what Warren's servers logged if a kill costs more than this")
	figuresFlag = flag.String("ensemble.figures", "kill,stop,sync,throughput", "what TestFailover measures")
	recordFlag  = flag.String("ensemble.record", "", "folder of the documents that get the figures of TestFailover, "+
		"TestLeaderWithoutClientsBeside or TestDeadClientsBeside")
)

// TestFailover measures what it costs when servers fail, and prints a table:
//
//	go test ./test/ensemble -run Failover -ensemble.failover=20 -ensemble.target=warren,zookeeper -v -timeout 60m
//
// A wait begins with the signal and ends with the acknowledgement of a write that was sent after the server had ended
// (SIGKILL), or is the longest time without an acknowledgement (SIGTERM). The clients write in a loop, and go to
// another server by themselves: one that tries the next server at once, and the client package as it is by default.
// An election is counted from when a server begins to look for a leader to when it knows one.
func TestFailover(t *testing.T) {
	if *failoverFlag == 0 {
		t.Skip("-ensemble.failover is not given")
	}
	run := measured.Begin(t, "failures", "make benchmarks FAILS="+strconv.Itoa(*failoverFlag))
	if strings.Contains(*targetFlag, string(cluster.ZooKeeper)) {
		run.BesideZooKeeper()
	}
	var tables []*figures
	for target := range strings.SplitSeq(*targetFlag, ",") {
		kind := cluster.Kind(target)
		f := &figures{head: titles[kind]}
		tables = append(tables, f)
		t.Run(target, func(t *testing.T) {
			for _, one := range []struct {
				name    string
				measure func(*testing.T, cluster.Kind, *figures)
			}{{"kill", measureKill}, {"stop", measureStop}, {"sync", measureSync}, {"throughput", measureThroughput}} {
				if slices.Contains(strings.Split(*figuresFlag, ","), one.name) {
					t.Run(one.name, func(t *testing.T) { one.measure(t, kind, f) })
				}
			}
		})
	}
	run.Keep(*recordFlag, measured.Parse(markdown(measured.Failures, tables)))
}

// titles name the kinds of servers in a table.
var titles = map[cluster.Kind]string{cluster.Warren: "Warren", cluster.ZooKeeper: "ZooKeeper 3.8"}

// figures are the results of one kind of server.
type figures struct {
	head string
	rows []figure
}

type figure struct{ name, value string }

func (f *figures) add(name, format string, args ...any) {
	f.rows = append(f.rows, figure{name, fmt.Sprintf(format, args...)})
}

// spread adds the median, and the least and the most.
func (f *figures) spread(name string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	took = slices.Sorted(slices.Values(took))
	f.add(name, "%s (%s to %s)", shortly(took[len(took)/2]), shortly(took[0]), shortly(took[len(took)-1]))
}

func shortly(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= 10*time.Millisecond:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// markdown is a table with a column for each kind of server. what is the head of the first column.
func markdown(what string, tables []*figures) string {
	var names []string
	values := map[string]string{}
	for _, f := range tables {
		for _, row := range f.rows {
			if !slices.Contains(names, row.name) {
				names = append(names, row.name)
			}
			values[f.head+row.name] = row.value
		}
	}
	var b strings.Builder
	b.WriteString("| " + what + " |")
	for _, f := range tables {
		b.WriteString(" " + f.head + " |")
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(tables)+1) + "\n")
	for _, name := range names {
		b.WriteString("| " + name + " |")
		for _, f := range tables {
			b.WriteString(" " + values[f.head+name] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// steady is how long everything runs undisturbed between two faults.
const steady = 700 * time.Millisecond

// measureKill kills the leader again and again.
func measureKill(t *testing.T, kind cluster.Kind, f *figures) {
	c := plain(t, kind, 3)
	warmUp(t, kind, c.nodes)
	writers := startWriters(t, c.nodes)
	waits := make([][]time.Duration, len(writers))
	var elections []time.Duration
	for range *failoverFlag {
		time.Sleep(steady)
		leader := c.certainLeader()
		before := c.elections(leader)
		from := time.Now()
		leader.Kill()
		ended := time.Now()
		var line []string
		for i, w := range writers {
			took := w.waitAfter(t, ended).acked.Sub(from)
			waits[i] = append(waits[i], took)
			line = append(line, fmt.Sprintf("%s %s", w.name, shortly(took)))
		}
		if took := waits[0][len(waits[0])-1]; *explainFlag > 0 && took > *explainFlag {
			c.explain(from, from.Add(took))
		}
		took := c.elections(leader).since(before)
		elections = append(elections, took...)
		c.logf("%s: SIGKILL to leader %d: %s; elections %v", kind, leader.ID(), strings.Join(line, ", "), took)
		leader.Launch()
		c.whole()
	}
	for i, w := range writers {
		f.spread(fmt.Sprintf("leader killed %d times, until the next acknowledged write, %s", len(waits[i]), w.name),
			waits[i])
	}
	f.spread("election after that", elections)
}

// measureStop stops the leader with SIGTERM again and again.
func measureStop(t *testing.T, kind cluster.Kind, f *figures) {
	c := plain(t, kind, 3)
	warmUp(t, kind, c.nodes)
	writers := startWriters(t, c.nodes)
	waits := make([][]time.Duration, len(writers))
	for range *failoverFlag {
		time.Sleep(steady)
		leader := c.certainLeader()
		from := time.Now()
		leader.Stop()
		ended := time.Now()
		for i, w := range writers {
			took := w.longestGap(from, w.waitAfter(t, ended).acked)
			waits[i] = append(waits[i], took)
		}
		c.logf("%s: SIGTERM to leader %d, ended after %v: %v and %v", kind, leader.ID(), ended.Sub(from),
			waits[0][len(waits[0])-1], waits[1][len(waits[1])-1])
		leader.Launch()
		c.whole()
	}
	for i, w := range writers {
		f.spread(fmt.Sprintf("leader stopped %d times, longest wait for an acknowledgement, %s", len(waits[i]),
			w.name), waits[i])
	}
}

// certainLeader waits until some server says that it leads.
func (c *chaos) certainLeader() *cluster.Node {
	c.t.Helper()
	for watch := cluster.NewWatch(); watch.Elapsed() < time.Minute; watch.Pause() {
		if node := c.leaderOf(c.nodes); node != nil {
			return node
		}
	}
	c.t.Fatal("no leader")
	return nil
}

// leaderOf returns the one of some servers that says now that it leads, or nil.
func (c *chaos) leaderOf(nodes []*cluster.Node) *cluster.Node {
	for _, node := range nodes {
		if node.Mode() == "leader" {
			return node
		}
	}
	return nil
}

// electionFigures are the metric election_time of each server, in ms.
type electionFigures map[int]struct{ sum, count float64 }

// elections reads the metric from all servers but one.
func (c *chaos) elections(but *cluster.Node) electionFigures {
	c.t.Helper()
	e := electionFigures{}
	for _, node := range c.nodes {
		if node == but {
			continue
		}
		var text string
		require.Eventually(c.t, func() (ok bool) { // a server that does not serve does not answer
			var err error
			text, err = wire.FourLetter(node.Addr(), "mntr", time.Second)
			return err == nil && strings.Contains(text, "zk_cnt_election_time")
		}, 30*time.Second, 10*time.Millisecond)
		e[node.ID()] = struct{ sum, count float64 }{metric(text, "zk_sum_election_time"),
			metric(text, "zk_cnt_election_time")}
	}
	return e
}

func metric(text, name string) float64 {
	_, after, _ := strings.Cut(text, name+"\t")
	line, _, _ := strings.Cut(after, "\n")
	v, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if err != nil {
		return 0
	}
	return v
}

// since returns the time of the elections since before, the mean of each server that had any.
func (e electionFigures) since(before electionFigures) (took []time.Duration) {
	for id, now := range e {
		if n := now.count - before[id].count; n > 0 {
			took = append(took, time.Duration((now.sum-before[id].sum)/n*float64(time.Millisecond)))
		}
	}
	return took
}

// explain prints what the servers logged between two times.
func (c *chaos) explain(from, to time.Time) {
	const layout = "2006-01-02T15:04:05.000Z"
	var lines []string
	for _, node := range c.nodes {
		for line := range strings.Lines(node.Log()) {
			at, _, _ := strings.Cut(line, "\t")
			if at >= from.UTC().Format(layout) && at <= to.UTC().Format(layout) {
				lines = append(lines, fmt.Sprintf("%s server %d %s", at, node.ID(), line[len(at):]))
			}
		}
	}
	slices.Sort(lines)
	c.logf("from %s to %s:\n%s", from.UTC().Format(layout), to.UTC().Format(layout), strings.Join(lines, ""))
}
