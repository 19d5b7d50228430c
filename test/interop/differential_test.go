//go:build interop

package interop

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

var (
	seedFlag = flag.Uint64("interop.seed", 0,
		"seed of the one differential run to replay; 0 runs -interop.seeds new ones")
	seedsFlag    = flag.Int("interop.seeds", 3, "number of differential runs")
	requestsFlag = flag.Int("interop.requests", 1500, "requests of each differential run")
	traceFlag    = flag.String("interop.trace", "",
		"file to which a differential run writes what it sends and what ZooKeeper answers")
	rightFlag = flag.String("interop.right", "warren", "server that is compared with ZooKeeper: warren or zookeeper")
)

// superDigest is super:test. Source: client-protocol 10.6.
const superDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

// settings are those of both servers. The long session timeout keeps sessions alive while they
// have no connection.
func settings(ttl bool) map[string]string {
	return map[string]string{
		"minSessionTimeout":                        "60000",
		"maxSessionTimeout":                        "120000",
		"enforceQuota":                             "true",
		"extendedTypesEnabled":                     fmt.Sprint(ttl),
		"DigestAuthenticationProvider.superDigest": superDigest,
	}
}

// TestDifferential compares two servers, request by request.
func TestDifferential(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = nil
		first := uint64(time.Now().UnixNano())
		for i := range *seedsFlag {
			seeds = append(seeds, first+uint64(i))
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			fmt.Printf("SEED=%d\n", seed)
			runDifferential(t, seed)
		})
	}
}

// sessionCount is how many sessions a run has at a time.
const sessionCount = 4

// run is one differential run.
type run struct {
	*pair
	gen     *generator
	down    [sessionCount]bool // the session has no connection, on purpose
	ended   [sessionCount]bool // the session is over
	history []string           // the last bursts, for the report
	sent    int
	replies map[string]int // how often each operation gave each code, to see what is covered
}

func runDifferential(t *testing.T, seed uint64) {
	ttl := seed%2 == 0
	left := cluster.New(t, cluster.Options{Kind: cluster.ZooKeeper, Settings: settings(ttl)})
	right := cluster.New(t, cluster.Options{Kind: cluster.Kind(*rightFlag), Settings: settings(ttl)})
	left.Launch()
	right.Launch()
	left.WaitServing()
	right.WaitServing()
	r := &run{pair: newPair(left, right, sessionCount+1), gen: newGenerator(seed, ttl), replies: map[string]int{}}
	defer r.close()
	if *traceFlag != "" {
		f := must.Do(os.Create(*traceFlag))(t)
		defer f.Close()
		r.traceTo = f
	}
	err := r.setUp()
	for err == nil && r.sent < *requestsFlag {
		err = r.step()
	}
	if err == nil {
		err = r.compareEnd()
	}
	if err != nil {
		t.Fatalf("after %d requests: %v\nlast bursts:\n  %s\nreplay: go test ./test/interop -tags interop -run "+
			"TestDifferential -interop.seed=%d -interop.requests=%d",
			r.sent, err, strings.Join(r.history, "\n  "), seed, *requestsFlag)
	}
	t.Logf("%d requests, %d writes, %d events, allowances %v\nreplies %v", r.sent, len(r.left.canon.writes), r.events,
		r.allowed, r.replies)
}

func (r *run) close() {
	for _, s := range r.sides() {
		for _, l := range s.links {
			if l.conn != nil {
				l.conn.Close()
			}
		}
	}
}

// setUp opens the sessions and creates the regions.
func (r *run) setUp() error {
	timeouts := []int32{0, -1, 10_000, 70_000, 1_000_000, 90_000}
	for i := range sessionCount {
		o := wire.Options{TimeoutMs: timeouts[r.gen.rand.IntN(len(timeouts))], Exact: true, Legacy: i == 1,
			ReadOnly: i == 2}
		if _, err := r.dial(i, func(*side) wire.Options { return o }); err != nil {
			return err
		}
	}
	first := &burst{session: 0, reqs: []wire.Request{
		wire.Create(openRegion, nil, wire.OpenACL, 0), wire.Create(secureRegion, []byte{}, wire.OpenACL, 0),
		wire.Create(quotaRegion, []byte("q"), wire.OpenACL, 0),
		wire.Create("/zookeeper/quota/q", []byte{}, wire.OpenACL, 0), wire.Create(quotaNode+"/zookeeper_limits",
			[]byte("count=6,bytes=60=;byteHardLimit=60;countHardLimit=6"), wire.OpenACL, 0),
		wire.Create(quotaNode+"/zookeeper_stats", []byte("count=0,bytes=0"), wire.OpenACL, 0),
	}}
	return r.runBurst(first)
}

func (r *run) runBurst(b *burst) error {
	r.sent += max(1, len(b.reqs))
	r.history = append(r.history, describe(b))
	r.trace("%s", describe(b))
	if len(r.history) > 5 {
		r.history = slices.Delete(r.history, 0, 1)
	}
	if err := r.run(b); err != nil {
		return err
	}
	return nil
}

// step does one thing: a burst, or something to a connection.
func (r *run) step() error {
	i := r.gen.rand.IntN(sessionCount)
	switch {
	case r.ended[i]:
		return r.openSession(i)
	case r.down[i]:
		if r.gen.chance(50) {
			return r.refusedHandshake(i)
		}
		return r.resume(i)
	case r.gen.chance(2):
		r.left.links[i].conn.Close()
		r.right.links[i].conn.Close()
		r.down[i] = true
		return nil
	case r.gen.chance(1):
		return r.resume(i) // the server closes the connection that is there
	}
	b := r.gen.burst(i)
	calls := r.watchCalls(i)
	if err := r.runBurst(b); err != nil {
		return err
	}
	for _, call := range calls() {
		r.gen.learn(call)
		r.replies[call.Request.Op.String()+" "+call.Reply.Header.Err.Name()]++
	}
	if b.closes {
		r.ended[i], r.down[i] = b.ends, !b.ends
	}
	return nil
}

// watchCalls returns the calls that the left side answers from now on.
func (r *run) watchCalls(i int) func() []*wire.Call {
	l := r.left.links[i]
	l.mu.Lock()
	l.answered = nil
	l.mu.Unlock()
	return func() []*wire.Call {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.answered
	}
}

func (r *run) openSession(i int) error {
	r.ended[i], r.down[i] = false, false
	o := wire.Options{TimeoutMs: 60_000, Legacy: r.gen.chance(20)}
	refused, err := r.dial(i, func(*side) wire.Options { return o })
	if err == nil && refused {
		err = differ("both sides refused a new session")
	}
	return err
}

// resume continues a session on a new connection and sets watches again, with a zxid of the past.
func (r *run) resume(i int) error {
	old := [2]*link{r.left.links[i], r.right.links[i]}
	refused, err := r.dial(i, func(s *side) wire.Options {
		o := s.links[i].conn.Resume()
		o.Observe = nil
		return o
	})
	if err != nil {
		return err
	}
	if refused {
		return differ("session %d: both sides refused to resume it", i)
	}
	for k, s := range r.sides() {
		if err := old[k].conn.WaitClosed(); err != nil {
			return differ("%s: session %d: the old connection after a resume: %v", s.canon.side, i, err)
		}
	}
	r.down[i] = false
	if r.gen.chance(20) {
		return nil
	}
	write := r.gen.rand.IntN(len(r.left.canon.writes))
	if r.gen.chance(50) {
		write = max(0, len(r.left.canon.writes)-1-r.gen.rand.IntN(10))
	}
	return r.runCatchUp(i, write)
}

// runCatchUp sends setWatches relative to the zxid that each side gave to a write.
func (r *run) runCatchUp(i, write int) error {
	request := r.gen.setWatches()
	b := &burst{session: i, each: func(s *side) []wire.Request {
		return []wire.Request{request(s.canon.writes[write])}
	}}
	b.reqs = b.each(r.left)
	return r.runBurst(b)
}

