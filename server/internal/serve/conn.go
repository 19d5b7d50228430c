package serve

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/server/internal/stages"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Conn is one client connection, as any goroutine may use it. What belongs to its reader goroutine alone is in reader.
//
// The embedded parts say for themselves who may touch them; mu guards what it holds.
type Conn struct {
	srv *Front
	transport
	identity
	admission
	watching

	mu struct {
		sync.Mutex
		out      output
		queue    inFlight
		reader   parked
		stats    figures.Conn
		sampler  topk.Sampler
		followed flow.FIFO[*stages.Operation] // those whose replies wait for the socket; see stages.go
		dirty    bool                         // the applier has added output and will flush it
	}
	stuck  atomic.Bool  // the socket takes no more output at present; for stages.go
	resume sched.Parker // gets a token when the reader should check again what it waits for
}

// parked is what others see of the reader goroutine while it waits for them. Guarded by Conn.mu.
type parked struct {
	waits    bool // for resume
	settled  bool // it is decided whether the requested session is resumed
	orphaned bool // see Conn.Unanswered
}

func newConn(srv *Front, nc net.Conn) *Conn {
	c := &Conn{srv: srv, resume: srv.Runtime.Parker()}
	c.Established = srv.Clock.Steady()
	c.nc, c.raw = nc, socket.Raw(nc)
	c.Remote = socket.AddrPort(nc.RemoteAddr())
	ids := []auth.Identity{auth.NewIPIdentity(c.Remote.Addr())}
	c.ids.Store(&ids)
	c.mu.stats.Reset(srv.Clock.Now())
	srv.Top.Begin(&c.mu.sampler)
	return c
}

// wakeReader makes a waiting reader check again. REQUIRES: Conn.mu.
func (c *Conn) wakeReader() {
	if c.mu.reader.waits {
		c.mu.reader.waits = false
		c.Nudge()
	}
}

// Nudge makes a waiting reader check again. Any goroutine may call it, without a lock.
func (c *Conn) Nudge() { c.resume.Unpark() }

// pauses is output.pauses. REQUIRES: Conn.mu.
func (c *Conn) pauses() bool { return c.mu.out.pauses(&c.srv.undelivered) }

// countUndelivered is output.count. REQUIRES: Conn.mu.
func (c *Conn) countUndelivered() bool { return c.mu.out.count(&c.srv.undelivered) }

// connOf is the connection on which an item is answered; nil if it is not answered. Every client of a server is a
// Conn.
func connOf(it *flow.Item) *Conn {
	c, _ := it.Client.(*Conn)
	return c
}

// admission is the place of a connection among the others. connSet.add sets it before the reader begins; it does not
// change after that.
type admission struct {
	number   uint64   // counts the connections
	address  *address // shared by the connections from one address; nil if reserved
	reserved bool     // admitted beyond the limits, for a four-letter word only
	limit    error    // the limit that it is beyond; nil if it is not
}

// Number counts the connections of this server: a connection that was opened later has a greater one.
func (a *admission) Number() uint64 { return a.number }

// address is shared by the connections from one address, and remembered for a moment behind the last one.
type address struct {
	conns int // how many there are; guarded by connSet.mu
	rate  limits.Rate
}

// watching is the place of a connection among the watchers, which guard it as they guard their own fields.
type watching struct {
	watcher     watch.WatcherID // 0 before the first watch
	unwatchable bool            // the connection is gone: watches are not registered any more
}
