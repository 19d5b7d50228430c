//go:build interop

package ensemble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// keeper is a client that keeps account of what was promised to it: znodes that only it writes, in one session that
// has an ephemeral. ZooKeeper 3.8 itself answers now and then out of order and lets synced reads go back when leaders
// change (TestControl shows it), so ensembles with such servers are not judged by package history but by what no
// server may break: no acknowledged write is lost, no session ends, no client sees its own writes go back.
type keeper struct {
	number  int
	nodes   []*cluster.Node
	rand    *rand.Rand
	conn    *wire.Conn
	node    *cluster.Node // that has it
	resume  wire.Options
	made    []string // acknowledged creates
	counter int      // acknowledged sets of the counter; the next may be there too
	tried   int
	strange int // violations of the protocol by servers in Java
	moves   int
	failed  error
}

func (k *keeper) root() string    { return fmt.Sprintf("/keeper%d", k.number) }
func (k *keeper) mine() string    { return k.root() + "/me" }
func (k *keeper) account() string { return k.root() + "/counter" }

// connect continues the session at some server.
func (k *keeper) connect() error {
	for watch := cluster.NewWatch(); ; {
		node := k.nodes[k.rand.IntN(len(k.nodes))]
		conn, err := wire.Dial(node.Addr(), k.resume)
		switch {
		case err == nil:
			k.conn, k.node = conn, node
			return nil
		case errors.Is(err, wire.ErrRejected):
			return fmt.Errorf("keeper %d: server %d (%s) says that session %v has expired: %w", k.number, node.ID(),
				node.Kind(), k.resume.Session, err)
		case watch.Elapsed() > 50*time.Second:
			return fmt.Errorf("keeper %d: no server takes it: %w", k.number, err)
		}
		time.Sleep(time.Duration(1+k.rand.IntN(20)) * time.Millisecond)
	}
}

// begin makes what the keeper needs, while all servers are well.
func (k *keeper) begin() error {
	k.resume = wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard}
	if err := k.connect(); err != nil {
		return err
	}
	for _, r := range []wire.Request{wire.Create(k.root(), nil, wire.OpenACL, 0),
		wire.Create(k.account(), []byte("0"), wire.OpenACL, 0),
		wire.Create(k.mine(), nil, wire.OpenACL, proto.ModeEphemeral)} {
		if _, err := k.conn.Do(r); err != nil {
			return err
		}
	}
	k.resume.Reply = patience
	return k.move(nil)
}

// run works until stop.
func (k *keeper) run(stop *atomic.Bool) {
	for serial := 0; !stop.Load() && k.failed == nil; serial++ {
		if err := k.work(serial); err != nil || k.rand.IntN(100) == 0 {
			k.failed = k.move(err)
		}
	}
}

// work creates a znode, raises the counter and looks whether both are as they must be.
func (k *keeper) work(serial int) error {
	path := fmt.Sprintf("%s/n%d", k.root(), serial)
	k.tried++
	calls := k.conn.SendAll([]wire.Request{wire.Create(path, []byte(path), wire.OpenACL, 0),
		wire.SetData(k.account(), fmt.Appendf(nil, "%d", k.tried), -1), wire.GetData(k.account(), false)})
	if err := calls[0].Wait(); err != nil {
		return err
	}
	if calls[0].Reply.Header.Err == proto.OK {
		k.made = append(k.made, path)
	}
	if err := calls[1].Wait(); err != nil {
		return err
	}
	if calls[1].Reply.Header.Err == proto.OK {
		k.counter = k.tried
	}
	if err := calls[2].Wait(); err != nil {
		return err
	}
	got, ok := calls[2].Reply.Value.(*proto.GetDataResponse)
	if ok && string(got.Data) != fmt.Sprint(k.tried) && k.node.Kind() == cluster.Warren {
		return fmt.Errorf("%w: server %d shows the counter %s after it acknowledged %d", errBroken, k.node.ID(),
			got.Data, k.tried)
	}
	return nil
}

var errBroken = errors.New("a promise is broken")

// move continues elsewhere.
func (k *keeper) move(err error) error {
	var v *wire.Violation
	switch {
	case errors.Is(err, errBroken):
		return err
	case errors.As(err, &v) && k.node.Kind() == cluster.Warren:
		return fmt.Errorf("keeper %d: server %d: %w", k.number, k.node.ID(), err)
	case errors.As(err, &v):
		k.strange++
	}
	k.moves++
	k.conn.Close()
	<-k.conn.Done()
	if last := k.conn.Resume(); last.Session != 0 {
		reply := k.resume.Reply
		k.resume = last
		k.resume.Reply = reply
	}
	return k.connect()
}