// refusedHandshake tries to take a session that has no connection, in a way that must fail.
func (r *run) refusedHandshake(i int) error {
	kind := r.gen.rand.IntN(3)
	refused, err := r.dial(sessionCount, func(s *side) wire.Options {
		o := s.links[i].conn.Resume()
		o.Observe = nil
		switch kind {
		case 0:
			o.Password = []byte("wrong password!!")
		case 1:
			o.Session = 0x1234567890
		case 2:
			o.LastZxid += 1 << 40
		}
		return o
	})
	if err == nil && !refused {
		err = differ("session %d: both sides accepted handshake of kind %d", i, kind)
	}
	return err
}

// compareEnd compares what is left: the tree as the superuser sees it, and the counts.
func (r *run) compareEnd() error {
	for i := range sessionCount {
		if r.down[i] {
			if err := r.resume(i); err != nil {
				return err
			}
		}
		if r.ended[i] {
			if err := r.openSession(i); err != nil {
				return err
			}
		}
	}
	if _, err := r.dial(sessionCount, func(*side) wire.Options { return wire.Options{} }); err != nil {
		return err
	}
	login := &burst{session: sessionCount, reqs: []wire.Request{wire.Auth("digest", []byte("super:test"))}}
	if err := r.run(login); err != nil {
		return err
	}
	var text [2]string
	for k, s := range r.sides() {
		dump, err := dumpTree(s.links[sessionCount].conn, s.canon.stat, "/")
		if err != nil {
			return differ("%s: dump: %v", s.canon.side, err)
		}
		text[k] = dump
	}
	if text[0] != text[1] {
		return differ("trees differ:\n%s", lineDiff(text[0], text[1]))
	}
	return r.compareCounts()
}

// compareCounts compares the figures of the four-letter words. A connection that was closed is
// noticed later, so the figures are read until they agree.
func (r *run) compareCounts() error {
	deadline := time.Now().Add(5 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var text [2]string
		for k, s := range r.sides() {
			counts, err := counts(s.node.Addr())
			if err != nil {
				return err
			}
			text[k] = counts
		}
		if text[0] == text[1] {
			return nil
		}
		if time.Now().After(deadline) {
			return differ("figures differ:\n%s", lineDiff(text[0], text[1]))
		}
		<-tick.C
	}
}

// dumpTree renders path and everything below it, with data, ACL and Stat as render shows it.
func dumpTree(conn *wire.Conn, render func(*proto.Stat) string, path string) (string, error) {
	data, stat, err := conn.GetData(path, false)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	list, _, err := conn.GetACL(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	children, err := conn.Children(path, false)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q %s %s %s\n", path, buffer(data), acl(list), render(&stat))
	slices.Sort(children)
	for _, name := range children {
		sub, err := dumpTree(conn, render, strings.TrimSuffix(path, "/")+"/"+name)
		if err != nil {
			return "", err
		}
		b.WriteString(sub)
	}
	return b.String(), nil
}

// counts returns the figures that must agree. Not among them are zk_watch_count, because 3.8 counts
// a recursive watch in both of its tables, and zk_approximate_data_size, because it is approximate:
// Java counts paths in UTF-16 units. Of wchs the number of connections is left out: Java counts some
// whose watches have all fired.
func counts(addr string) (string, error) {
	mntr, err := wire.FourLetter(addr, "mntr", 10*time.Second)
	if err != nil {
		return "", err
	}
	var list []string
	for line := range strings.Lines(mntr) {
		for _, name := range []string{
			"zk_znode_count", "zk_ephemerals_count", "zk_num_alive_connections", "zk_global_sessions",
		} {
			if strings.HasPrefix(line, name+"\t") {
				list = append(list, line)
			}
		}
	}
	wchs, err := wire.FourLetter(addr, "wchs", 10*time.Second)
	if err != nil {
		return "", err
	}
	slices.Sort(list)
	_, paths, _ := strings.Cut(wchs, " connections ")
	return strings.Join(list, "") + paths, nil
}

// lineDiff returns the lines that only one side has.
func lineDiff(left, right string) string {
	l, r := strings.Split(left, "\n"), strings.Split(right, "\n")
	var b strings.Builder
	for _, line := range l {
		if !slices.Contains(r, line) {
			fmt.Fprintf(&b, " left: %s\n", line)
		}
	}
	for _, line := range r {
		if !slices.Contains(l, line) {
			fmt.Fprintf(&b, "right: %s\n", line)
		}
	}
	return b.String()
}
