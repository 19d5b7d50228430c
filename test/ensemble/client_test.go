package ensemble

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

// sessionTimeout is longer than all that is done to the servers: no session may expire.
const sessionTimeout = 30_000

// registers are the znodes that all clients write.
const registers = 4

// client is one session, which goes to another server whenever its connection ends, and now and then without a
// reason.
type client struct {
	history.Load
	nodes    []*cluster.Node
	recorder *history.Recorder
	stop     *atomic.Bool
	session  *history.Session
	node     *cluster.Node // that has it
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
		node := c.nodes[c.Rand.IntN(len(c.nodes))]
		s, err := c.recorder.Dial(c.Client, node.Addr(), o)
		switch {
		case err == nil:
			c.session, c.node = s, node
			c.Forget()
			return nil
		case errors.Is(err, wire.ErrRejected):
			return fmt.Errorf("client %d: %s says that session %v has expired: %w", c.Client,
				node.Addr(), o.Session, err)
		case watch.Elapsed() > 40*time.Second:
			return fmt.Errorf("client %d: no server takes it: %w", c.Client, err)
		}
		time.Sleep(time.Duration(1+c.Rand.IntN(20)) * time.Millisecond)
	}
}

// run is the life of a client, until stop.
func (c *client) run() {
	for !c.stop.Load() && c.failed == nil {
		if c.Rand.IntN(200) == 0 {
			c.session.Close() // to another server, without a reason
		}
		if err := c.burst(); err != nil {
			c.failed = c.move(err)
		}
	}
}

// move continues the session elsewhere.
func (c *client) move(err error) error {
	if _, ok := errors.AsType[*wire.Violation](err); ok {
		return fmt.Errorf("client %d: server %d (%s): %w", c.Client, c.node.ID(), c.node.Kind(), err)
	}
	c.moves++
	c.session.Close()
	<-c.session.Done()
	return c.somewhere(c.session.Resume())
}

// burst sends some requests at once and waits for the answers.
func (c *client) burst() error {
	var failed error
	for _, call := range c.session.SendAll(c.Burst()...) {
		if err := c.wait(call); err != nil {
			failed = err
			continue
		}
		c.acked++
		c.Learn(call)
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
