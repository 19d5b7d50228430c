package cluster

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

var (
	roundsFlag = flag.Int("cluster.rounds", 5, "rounds of the crash test")
	seedFlag   = flag.Uint64("cluster.seed", 0, "seed of the crash test; 0 draws one")
	targetFlag = flag.String("cluster.target", "warren", "server of the crash test: warren or zookeeper")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(Main(m))
}

// worker is one session with a subtree of its own.
type worker struct {
	rand    *rand.Rand
	model   *model // what is certain: everything acknowledged
	conn    *wire.Conn
	serial  int
	ending  bool // this round ends with closeSession
	steps   []step
	calls   []*wire.Call
	maxZxid proto.Zxid // of acknowledged requests, over all connections
}

// TestCrash kills a server under load, again and again, and compares what it was promised to keep
// with what it has. What was acknowledged must be there; of what was not, a prefix may be, in the
// order in which each session sent it.
func TestCrash(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("SEED=%d (go test ./test/cluster -run TestCrash -cluster.seed=%d -cluster.rounds=%d)\n",
		seed, seed, *roundsFlag)
	r := rand.New(rand.NewPCG(seed, 1))
	node := Start(t, Options{Kind: Kind(*targetFlag), Settings: map[string]string{
		"tickTime": "500", "maxSessionTimeout": "60000", "snapCount": "500"}})
	var workers []*worker
	for i := range 4 {
		w := &worker{rand: rand.New(rand.NewPCG(seed, uint64(100+i))),
			model: &model{root: fmt.Sprintf("/w%d", i), nodes: map[string]znode{}}}
		w.open(t, node)
		w.conn.MustCreate(t, w.model.root, nil, proto.ModePersistent)
		workers = append(workers, w)
	}
	for round := range *roundsFlag {
		abandoned := abandon(t, node, round)
		load(node, workers, r)
		node.Start()
		for _, w := range workers {
			w.verify(t, node, round)
		}
		checkAbandoned(t, node, abandoned, round%5 == 4)
	}
}

func (w *worker) open(t *testing.T, node *Node) {
	t.Helper()
	conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: 60_000, LastZxid: w.maxZxid})
	w.conn, w.model.closed = conn, false
}

// load lets all workers write until the server dies at a random moment.
func load(node *Node, workers []*worker, r *rand.Rand) {
	var wg sync.WaitGroup
	for _, w := range workers {
		w.ending = r.IntN(6) == 0
		wg.Go(w.run)
	}
	<-time.After(time.Duration(10+r.IntN(300)) * time.Millisecond)
	node.Kill()
	wg.Wait()
}

// run sends bursts of requests, up to a window, until the connection ends.
func (w *worker) run() {
	w.steps, w.calls = nil, nil
	speculative := w.model.clone() // as if everything sent took effect
	limit := 1 << 30
	if w.ending {
		limit = 20 + w.rand.IntN(300)
	}
	for len(w.calls) < limit && w.conn.Err() == nil {
		var reqs []wire.Request
		for range 1 + w.rand.IntN(8) {
			w.serial++
			s := randomStep(w.rand, speculative, w.serial)
			speculative.apply(s)
			w.steps = append(w.steps, s)
			reqs = append(reqs, w.model.request(s))
		}
		w.calls = append(w.calls, w.conn.SendAll(reqs)...)
		if n := len(w.calls) - 24; n > 0 {
			<-w.calls[n].Done()
		}
	}
	if w.ending {
		s := step{op: proto.OpCloseSession}
		w.steps = append(w.steps, s)
		w.calls = append(w.calls, w.conn.Send(w.model.request(s)))
	}
	<-w.conn.Done()
}

// verify compares the server with the model: every acknowledged answer, and then the state, which
// must be that after all acknowledged steps and some prefix of the others.
func (w *worker) verify(t *testing.T, node *Node, round int) {
	t.Helper()
	acked := 0
	for i, call := range w.calls {
		if err := call.Wait(); err != nil {
			var v *wire.Violation
			require.False(t, errors.As(err, &v), "round %d: %v", round, err)
			break
		}
		acked++
		want := w.model.apply(w.steps[i])
		require.Equal(t, want, answer(&call.Reply), "round %d: %s: answer to step %d, %+v", round,
			w.model.root, i, w.steps[i])
		w.maxZxid = max(w.maxZxid, call.Reply.Header.Zxid)
	}
	for _, call := range w.calls[acked:] {
		require.Error(t, call.Wait(), "round %d: a reply after a missing one", round)
	}
	resume := w.conn.Resume()
	resume.LastZxid = max(resume.LastZxid, w.maxZxid)
	conn, err := wire.Dial(node.Addr(), resume)
	closed := errors.Is(err, wire.ErrRejected)
	if !closed {
		require.NoError(t, err, "round %d: resume %v", round, resume.Session)
	}
	reader := conn
	if closed {
		reader = must.Do(wire.Dial(node.Addr(), wire.Options{LastZxid: resume.LastZxid}))(t, "round %d", round)
	}
	require.NoError(t, reader.Sync("/"))
	got := must.Do(read(reader, w.model.root, resume.Session))(t, "round %d", round)
	w.match(t, round, got, closed, w.steps[acked:])
	if !closed {
		w.conn = conn
		return
	}
	reader.Close()
	w.open(t, node)
}

// match takes the first candidate that the server's state equals.
func (w *worker) match(t *testing.T, round int, got string, closed bool, pending []step) {
	t.Helper()
	candidate := w.model.clone()
	var tried strings.Builder
	for i := 0; ; i++ {
		if candidate.String() == got && candidate.closed == closed {
			w.model = candidate
			return
		}
		fmt.Fprintf(&tried, "after %d of %d unacknowledged (session closed %v):\n%s", i, len(pending),
			candidate.closed, candidate)
		if i == len(pending) {
			break
		}
		candidate.apply(pending[i])
	}
	t.Fatalf("round %d: %s has (session closed %v)\n%swhich is none of\n%s", round, w.model.root, closed,
		got, tried.String())
}

// abandoned is an ephemeral whose session no client continues.
type abandoned struct {
	path    string
	session proto.SessionID
}

// abandon creates an ephemeral in a session that gets no connection again.
func abandon(t *testing.T, node *Node, round int) abandoned {
	t.Helper()
	for { // on a busy machine the session may expire before it has its znode
		conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: 1000})
		path, err := conn.Create(fmt.Sprintf("/abandoned-%d-%d", round, conn.Session()), nil, proto.ModeEphemeral)
		conn.Close()
		if err == nil {
			return abandoned{path, conn.Session()}
		}
	}
}

// checkAbandoned: the ephemeral goes when the session's timeout has passed, counted anew from the
// restart; with wait, this is waited for. While it is there, it is its session's.
func checkAbandoned(t *testing.T, node *Node, a abandoned, wait bool) {
	t.Helper()
	conn := must.Do(wire.Dial(node.Addr(), wire.Options{}))(t)
	defer func() { require.NoError(t, conn.CloseSession()) }()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		stat, err := conn.Exists(a.path, false)
		if errors.Is(err, proto.ErrNoNode) {
			return
		}
		require.NoError(t, err)
		require.Equal(t, a.session, stat.EphemeralOwner)
		if !wait {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s outlives its session", a.path)
		<-tick.C
	}
}
