package ensemble

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

var (
	seedFlag    = flag.Uint64("ensemble.seed", 0, "seed of the faults and of the load; 0 draws one")
	roundsFlag  = flag.Int("ensemble.rounds", 8, "faults of each run")
	serversFlag = flag.Int("ensemble.servers", 3, "servers that vote")
	clientsFlag = flag.Int("ensemble.clients", 5, "clients")
	faultsFlag  = flag.String("ensemble.faults", "", "kinds of faults, separated by commas; all by default")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(cluster.Main(m))
}

// chaos is one run.
type chaos struct {
	t      *testing.T
	rand   *rand.Rand
	fabric *fabric // nil: no networks can be cut
	nodes  []*cluster.Node
	voters int
	began  time.Time
	disks  map[int]*disk // by server: those that can be filled
	admin  map[int]int   // by server: admin ports, if they are on
	short  mortals
}

// seed begins the run's chance.
func (c *chaos) seed(seed uint64) {
	c.rand = rand.New(rand.NewPCG(seed, 0))
	c.disks = map[int]*disk{}
}

// printSeed draws the seed of a run unless it is given, and says how to repeat it.
func printSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("SEED=%d (go test ./test/ensemble -run %s -ensemble.seed=%d -ensemble.rounds=%d -ensemble.servers=%d "+
		"-ensemble.faults=%q)\n",
		seed, t.Name(), seed, *roundsFlag, *serversFlag, *faultsFlag)
	return seed
}

// TestChaos lets clients work on an ensemble while one thing after the other happens to it, and judges what they saw:
// no acknowledged write is lost, writes are linearizable, sessions never see time go back and live on, watches are
// kept across moves, ephemerals are exact, and all servers agree in the end.
func TestChaos(t *testing.T) {
	seed := printSeed(t)
	c := &chaos{t: t, voters: *serversFlag, began: time.Now()}
	c.seed(seed)
	c.start()
	c.judge(c.load(seed, func() {
		for range *roundsFlag {
			c.sleep(100, 600)
			c.fault()
		}
		c.sleep(300, 600)
	}))
}

// start brings up the voters and one observer.
func (c *chaos) start() {
	c.t.Helper()
	n := c.voters + 1
	c.fabric = newFabric(c.t, n)
	var o []cluster.Options
	for i := 1; i <= n; i++ {
		one := cluster.Options{Observer: i == n,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "4",
				"maxSessionTimeout": "60000", "snapCount": "2000"}}
		if c.fabric != nil {
			one.Host, one.Namespace = c.fabric.Addr(i), c.fabric.Namespace(i)
		}
		if c.rand.IntN(2) == 0 {
			if d := newDisk(c.t); d != nil {
				c.disks[i], one.Dir = d, d.dir
				maps.Copy(one.Settings, smallDisk)
			}
		}
		o = append(o, one)
	}
	c.launch(o)
}

// launch starts servers and waits for them.
func (c *chaos) launch(o []cluster.Options) {
	c.t.Helper()
	c.nodes = cluster.StartEnsemble(c.t, o...)
}

// load lets clients work while something happens, and returns what they saw.
func (c *chaos) load(seed uint64, something func()) *history.History {
	recorder := history.NewRecorder()
	var stop atomic.Bool
	newClient := func(number int, stream uint64) *client {
		return &client{nodes: c.nodes, recorder: recorder, stop: &stop, Load: history.Load{
			Rand: rand.New(rand.NewPCG(seed, stream)), Client: number, Registers: registers}}
	}
	first := newClient(-1, 99)
	require.NoError(c.t, first.somewhere(wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard}))
	c.finish(first.session, wire.Create("/reg", nil, wire.OpenACL, 0), wire.Create("/eph", nil, wire.OpenACL, 0),
		wire.Create("/mortal", nil, wire.OpenACL, 0))

	var clients []*client
	var wg sync.WaitGroup
	for i := range *clientsFlag {
		one := newClient(i, uint64(100+i))
		require.NoError(c.t, one.open())
		clients = append(clients, one)
		wg.Go(one.run)
	}
	var short []*mortal
	for i := range 2 {
		m := &mortal{client: newClient((i+1)*10_000, uint64(500+i)), all: &c.short}
		short = append(short, m)
		wg.Go(m.run)
	}
	something()
	stop.Store(true)
	wg.Wait()
	acked, moves := 0, 0
	for _, one := range clients {
		require.NoError(c.t, one.failed)
		acked += one.acked
		moves += one.moves
	}
	for _, m := range short {
		require.NoError(c.t, m.failed)
	}
	c.logf("%d requests answered, %d moves", acked, moves)
	c.short.buried(c)
	c.finishIfOpen(first)
	last := newClient(-2, 98)
	require.NoError(c.t, last.somewhere(wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard}))
	return c.lookBack(last, clients)
}

