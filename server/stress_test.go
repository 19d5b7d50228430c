package server

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

var (
	stressFor  = flag.Duration("server.stress", 2*time.Second, "how long TestStress runs")
	stressSeed = flag.Uint64("server.seed", 0, "seed of TestStress, 0 for a new one")
)

// stressClient is one misbehaving client. The wire package checks every frame it gets: order, xids, zxids, bodies.
type stressClient struct {
	t      *testing.T
	r      *rand.Rand
	addr   string
	conn   *wire.Conn
	resume wire.Options
	steps  int
}

// TestStress lets 50 clients pipeline requests with watches, vanish, come back, take nothing, authenticate and end
// their sessions, all at random. Afterwards the server must hold nothing of them, and its tree must be what its log
// says.
func TestStress(t *testing.T) {
	seed := *stressSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("SEED=%d: go test ./server -run TestStress -server.seed=%d -server.stress=%v", seed, seed, *stressFor)
	fs := vfs.NewMem()
	cfg := memConfig()
	cfg.SnapCount = 2000
	cfg.GlobalOutstandingLimit = 200
	cfg.MaxSessionTimeout = time.Minute
	s := started(t, cfg, Options{FS: fs})
	setup := wire.Open(t, s.Addr().String(), wire.Options{})
	for i := range stressNodes {
		setup.MustCreate(t, fmt.Sprintf("/n%d", i), make([]byte, 1<<(i%17)), proto.ModePersistent)
	}
	require.NoError(t, setup.CloseSession())

	end := time.Now().Add(*stressFor)
	var clients sync.WaitGroup
	steps := make([]int, 50)
	for i := range steps {
		clients.Go(func() {
			c := &stressClient{t: t, r: rand.New(rand.NewPCG(seed, uint64(i))), addr: s.Addr().String()}
			for c.step(); time.Now().Before(end) && !t.Failed(); {
				c.step()
			}
			c.vanish()
			steps[i] = c.steps
		})
	}
	clients.Wait()
	for i, n := range steps {
		require.NotZero(t, n, "client %d did something", i)
	}
	require.Eventually(t, func() bool { return s.front.Conns.Len() == 0 }, hangGuard, time.Millisecond,
		"no connection is left")
	require.Eventually(t, func() bool { return s.InProcess.Load() == 0 }, hangGuard, time.Millisecond,
		"no request is left: %d", s.InProcess.Load())
	s.front.Watches(func(r *watch.Registry) {
		watchers, paths, watches := r.Count()
		require.Zero(t, watches+watchers+paths)
	})
	require.Zero(t, s.Large.Used())
	s.Store.State.EachSession(func(id proto.SessionID, _ int32) {
		require.False(t, s.Tracker.Serves(id), "%v", id)
	})
	s.Stop()
	require.Empty(t, s.Failed)
	t.Logf("%d sessions, zxid %v, %d znodes", s.Tracker.Count(), s.Store.LastZxid(), s.Store.State.NumNodes())

	again := New(memConfig(), Options{FS: fs, Meta: meta.NewMem(1)})
	require.NoError(t, again.recover())
	defer again.release()
	require.Equal(t, s.Store.LastZxid(), again.Store.LastZxid())
	require.Equal(t, s.Store.State.Digest(), again.Store.State.Digest())
	require.Equal(t, s.Store.State.NumNodes(), again.Store.State.NumNodes())
	require.Equal(t, s.Store.State.NumSessions(), again.Store.State.NumSessions())
	require.Equal(t, s.Tracker.Count(), again.Store.State.NumSessions())
}

const stressNodes = 34

