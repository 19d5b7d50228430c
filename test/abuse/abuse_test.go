package abuse

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var (
	fullFlag = flag.Bool("abuse.full", false, "large numbers, and a table at the end")
	timeFlag = flag.Duration("abuse.time", 0, "how long each abuse lasts; 0 is 250ms, and 10s with -abuse.full")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(cluster.Main(m))
}

// abuse is one thing that a bad client does.
type abuse struct {
	name     string
	members  int               // 1 is a server alone
	settings map[string]string // beside the defaults
	memory   int64             // limit of the server's resident memory, MiB
	prepare  func(*attack)     // before the good clients are measured
	run      func(*attack)     // until a.ctx ends, or as long as it takes
}

// stallMax is the longest wait of a good client that a busy machine may cause. A server that is quiet stays far below.
const stallMax = 2 * time.Second

// report is what one abuse has cost.
type report struct {
	name                  string
	before, during, after window
	idle, most, limit     int64 // MiB
}

func TestAbuse(t *testing.T) {
	var all []report
	for _, list := range [][]abuse{connections(), frames(), replies(), watches(), sessions(), members()} {
		for _, ab := range list {
			t.Run(strings.ReplaceAll(ab.name, " ", "-"), func(t *testing.T) { all = append(all, suffer(t, ab)) })
		}
	}
	if *fullFlag {
		t.Log(table(all))
	}
}

// suffer runs one abuse against servers of its own and judges it.
func suffer(t *testing.T, ab abuse) report {
	lasts := *timeFlag
	if lasts == 0 {
		lasts = 250 * time.Millisecond
		if *fullFlag {
			lasts = 10 * time.Second
		}
	}
	tg := startTarget(t, max(ab.members, 1), ab.settings)
	a := &attack{t: t, target: tg, full: *fullFlag, ctx: t.Context()}
	if ab.prepare != nil {
		ab.prepare(a)
	}
	var addrs []string
	for _, n := range tg.nodes {
		addrs = append(addrs, n.Addr())
	}
	l := startLoad(t, addrs...)
	r := report{name: ab.name, limit: ab.memory, idle: tg.memory()}
	held, err := tg.held()
	require.NoError(t, err)
	began := time.Now()
	time.Sleep(min(lasts/2, 3*time.Second)) // what is measured here is time itself
	most, stop := tg.watchMemory()
	abused := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	a.ctx = ctx
	ab.run(a)
	cancel()
	a.closeAll()
	require.NoError(t, tg.back(held, 20*time.Second), "after the abuse")
	over := time.Now()
	stop()
	time.Sleep(min(lasts/2, 3*time.Second))
	end := time.Now()
	l.end()
	r.most = most.Load()
	if r.before, err = l.between(began, abused); err == nil {
		if r.during, err = l.between(abused, over); err == nil {
			r.after, err = l.between(over, end)
		}
	}
	require.NoError(t, err, "of a good client")
	t.Logf("%+v", r)
	require.NotZero(t, r.during.requests, "good clients get answers during the abuse")
	require.Less(t, max(r.during.readMax, r.during.writeMax), stallMax, "longest wait of a good client")
	require.Less(t, r.most, r.limit, "MiB of resident memory")
	for _, n := range tg.nodes {
		require.True(t, n.Running())
		require.NotContains(t, n.Log(), "goroutine ", "no panic, no race")
	}
	return r
}

// table is the reports for a document.
func table(all []report) string {
	var b strings.Builder
	b.WriteString("\n| what the bad client does | reads p99, ms: before | during | worst | writes p99, ms: before | during | worst | memory, MiB: before | most | limit |\n")
	b.WriteString("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d | %d | %d |\n", r.name, ms(r.before.readP99), ms(r.during.readP99),
			ms(r.during.readMax), ms(r.before.writeP99), ms(r.during.writeP99), ms(r.during.writeMax), r.idle, r.most, r.limit)
	}
	return b.String()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }
