package serve

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/server/internal/stages"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Conn is one client connection.
type Conn struct {
	srv *Front
	transport
	identity
	admission

	// The fields from here on are owned by the reader.
	In       Input
	Arriving *Arrival    // the long setWatches that has begun to arrive
	Work     *flow.Batch // writes decoded since the last submit
	mode     lockMode
	reads    int   // executed under the present hold of Store.Mu
	ended    bool  // no request follows: further input is dropped
	Received int64 // time of the last read of the socket, ns on the server's clock
	executed int64 // reads answered at once since the last Account
	needs    need  // what a request that could not be taken waits for
	Packets  int64 // frames since the last Account
	credit   int   // requests that may be handled from due on; see limits.Rate
	due      int64 // ns on the server's clock
	busy     bool  // see limits.Turns
	turn     bool  // it has the turn
	inARow   int   // requests since the socket was empty
	unbroken int   // bytes since the socket was empty
	// shareBegan is when the present turn began, or the present work without a turn, ns on the server's clock.
	shareBegan int64
	// For stages.go: when the handling of the present input began, ns on the server's clock, how long it waited for
	// Store.Mu, and its first read, or the last one that took long.
	begun, waited int64
	firstRead     readBegun

	// Guarded by watchers.Mu.
	watcher     watch.WatcherID // 0 before the first watch
	unwatchable bool            // the connection is gone: watches are not registered any more

	mu struct {
		sync.Mutex
		out     output
		queue   flow.WaitQueue
		waits   bool // the reader waits for resume
		settled bool // it is decided whether the requested session is resumed
		dropped bool // see Unanswered
		dirty   bool // the applier has added output and will flush it
		helped  bool // catchUp is running
		stats   figures.Conn
		sampler topk.Sampler
		// followed are operations whose replies wait for the socket, in their order; see stages.go.
		followed []*stages.Operation
	}
	// stuck is whether the socket takes no more output at present. It is for stages.go.
	stuck atomic.Bool
	// Left is whether the applier has left reads at the front of the queue to catchUp. It is set under Store.Mu,
	// held for writing, and cleared under Conn.mu; see catchup.go.
	Left atomic.Bool

	// resume gets a token when the reader should check again what it waits for.
	resume sched.Parker
}

// lockMode is which locks the reader holds while it handles the frames of one read.
type lockMode uint8

const (
	lockNone  lockMode = iota
	lockQueue          // Conn.mu
	lockRead           // Store.Mu for reading, then Conn.mu
)

// readsPerLock is how many reads are executed before writers get the lock.
const readsPerLock = 256

func NewConn(srv *Front, nc net.Conn) *Conn {
	c := &Conn{srv: srv, resume: srv.Runtime.Parker()}
	c.Established = srv.Clock.Steady()
	c.readFunc = c.tryRead
	c.nc, c.raw = nc, socket.Raw(nc)
	c.Remote = socket.AddrPort(nc.RemoteAddr())
	ids := []auth.Identity{auth.NewIPIdentity(c.Remote.Addr())}
	c.ids.Store(&ids)
	c.mu.stats.Reset(srv.Clock.Now())
	srv.Top.Begin(&c.mu.sampler)
	return c
}

// Errors that end a connection; they go to the log and nowhere else.
var (
	errFrameLength = errors.New("frame length is negative or above jute.maxbuffer")
	errShortFrame  = errors.New("frame is shorter than a request header")
	errNotServing  = errors.New("server is not serving")
	errUndelivered = errors.New("client takes less than it asks for, and too much waits for all clients already")
	errLargeBudget = errors.New("large requests in flight exceed largeRequestMaxBytes")
)

// serve handles the connection until it ends. It is the reader goroutine. cleanup is not deferred: it takes locks that
// a goroutine that panics may hold; see package server.
func (c *Conn) serve() {
	c.requests()
	c.cleanup()
}

// requests handles what the client sends, until the connection ends.
func (c *Conn) requests() {
	if !c.handshake() {
		return
	}
	for c.Process() {
		if c.busy && len(c.In.Buf) > InputBuffer && c.raw != nil {
			c.takeTurn() // tryRead passes the turn on if there is nothing to read
		}
		if err := c.Fill(); err != nil {
			c.srv.countLost(c, err)
			return
		}
		c.Received = c.srv.Clock.Now()
	}
}

// Process handles every whole frame that has arrived. It returns false if the connection has ended.
func (c *Conn) Process() bool {
	defer c.passTurn()
	for {
		if c.ended {
			c.In.Drop()
			return true
		}
		c.takeTurn()
		c.begun = c.shareBegan
		more, err := c.frames()
		accepted, submitted := c.submit()
		c.Unlock()
		if submitted {
			c.srv.host.Came()
		}
		if !accepted {
			c.Abort()
		}
		c.Account()
		c.Flush()
		if err != nil {
			c.srv.Log.Warn("closing connection", zap.Stringer("client_addr", c.Remote), zap.Error(err))
			return false
		}
		if !more {
			return true
		}
		c.passTurn()
		c.busy = true
		if !c.waitForRoom() {
			return false
		}
	}
}

// frames handles frames until no whole one is left. It returns more=true if the connection has to wait first, for
// its own output or for writes in flight.
func (c *Conn) frames() (more bool, err error) {
	for {
		if c.Arriving != nil {
			if done, more := c.setArriving(); !done {
				return more, nil
			}
			if c.handled() {
				return true, nil
			}
		}
		n, ok := c.In.PeekLength()
		if !ok {
			return false, nil
		}
		if err := c.checkLength(n); err != nil {
			return false, err
		}
		rest := c.In.Bytes()
		long, known := c.longWatches(n)
		if !known || !long && len(rest)-4 < int(n) {
			return false, nil
		}
		if c.srv.Throttled() && !c.ended {
			return true, nil
		}
		if n < proto.RequestHeaderSize {
			return false, errShortFrame
		}
		if !c.mayAsk() {
			return true, nil
		}
		if long {
			if !c.beginWatches(n) || c.ended {
				return true, nil
			}
			continue
		}
		frame := rest[4 : 4+n]
		xid := int32(binary.BigEndian.Uint32(frame))
		op := proto.OpCode(binary.BigEndian.Uint32(frame[4:]))
		if done, err := c.Request(xid, op, frame[proto.RequestHeaderSize:]); err != nil || !done {
			return true, err
		}
		c.In.R += 4 + int(n)
		if c.handled() {
			return true, nil
		}
	}
}

// handled counts a request, and reports whether the next one has to wait.
func (c *Conn) handled() (enough bool) {
	c.asked()
	c.Packets++
	return c.worked() || c.ended || c.overloaded()
}

// checkLength refuses frames above the limit. After a reconnect a client sends the lists of its watches, which may
// be long. For such frames the limit is SetWatchesLimit.
func (c *Conn) checkLength(n uint32) error {
	if n <= uint32(c.srv.Config.JuteMaxBuffer) {
		return nil
	}
	if is, known := c.longWatches(n); n <= SetWatchesLimit && (is || !known) {
		return nil // the next bytes tell the kind of the frame
	}
	return errFrameLength
}

// Request handles one request. It returns false, without any effect, if the request has to wait for room. An error
// ends the connection.
func (c *Conn) Request(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	if !c.mayAskFor(xid, op) {
		return true, nil
	}
	class := classOf(op)
	if op == proto.OpSync {
		class = classWrite // it has its place in the order of all writes, including writes from other connections
	}
	switch class {
	case classRead:
		return c.read(xid, op, body)
	case classWrite:
		return c.write(xid, op, body)
	case classAuth, classSASL:
		c.lockQueue()
		if c.mu.queue.Full() || c.Left.Load() || c.pauses() {
			return false, nil
		}
		if op == proto.OpAuth {
			c.auth(xid, body)
		} else {
			c.sasl(xid, body)
		}
	default:
		c.last(AppendHeaderReply(nil, xid, -1, proto.ErrUnimplemented))
	}
	return true, nil
}

// mayAskFor ends the connection, and returns false, if the client has to authenticate first.
func (c *Conn) mayAskFor(xid int32, op proto.OpCode) bool {
	if len(c.srv.enforced) > 0 && op != proto.OpAuth && op != proto.OpSasl && !c.authenticated() {
		c.last(AppendHeaderReply(nil, xid, 0, proto.ErrSessionClosedRequireAuth))
		return false
	}
	return true
}

type opClass uint8

const (
	classUnknown opClass = iota
	classRead
	classWrite
	classAuth
	classSASL
)

// classOf says how an operation from a client is handled. createSession and deleteContainer belong to the server:
// from a client they are unknown.
func classOf(op proto.OpCode) opClass {
	switch {
	case op.IsWrite():
		return classWrite
	case op.IsRead(), op == proto.OpPing:
		return classRead
	case op == proto.OpAuth:
		return classAuth
	case op == proto.OpSasl:
		return classSASL
	}
	return classUnknown
}

// need is what a request that cannot be taken yet waits for, besides room for its reply.
type need uint8

const (
	needRoom   need = iota
	needReads       // fewer reads before it
	needAlone       // no request of the connection in flight
	needBudget      // room for a large write
)

// read executes a read, or queues it behind the connection's writes in flight. It returns false, without any
// effect, if the read has to wait.
func (c *Conn) read(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	if c.mode == lockNone {
		c.lockRead()
	}
	if c.mode == lockQueue && c.mu.queue.Len() == 0 {
		c.Unlock()
		c.lockRead()
	}
	if c.mu.out.deaf {
		return true, nil
	}
	if c.mu.queue.Len() > 0 {
		if c.mu.queue.Full() || c.Left.Load() || c.pauses() {
			return false, nil
		}
		e := flow.Queued{Kind: flow.QueuedRead, Xid: xid, Op: op, Dear: dear(op) || c.srv.mayList(op), At: c.Received}
		c.mu.queue.Push(e, body)
		c.srv.InProcess.Add(1)
		return true, nil
	}
	if !c.mu.out.open() {
		return true, nil
	}
	if c.pauses() {
		return false, nil
	}
	if c.srv.lists(op, body) {
		c.firstRead = readBegun{op, xid, body}
		return c.readListing(xid, op, body)
	}
	if dear(op) {
		c.firstRead = readBegun{op, xid, body}
		return c.readLong(xid, op, body)
	}
	if c.executed == 0 {
		c.firstRead = readBegun{op, xid, body}
	}
	return c.readNow(xid, op, body)
}

// readNow executes a read. REQUIRES: lockRead.
func (c *Conn) readNow(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	if c.srv.Stages.Traces() && op != proto.OpPing && c.srv.Stages.Samples(c.sessionID(), xid) {
		c.sampledRead(&readBegun{op, xid, body}, c.Received)
	} else {
		c.mu.out.buf = c.srv.execute(c, xid, op, body, c.mu.out.buf)
	}
	c.mu.stats.Replied(op, xid, c.srv.Store.State.LastZxid())
	c.executed++
	if !c.countUndelivered() {
		return false, errUndelivered
	}
	if c.reads++; c.reads >= readsPerLock {
		c.Unlock()
		c.workOn()
	}
	return true, nil
}

// readLong executes a read that takes long. It does so in the connection's turn, and while it holds Store.Long, so
// that the applier does not wait for it in Store.Mu. REQUIRES: lockRead, and an empty queue.
func (c *Conn) readLong(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.Unlock()
	c.workOn()
	c.srv.Store.Long.Lock()
	c.lockRead()
	if c.mu.out.open() {
		done, err = c.readNow(xid, op, body)
	}
	c.Unlock()
	c.srv.Store.Long.Unlock()
	return done, err
}

// write queues a write and adds it to the batch for the host goroutine. It returns false if the write has to wait
// until the client has taken some of its replies.
func (c *Conn) write(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.lockQueue()
	weight := limits.Weight(op, body)
	switch {
	case c.mu.out.dead, (c.mu.out.deaf || !c.mu.out.open()) && op != proto.OpCloseSession:
		return true, nil // it would not be answered: it must have no effect either
	case c.pauses():
		return false, nil
	case c.Left.Load(), !c.mu.queue.TakesWrite():
		c.needs = needReads
		return false, nil
	case !c.srv.Budget.Take(c, weight):
		c.needs = needBudget
		return false, nil
	case !c.srv.Large.Reserve(len(body) + proto.RequestHeaderSize):
		c.srv.Budget.Release(weight)
		c.srv.Metrics.LargeRejected.Inc()
		return false, errLargeBudget
	}
	var kept []byte
	switch {
	case op == proto.OpSync:
		kept = body // the reply repeats it
	case c.srv.Security.Audit != nil:
		kept = audit.Subject(op, body)
	}
	e := flow.Queued{Kind: flow.QueuedWrite, Xid: xid, Op: op, Weight: weight}
	if c.mu.sampler.Due() {
		e.Kept = c.keepWrite(op, body)
	}
	c.mu.queue.Push(e, kept)
	if c.Work == nil {
		c.Work = c.srv.RequestPool.Get()
		c.Work.Received = c.Received
	}
	c.Work.Add(flow.Request{Client: c, Session: c.Session.Load(), IDs: c.who(), Xid: xid, Op: op}, body)
	c.ended = op == proto.OpCloseSession
	return true, nil
}

// overloaded reports whether no more is read from the connection until some of its requests are answered. Source:
// server-semantics 6.4.
func (c *Conn) overloaded() bool {
	return c.Work != nil && int(c.srv.InProcess.Load())+len(c.Work.Requests) > int(c.srv.OutstandingMax.Load())
}

// answer sends frame, a whole reply, behind everything that waits before it.
func (c *Conn) answer(frame []byte, kind flow.QueuedKind) {
	c.lockQueue()
	if c.mu.queue.Len() > 0 {
		c.mu.queue.Push(flow.Queued{Kind: kind}, frame)
		c.srv.InProcess.Add(1)
		return
	}
	if !c.mu.out.open() {
		return
	}
	c.mu.out.buf = append(c.mu.out.buf, frame...)
	c.mu.stats.Sent++
	if kind == flow.QueuedEnd {
		c.mu.out.closing = true
	}
}