// step does one random action of a client.
func (c *stressClient) step() {
	c.steps++
	if c.conn == nil {
		c.connect()
		return
	}
	switch c.r.IntN(20) {
	case 0:
		c.vanish()
	case 1:
		c.check(c.conn.CloseSession())
		c.conn.Close()
		c.conn, c.resume = nil, wire.Options{}
	case 2:
		c.check(c.conn.Auth("digest", fmt.Sprintf("u%d:p", c.r.IntN(3))))
	case 3:
		c.takeNothing()
	case 4: // vanish with requests in flight
		c.conn.SendAll(c.requests(200))
		c.vanish()
	case 5: // come back before the old connection is gone
		c.conn.SendAll(c.requests(50))
		old := c.conn
		c.resume, c.conn = old.Resume(), nil
		c.connect()
		old.Close()
	case 6:
		out, err := wire.FourLetter(c.addr, []string{"mntr", "cons", "dump", "wchp", "stat", "crst",
			"srst"}[c.r.IntN(7)], hangGuard)
		if err != nil || out == "" {
			c.t.Errorf("a word was not answered: %q, %v", out, err)
		}
	default:
		for _, call := range c.conn.SendAll(c.requests(1 + c.r.IntN(100))) {
			if err := call.Wait(); err != nil {
				c.check(err)
				c.vanish()
				return
			}
		}
	}
}

// check fails the test if the server has violated the protocol. The end of a connection is no violation.
func (c *stressClient) check(err error) {
	if _, ok := errors.AsType[*wire.Violation](err); ok {
		c.t.Errorf("%v", err)
	}
}

func (c *stressClient) connect() {
	o := c.resume
	o.TimeoutMs = int32(400 + c.r.IntN(30_000))
	conn, err := wire.Dial(c.addr, o)
	c.check(err)
	if errors.Is(err, wire.ErrRejected) {
		c.resume = wire.Options{}
	}
	if err == nil {
		c.conn = conn
	}
}

// vanish closes the socket without closing the session. Mostly the session is resumed.
func (c *stressClient) vanish() {
	if c.conn == nil {
		return
	}
	c.check(c.conn.Err())
	c.resume = c.conn.Resume()
	c.conn.Close()
	c.conn = nil
	if c.r.IntN(4) == 0 {
		c.resume = wire.Options{}
	}
}

// takeNothing sends requests with long replies on a second connection and reads no reply.
func (c *stressClient) takeNothing() {
	nc, err := net.Dial("tcp", c.addr)
	if err != nil {
		return
	}
	defer nc.Close()
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 5000})
	if wire.WriteFrame(nc, req.AppendTo(nil)) != nil {
		return
	}
	if _, err := wire.ReadFrame(nc); err != nil {
		return
	}
	var b []byte
	for i, r := range c.requests(300) {
		b = frame(b, int32(i+1), r)
	}
	_, _ = nc.Write(b[:len(b)-c.r.IntN(20)])
	if c.r.IntN(2) == 0 { // be slow, while the others go on
		_ = nc.SetReadDeadline(time.Now().Add(time.Duration(c.r.IntN(50)) * time.Millisecond))
		_, _ = nc.Read(make([]byte, 100))
	}
}

func (c *stressClient) requests(n int) []wire.Request {
	reqs := make([]wire.Request, n)
	for i := range reqs {
		reqs[i] = c.request()
	}
	return reqs
}

func (c *stressClient) request() wire.Request {
	path := fmt.Sprintf("/n%d", c.r.IntN(stressNodes))
	child := fmt.Sprintf("%s/c%d", path, c.r.IntN(20))
	watch := c.r.IntN(4) == 0
	switch c.r.IntN(12) {
	case 0:
		return wire.SetData(path, make([]byte, c.r.IntN(2000)), -1)
	case 1:
		return wire.Create(child, nil, wire.OpenACL, proto.ModeEphemeral)
	case 2:
		return wire.Create(child, make([]byte, c.r.IntN(100)), wire.OpenACL, proto.ModePersistent)
	case 3:
		return wire.Delete(child, -1)
	case 4:
		return wire.Multi(wire.Create(child, nil, wire.OpenACL, proto.ModePersistent), wire.SetData(path, nil, -1),
			wire.Delete(child, -1))
	case 5:
		return wire.GetChildren(path, watch)
	case 6:
		return wire.AddWatch(path, c.r.Int32N(2))
	case 7:
		return wire.Exists(child, watch)
	case 8:
		return wire.Sync(path)
	case 9:
		return wire.RemoveWatches(path, proto.WatcherType(1+c.r.IntN(5)))
	}
	return wire.GetData(path, watch)
}
