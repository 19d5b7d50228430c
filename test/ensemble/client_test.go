package ensemble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

// sessionTimeout is longer than all that is done to the servers: no session may expire.
const sessionTimeout = 30_000

// registers are the znodes that all clients write.
const registers = 4

func registerPath(i int) string { return fmt.Sprintf("/reg/r%d", i) }

// client is one session, which goes to another server whenever its connection ends, and now and then without a
// reason.
type client struct {
	number   int
	nodes    []*cluster.Node
	recorder *history.Recorder
	rand     *rand.Rand
	stop     *atomic.Bool
	session  *history.Session
	node     *cluster.Node // that has it
	serial   int
	mine     []string         // its ephemerals
	versions map[string]int32 // of the registers, as last seen
	acked    int
	moves    int
	failed   error
}

// open begins the session at some server.
func (c *client) open() error {
	return c.somewhere(wire.Options{TimeoutMs: sessionTimeout})
}

// somewhere connects to one server after the other until one takes the client.
func (c *client) somewhere(o wire.Options) error {
	if o.Reply == 0 {
		o.Reply = patience + time.Second
	}
	for watch := cluster.NewWatch(); ; {
		node := c.nodes[c.rand.IntN(len(c.nodes))]
		s, err := c.recorder.Dial(c.number, node.Addr(), o)
		switch {
		case err == nil:
			c.session, c.node, c.versions = s, node, map[string]int32{}
			return nil
		case errors.Is(err, wire.ErrRejected):
			return fmt.Errorf("client %d: %s says that session %v has expired: %w", c.number,
				node.Addr(), o.Session, err)
		case watch.Elapsed() > 40*time.Second:
			return fmt.Errorf("client %d: no server takes it: %w", c.number, err)
		}
		time.Sleep(time.Duration(1+c.rand.IntN(20)) * time.Millisecond)
	}
}

// run is the life of a client, until stop.
func (c *client) run() {
	for !c.stop.Load() && c.failed == nil {
		if c.rand.IntN(200) == 0 {
			c.session.Close() // to another server, without a reason
		}
		if err := c.burst(); err != nil {
			c.failed = c.move(err)
		}
	}
}

// move continues the session elsewhere.
func (c *client) move(err error) error {
	var v *wire.Violation
	if errors.As(err, &v) {
		return fmt.Errorf("client %d: server %d (%s): %w", c.number, c.node.ID(), c.node.Kind(), err)
	}
	c.moves++
	c.session.Close()
	<-c.session.Done()
	return c.somewhere(c.session.Resume())
}

// burst sends some requests at once and waits for the answers.
func (c *client) burst() error {
	var reqs []wire.Request
	for range 1 + c.rand.IntN(4) {
		reqs = append(reqs, c.requests()...)
	}
	var failed error
	for _, call := range c.session.SendAll(reqs...) {
		if err := c.wait(call); err != nil {
			failed = err
			continue
		}
		c.acked++
		c.learn(call)
	}
	return failed
}

// patience is how long a client waits for an answer before it goes to another server.
const patience = 3 * time.Second

func (c *client) wait(call *wire.Call) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-call.Done():
	case <-timer.C:
		c.session.Close() // the server is paused, or cut off
	}
	return call.Wait()
}

func (c *client) requests() []wire.Request {
	c.serial++
	path := registerPath(c.rand.IntN(registers))
	data := fmt.Appendf(nil, "%d-%d", c.number, c.serial)
	version := int32(-1)
	if c.rand.IntN(3) > 0 {
		if v, ok := c.versions[path]; ok {
			version = v
		}
	}
	watch := c.rand.IntN(3) == 0
	switch c.rand.IntN(14) {
	case 0, 1:
		return []wire.Request{wire.Create(path, data, wire.OpenACL, 0)}
	case 2:
		return []wire.Request{wire.Delete(path, version)}
	case 3, 4, 5:
		return []wire.Request{wire.SetData(path, data, version)}
	case 6, 7:
		return []wire.Request{wire.Sync(path), wire.GetData(path, watch)}
	case 8, 9:
		return []wire.Request{wire.GetData(path, watch)}
	case 10:
		return []wire.Request{wire.Exists(path, watch)}
	case 11:
		return []wire.Request{wire.GetChildren("/reg", watch)}
	case 12:
		own := fmt.Sprintf("/eph/c%d-%d", c.number, c.serial)
		c.mine = append(c.mine, own)
		return []wire.Request{wire.Create(own, data, wire.OpenACL, proto.ModeEphemeral)}
	}
	if len(c.mine) == 0 {
		return []wire.Request{wire.Ping()}
	}
	own := c.mine[c.rand.IntN(len(c.mine))]
	if c.rand.IntN(4) == 0 {
		return []wire.Request{wire.Delete(own, -1)}
	}
	return []wire.Request{wire.Exists(own, watch)}
}

// learn keeps the versions that replies show.
func (c *client) learn(call *wire.Call) {
	if call.Reply.Header.Err != proto.OK {
		return
	}
	r := proto.NewReader(call.Request.Body)
	switch v := call.Reply.Value.(type) {
	case *proto.StatResponse:
		c.versions[r.Text().String()] = v.Stat.Version
	case *proto.GetDataResponse:
		c.versions[r.Text().String()] = v.Stat.Version
	case *proto.CreateResponse:
		c.versions[v.Path.String()] = 0
	}
}