// last sends frame in its order and ends the connection after it.
func (c *Conn) last(frame []byte) {
	c.answer(frame, flow.QueuedEnd)
	c.ended = true
}

func (c *Conn) lockRead() {
	if !c.srv.Store.Mu.TryRLock() {
		began := c.srv.Clock.Now()
		c.srv.Store.Mu.RLock()
		c.waited += c.srv.Clock.Now() - began
	}
	c.mu.Lock()
	c.mode, c.reads = lockRead, 0
}

// lockQueue takes or keeps Conn.mu, and releases Store.Mu: while a write is queued, reads are queued too.
func (c *Conn) lockQueue() {
	switch c.mode {
	case lockNone:
		c.mu.Lock()
	case lockRead:
		c.srv.Store.Mu.RUnlock()
	}
	c.mode = lockQueue
}

func (c *Conn) Unlock() {
	switch c.mode {
	case lockQueue:
		c.mu.Unlock()
	case lockRead:
		c.mu.Unlock()
		c.srv.Store.Mu.RUnlock()
	}
	c.mode = lockNone
}

// submit hands the writes decoded so far to the host, and reports false if the host takes no more. The lock of the
// connection was held since write. So after Abort has returned, nothing of the connection is submitted any more,
// and a request that the client sends on its next connection is not overtaken. REQUIRES: Conn.mu if there are
// writes.
func (c *Conn) submit() (accepted, submitted bool) {
	if c.Work == nil {
		return true, false
	}
	w := c.Work
	c.Work = nil
	c.srv.InProcess.Add(int64(len(w.Requests)))
	return c.srv.host.Add(w), true
}

// Account adds the received frames to the statistics, and keeps the session alive. A client that was silent for longer
// than its timeout is not answered: its session may have ended. It connects again, and is told.
func (c *Conn) Account() {
	if c.Packets == 0 {
		return
	}
	// The session is touched with the present time, not the time of the socket read. Between the two the process
	// may have been suspended and every session postponed.
	now := c.srv.Clock.Now()
	inTime := true
	if s := c.Session.Load(); s != nil {
		inTime = s.Touch(now)
	}
	if !inTime || now > c.srv.LeaseEnd.Load() {
		c.Abort()
	}
	c.srv.Stats.Received.Add(c.Packets)
	c.countInput()
	c.srv.Stats.ReadLatency.ObserveN(figures.Ms(now-c.Received), c.executed)
	c.mu.Lock()
	c.mu.stats.Account(c.Packets, c.executed, now-c.Received, now)
	c.measureReads(now)
	c.mu.Unlock()
	c.Packets, c.executed = 0, 0
}

// waitForRoom waits until the client has taken enough of its output, and few enough requests are in flight. It
// returns false if the connection has ended.
func (c *Conn) waitForRoom() bool {
	needs := c.needs
	c.needs = needRoom
	return c.wait(func() bool {
		switch {
		case c.pauses(), c.mu.queue.Full(), c.Left.Load():
			if needs == needBudget {
				c.srv.Budget.Leave(c)
			}
			return false
		case needs == needBudget:
			return c.srv.Budget.Ready(c)
		case needs == needReads && !c.mu.queue.TakesWrite():
			return false
		case needs == needAlone && c.mu.queue.Len() > 0:
			return false
		}
		return c.mu.queue.Len() == 0 || int(c.srv.InProcess.Load()) <= int(c.srv.OutstandingMax.Load())
	}) && c.srv.waitThrottle() && c.waitDue()
}

// wait blocks the reader until ready returns true. ready is called under Conn.mu. wait returns false if the
// connection is dead. A goroutine that changes an input of ready calls wakeReader.
func (c *Conn) wait(ready func() bool) bool {
	for {
		c.mu.Lock()
		if c.mu.out.dead {
			c.mu.Unlock()
			return false
		}
		ok := ready()
		c.mu.waits = !ok
		c.mu.Unlock()
		if ok {
			return true
		}
		c.resume.Park()
	}
}

// wakeReader makes a waiting reader check again. REQUIRES: Conn.mu.
func (c *Conn) wakeReader() {
	if c.mu.waits {
		c.mu.waits = false
		c.Nudge()
	}
}

// Nudge makes a waiting reader check again. Any goroutine may call it, without a lock.
func (c *Conn) Nudge() { c.resume.Unpark() }

// cleanup ends the connection. Only requests in flight remain.
func (c *Conn) cleanup() {
	c.passTurn()
	c.Abort()
	c.srv.Budget.Leave(c)
	c.countInput()
	c.In.Free()
	c.Unwatch()
	if s := c.Session.Load(); s != nil {
		c.srv.Tracker.Unbind(s, c)
	}
	c.srv.Conns.Remove(c)
	c.mu.Lock()
	c.srv.Stats.Sent.Add(c.mu.stats.Sent)
	c.mu.Unlock()
}
