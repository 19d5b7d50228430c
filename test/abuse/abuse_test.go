package abuse

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

var (
	fullFlag = flag.Bool("abuse.full", false, "large numbers, and a table at the end")
	niceFlag = flag.Int("abuse.nice", 19, "priority of the bad client")
	timeFlag = flag.Duration("abuse.time", 0, "how long each abuse lasts; 0 is 250ms, and 5s with -abuse.full")
)

func TestMain(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		os.Exit(obey(text))
	}
	flag.Parse()
	os.Exit(cluster.Main(m))
}

// abuse is one thing that a bad client does.
type abuse struct {
	name     string
	members  int               // 1 is a server alone
	settings map[string]string // beside the defaults
	memory   int64             // limit of the server's resident memory, MiB
	left     int64             // how much more than before may be left a minute later, MiB; 0 is not looked at
	full     bool              // only with -abuse.full
	possible func() bool       // whether it can be done here; nil is everywhere
	prepare  func(*attack)     // before the good clients are measured
	run      func(*attack)     // until a.ctx ends, or as long as it takes
}

// abuses is all of them.
func abuses() (all []abuse) {
	for _, list := range [][]abuse{connections(), frames(), floods(), replies(), watches(), sessions(), members()} {
		all = append(all, list...)
	}
	return all
}

// stallMax is the longest wait of a good client, beyond what the machine's disk and processors make any client wait
// at that time.
const stallMax = 2 * time.Second

// report is what one abuse has cost.
type report struct {
	name string
	// idle is while no other client is there, during the abuse, and beside what clients of another server wait at
	// that time.
	idle, during, beside window
	server, abuser       float64       // processors used during the abuse
	rate                 float64       // of what the bad client does, a second; 0 if that is not counted
	machine              time.Duration // longest wait of a process that only writes to the same disk
	before, most, limit  int64         // MiB
}

// stall is the longest wait of a good client during the abuse.
func (r *report) stall() time.Duration { return max(r.during.readMax, r.during.writeMax) }

func TestAbuse(t *testing.T) {
	var all []report
	for _, ab := range abuses() {
		if ab.full && !*fullFlag {
			continue
		}
		t.Run(strings.ReplaceAll(ab.name, " ", "-"), func(t *testing.T) {
			if ab.possible != nil && !ab.possible() {
				t.Skip("it takes root and /dev/net/tun")
			}
			all = append(all, suffer(t, ab))
		})
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
			lasts = 5 * time.Second
		}
	}
	tg := startTarget(t, max(ab.members, 1), ab.settings)
	other := cluster.Start(t, cluster.Options{Dir: memoryDir(t)})
	bad := startAbuser(t, order{Name: ab.name, Full: *fullFlag, Lasts: lasts, Site: tg.site(t)})
	l, far := startLoad(t, cluster.Addrs(tg.nodes)...), startLoad(t, other.Addr())
	r := report{name: ab.name, limit: ab.memory, before: tg.memory()}
	held := must.Do(tg.held())(t)
	r.idle = l.measure(t, func() { time.Sleep(lasts / 4) }) // what is measured here is time itself
	most, stop := tg.watchMemory()
	witness := startWitness(t)
	used, began := tg.processorTime(t), time.Now()
	bad.tell(attackNow)
	r.beside = far.measure(t, func() { r.during = l.measure(t, bad.wait) })
	took := time.Since(began)
	r.server = float64(tg.processorTime(t)-used) / float64(took)
	r.abuser = float64(bad.used) / float64(took)
	r.rate = float64(bad.done) / took.Seconds()
	r.machine = witness()
	require.NoError(t, tg.back(held, 20*time.Second), "after the abuse")
	stop()
	l.end()
	far.end()
	r.most = most.Load()
	if ab.left > 0 {
		require.Eventually(t, func() bool { return tg.memory() < r.before+ab.left }, time.Minute, 100*time.Millisecond,
			"MiB stay resident when all clients of the abuse have left: %d before, %d in it", r.before, r.most)
	}
	t.Logf("%+v", r)
	require.NotZero(t, r.during.requests, "good clients get answers during the abuse")
	require.Less(t, r.stall(), stallMax+r.machine, "longest wait of a good client")
	require.Less(t, r.most, r.limit, "MiB of resident memory")
	for _, n := range tg.nodes {
		require.True(t, n.Running())
		require.NotContains(t, n.Log(), "goroutine ", "no panic, no race")
	}
	return r
}

// startWitness writes to the disk all the time, with no server in between. The result stops that and returns the
// longest wait.
func startWitness(t *testing.T) (stop func() time.Duration) {
	f := must.Do(os.Create(filepath.Join(t.TempDir(), "witness")))(t)
	done, longest := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		defer f.Close()
		var most time.Duration
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			began := time.Now()
			select {
			case <-done:
				tick.Stop()
				longest <- most
				return
			case <-tick.C:
			}
			_, err := f.WriteAt([]byte("x"), 0)
			if err = errors.Join(err, f.Sync()); err != nil {
				t.Errorf("witness: %v", err)
			}
			most = max(most, time.Since(began))
		}
	}()
	return func() time.Duration {
		close(done)
		return <-longest
	}
}

// table is the reports for a document. Bold is what is above three times what is waited without the bad client and at
// another server.
func table(all []report) string {
	var b strings.Builder
	b.WriteString("\n| what the bad client does | reads p99, ms: idle | beside | abused | worst | writes p99, ms: " +
		"idle | beside | abused | worst | processors: server | abuser | memory, MiB: before | most | limit |\n")
	b.WriteString("| --- |" + strings.Repeat(" --: |", 13) + "\n")
	for _, r := range all {
		name := r.name
		if r.rate > 0 {
			name += fmt.Sprintf(", %.0f a second", r.rate)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %.2f | %.2f | %d | %d | %d |\n", name,
			ms(r.idle.readP99), ms(r.beside.readP99), judged(r.during.readP99, r.idle.readP99, r.beside.readP99),
			ms(r.during.readMax), ms(r.idle.writeP99), ms(r.beside.writeP99),
			judged(r.during.writeP99, r.idle.writeP99, r.beside.writeP99), ms(r.during.writeMax), r.server, r.abuser,
			r.before, r.most, r.limit)
	}
	return b.String()
}

// judged is d in ms, in bold if it is more than three times the larger of the other two.
func judged(d, idle, beside time.Duration) string {
	if d > 3*max(idle, beside) {
		return "**" + ms(d) + "**"
	}
	return ms(d)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }
