package history

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

var (
	seedFlag   = flag.Uint64("history.seed", 0, "seed of the load; 0 draws one")
	burstsFlag = flag.Int("history.bursts", 150, "bursts of each client before the kill, and as many after it")
	targetFlag = flag.String("history.target", "warren", "server: warren or zookeeper")
)

const clientCount = 4

// load is a run of several clients against one server that dies once.
type load struct {
	recorder *Recorder
	node     *cluster.Node
	up       chan struct{} // closed when the server serves again
	half     sync.WaitGroup
}

// client is one session.
type client struct {
	*load
	Load
	session *Session
	failed  error
}

// TestHistory records clients that write, read and watch the same znodes, with a SIGKILL in the
// middle, and judges what they saw. Then it spoils the history in every way it knows: each must be
// noticed, or the judges prove nothing.
func TestHistory(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("SEED=%d (go test ./test/history -run TestHistory -history.seed=%d -history.bursts=%d)\n",
		seed, seed, *burstsFlag)
	node := cluster.Start(t, cluster.Options{Kind: cluster.Kind(*targetFlag)})
	h := record(t, node, seed)
	breaches := judge(h)
	if len(breaches) > 0 {
		name := filepath.Join(node.Dir(), "history.json")
		require.NoError(t, h.WriteFile(name))
		t.Fatalf("%d breaches; the history is in %s\n%s", len(breaches), name,
			strings.Join(breaches[:min(20, len(breaches))], "\n"))
	}
	if node.Kind() == cluster.Warren {
		spoil(t, h, seed)
	}
}

// record runs the clients and returns what they saw.
func record(t *testing.T, node *cluster.Node, seed uint64) *History {
	t.Helper()
	l := &load{recorder: NewRecorder(), node: node, up: make(chan struct{})}
	first, err := l.recorder.Dial(-1, node.Addr(), wire.Options{})
	require.NoError(t, err)
	finish(t, first, wire.Create("/reg", nil, wire.OpenACL, 0), wire.Create("/eph", nil, wire.OpenACL, 0))
	var wg sync.WaitGroup
	var clients []*client
	l.half.Add(clientCount)
	for i := range clientCount {
		c := &client{load: l,
			Load: Load{Rand: rand.New(rand.NewPCG(seed, uint64(i))), Client: i, Registers: registers}}
		c.session, c.failed = l.recorder.Dial(i, node.Addr(), wire.Options{TimeoutMs: 30_000})
		require.NoError(t, c.failed)
		clients = append(clients, c)
		wg.Go(c.run)
	}
	l.half.Wait()
	node.Kill()
	node.Start()
	close(l.up)
	wg.Wait()
	for i, c := range clients {
		require.NoError(t, c.failed, "client %d", i)
	}
	// Half of the sessions end; later reads must show that.
	for _, c := range clients[:clientCount/2] {
		finish(t, c.session, wire.CloseSession())
	}
	resume := first.Resume()
	first.Close()
	last, err := l.recorder.Dial(-1, node.Addr(), resume)
	require.NoError(t, err)
	for _, c := range clients {
		for _, path := range c.Mine {
			finish(t, last, wire.Exists(path, false))
		}
	}
	for i := range registers {
		finish(t, last, wire.Sync("/"), wire.GetData(Register(i), false))
	}
	finish(t, last, wire.CloseSession())
	for _, c := range clients {
		c.session.Close()
	}
	last.Close()
	return l.recorder.History()
}

// finish sends requests and waits; the answers are for the judges.
func finish(t *testing.T, s *Session, reqs ...wire.Request) {
	t.Helper()
	for _, call := range s.SendAll(reqs...) {
		require.NoError(t, call.Wait())
	}
}

const registers = 4

// run is the life of a client: bursts, and a resume when the server dies, which it does as soon as
// every client has done half of them.
func (c *client) run() {
	half := sync.OnceFunc(c.half.Done)
	defer half()
	for n := 0; n < 2**burstsFlag && c.failed == nil; n++ {
		if n == *burstsFlag {
			half()
		}
		if err := c.burst(); err != nil {
			half()
			c.failed = c.again(err)
		}
	}
	// A client that was done before the server died still has to continue its session.
	<-c.up
	if c.failed != nil {
		return
	}
	if err := c.session.SendAll(wire.Ping())[0].Wait(); err != nil {
		c.failed = c.again(err)
	}
}

// again continues the session when the server is back.
func (c *client) again(err error) error {
	if _, ok := errors.AsType[*wire.Violation](err); ok {
		return err
	}
	<-c.up
	<-c.session.Done()
	c.Forget()
	c.session, err = c.recorder.Dial(c.Client, c.node.Addr(), c.session.Resume())
	return err
}

// burst sends a few requests at once and waits for the answers.
func (c *client) burst() error {
	var failed error
	for _, call := range c.session.SendAll(c.Burst()...) {
		if err := call.Wait(); err != nil {
			failed = err
			continue
		}
		c.Learn(call)
	}
	return failed
}

// spoil applies every mutation to copies of a history that is right.
func spoil(t *testing.T, h *History, seed uint64) {
	t.Helper()
	text, err := json.Marshal(h)
	require.NoError(t, err)
	for name, mutate := range mutations {
		bad := &History{}
		require.NoError(t, json.Unmarshal(text, bad))
		require.True(t, mutate(rand.New(rand.NewPCG(seed, 0)), bad), "%s: no place", name)
		if len(judgeStreams(bad)) == 0 {
			require.NotEmpty(t, CheckRegisters(bad, judgeTimeout), "%s was not noticed", name)
		}
	}
}