// end closes the session.
func (k *keeper) end() error {
	for {
		if err := k.conn.CloseSession(); err == nil {
			return nil
		}
		if err := k.move(nil); err != nil {
			if errors.Is(err, wire.ErrRejected) {
				return nil // an earlier attempt was heard
			}
			return err
		}
	}
}

// verify looks for everything at every server. A server that ZooKeeper has damaged may have lost something.
func (k *keeper) verify(c *chaos, damaged map[*cluster.Node]proto.Zxid) {
	c.t.Helper()
	require.NoError(c.t, k.failed)
	for _, node := range c.nodes {
		var conn *wire.Conn
		cluster.Eventually(c.t, func() (ok bool) { // on a busy machine servers lose each other now and then
			var err error
			if conn, err = wire.Dial(node.Addr(),
				wire.Options{TimeoutMs: sessionTimeout, Reply: patience}); err != nil {
				return false
			}
			if err = conn.Sync("/"); err != nil {
				conn.Close()
			}
			return err == nil
		}, time.Minute, "server %d (%s) takes no client", node.ID(), node.Kind())
		children := conn.MustChildren(c.t, k.root(), false)
		there := map[string]bool{}
		for _, name := range children {
			there[k.root()+"/"+name] = true
		}
		for _, path := range append(k.made, k.mine()) {
			if !there[path] {
				c.lose(node, damaged, path)
				break
			}
		}
		data, _ := conn.MustGetData(c.t, k.account(), false)
		var n int
		_, err := fmt.Sscan(string(data), &n)
		require.NoError(c.t, err)
		if n < k.counter {
			c.lose(node, damaged, fmt.Sprintf("a set: %d of %d", n, k.counter))
		}
		conn.Close()
	}
}

// lose fails the test because a server has lost something, unless ZooKeeper is at fault.
func (c *chaos) lose(node *cluster.Node, damaged map[*cluster.Node]proto.Zxid, what string) {
	c.t.Helper()
	if damaged[node] == 0 {
		c.skipIfSpread(damaged)
		c.t.Fatalf("server %d (%s) has lost %s", node.ID(), node.Kind(), what)
	}
	c.logf("server %d has lost %s: it damaged its tree or log at %v", node.ID(), what, damaged[node])
}

// underLoad runs something while keepers and clients with every kind of write work, and verifies what came of it.
func (c *chaos) underLoad(seed uint64, something func()) {
	c.t.Helper()
	var stop atomic.Bool
	var keepers []*keeper
	var wg sync.WaitGroup
	for i := range *clientsFlag {
		k := &keeper{number: i, nodes: c.nodes, rand: rand.New(rand.NewPCG(seed, uint64(200+i)))}
		require.NoError(c.t, k.begin())
		keepers = append(keepers, k)
		wg.Go(func() { k.run(&stop) })
	}
	stopMore := c.more(seed)
	something()
	stop.Store(true)
	stopMore()
	wg.Wait()
	time.Sleep(abandonedTimeout + 2*time.Second) // the last abandoned session has expired then
	c.whole()
	acked, moves, strange := 0, 0, 0
	damaged := c.damagedByZooKeeper()
	for _, k := range keepers {
		k.verify(c, damaged)
		acked, moves, strange = acked+2*k.counter, moves+k.moves, strange+k.strange
	}
	for _, k := range keepers { // a session that no client uses would expire while the trees are compared
		require.NoError(c.t, k.end())
	}
	c.logf("about %d writes acknowledged and there, %d moves, %d strange answers of ZooKeeper", acked, moves, strange)
	for _, node := range c.nodes {
		require.Eventually(c.t, func() bool { // on a busy machine the last abandoned session lasts longer
			text, err := wire.FourLetter(node.Addr(), "mntr", 5*time.Second)
			return err == nil && noEphemerals.MatchString(text)
		}, time.Minute, 100*time.Millisecond, "server %d keeps ephemerals", node.ID())
	}
	c.same()
}

// noEphemerals is a line of the word mntr.
var noEphemerals = regexp.MustCompile(`(?m)^zk_ephemerals_count\s+0(\.0)?$`)

// abandonedTimeout is the timeout of sessions that no client closes.
const abandonedTimeout = 4 * time.Second