// hangGuard is how long an answer is waited for when all servers are well. Reply timeouts do not stand still with the
// machine.
const hangGuard = 3 * time.Minute

// finishIfOpen ends the session of a client that has been idle, unless its connection is gone.
func (c *chaos) finishIfOpen(one *client) {
	if one.session.Err() == nil {
		_ = one.session.SendAll(wire.CloseSession())[0].Wait() // it may be gone by now
	}
	one.session.Close()
}

// lookBack ends half of the sessions, reads everything once more, and ends the others before the trees are compared:
// no client uses them then, and a session that expires in the middle is a difference.
func (c *chaos) lookBack(last *client, clients []*client) *history.History {
	half := len(clients) / 2
	for _, one := range clients[:half] {
		c.settled(one)
		c.finish(one.session, wire.CloseSession())
	}
	var reads []wire.Request
	for _, one := range clients {
		for _, path := range one.Mine {
			reads = append(reads, wire.Exists(path, false))
		}
	}
	for i := range registers {
		reads = append(reads, wire.Sync("/"), wire.GetData(history.Register(i), false))
	}
	for some := range slices.Chunk(reads, 200) {
		for _, one := range clients[half:] {
			c.settled(one)
		}
		c.finish(last.session, some...)
	}
	for _, one := range clients[half:] {
		c.settled(one)
		c.finish(one.session, wire.CloseSession())
	}
	c.finish(last.session, wire.CloseSession())
	c.same()
	for _, one := range clients {
		one.session.Close()
	}
	last.session.Close()
	return last.recorder.History()
}

// settled makes sure that a client has a connection that works.
func (c *chaos) settled(one *client) {
	c.t.Helper()
	for range 5 {
		err := one.session.SendAll(wire.Ping())[0].Wait()
		if err == nil {
			return
		}
		require.NoError(c.t, one.move(err))
	}
	c.t.Fatal("no connection lasts")
}

func (c *chaos) finish(s *history.Session, reqs ...wire.Request) {
	c.t.Helper()
	for _, call := range s.SendAll(reqs...) {
		err := call.Wait()
		if err != nil {
			c.stacks()
		}
		require.NoError(c.t, err)
	}
}

// stacks ends all servers so that each writes into its log what every goroutine did.
func (c *chaos) stacks() {
	for _, node := range c.nodes {
		if node.Running() {
			_ = syscall.Kill(node.Pid(), syscall.SIGQUIT)
			<-node.Exited()
		}
	}
}

// judgeTimeout bounds the search for an order of the writes, and with it the memory: about 100 MB per
// second were seen.
const judgeTimeout = time.Minute

// judge prints every breach; the history and the files of the servers are kept then.
func (c *chaos) judge(h *history.History) {
	c.t.Helper()
	began := time.Now()
	breaches := history.CheckSessions(h)
	breaches = append(breaches, history.CheckWatches(h)...)
	breaches = append(breaches, history.CheckEphemerals(h, c.short.sessions...)...)
	breaches = append(breaches, c.short.goneOnce(h)...)
	breaches = append(breaches, history.CheckRegisters(h, judgeTimeout)...)
	c.logf("%d operations judged in %v", len(h.Operations()), time.Since(began).Round(time.Millisecond))
	if len(breaches) > 0 {
		name := filepath.Join(c.nodes[0].Dir(), "history.json")
		require.NoError(c.t, h.WriteFile(name))
		c.t.Fatalf("%d breaches; the history is in %s\n%s", len(breaches), name,
			strings.Join(breaches[:min(20, len(breaches))], "\n"))
	}
}

func (c *chaos) logf(format string, args ...any) {
	c.t.Logf("%8s %s", time.Since(c.began).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// sleep lets time pass, in ms.
func (c *chaos) sleep(from, to int) {
	time.Sleep(time.Duration(from+c.rand.IntN(to-from)) * time.Millisecond)
}
