package server

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/server/sasl"
)

// conn is one client connection.
type conn struct {
	srv         *front
	nc          net.Conn
	raw         syscall.RawConn // nil if nc is not a socket
	secure      *secureConn     // nc, as long as it may be TLS; see tls.go
	securePort  bool            // it came to secureClientPort; set before serve
	remote      netip.AddrPort
	established time.Time // when the socket was accepted
	address     *address  // what it shares with others; nil if it is reserved. Set before serve

	// Set once by the reader, read by anybody.
	session atomic.Pointer[sessions.Session]
	ids     atomic.Pointer[[]auth.Identity] // replaced as a whole when one is added

	// Owned by the reader.
	in        input
	readFunc  func(fd uintptr) bool
	arriving  *arrival    // the long setWatches that has begun to arrive
	work      *flow.Batch // writes decoded since the last submit
	mode      lockMode
	reads     int                // executed under the present hold of store.mu
	ended     bool               // the client has said its last: input is dropped
	received  int64              // time of the last read of the socket, ns on the server's clock
	exchange  *sasl.DigestServer // nil before the first SASL token
	certified []auth.Identity    // what the client's certificate proves; set before the first frame is read
	executed  int64              // reads answered at once since the last account
	needs     need               // what the request that could not be taken waits for
	// generation is the time of service in which the connection was let in; see member.
	generation int64
	// knowsReadOnly is whether the client's ConnectRequest has the readOnly byte.
	knowsReadOnly bool
	reserved      bool  // admitted beyond the limits, for a four-letter word only; set before serve
	packets       int64 // frames since the last account
	credit        int   // requests that may be handled from due on; see limits.Rate
	due           int64 // ns on the server's clock
	busy          bool  // see turns
	turn          bool  // it has its turn
	inARow        int   // requests since the socket was empty
	unbroken      int   // bytes since then
	shareBegan    int64 // when it was its turn, or it began without one, ns on the server's clock

	// Owned by whoever has set mu.out.writing.
	now socket.Writer

	// Guarded by store.watchMu.
	watcher     watch.WatcherID // 0 before the first watch
	unwatchable bool            // the connection is gone: watches are not registered any more

	mu struct {
		sync.Mutex
		out     output
		queue   flow.WaitQueue
		waiting bool // the reader waits for resume
		settled bool // it is decided whether the session that was asked for goes on
		dirty   bool // the applier has added output and will flush it
		helped  bool // catchUp is running
		stats   figures.Conn
	}
	// left is whether there are reads in front of the queue that the applier has left to catchUp. It is set under store.mu,
	// held for writing, and cleared under conn.mu; see catchup.go.
	left atomic.Bool

	// resume has a token when the reader should look again at what it waits for.
	resume sched.Parker
}

// lockMode is which locks the reader holds while it handles the frames of one read.
type lockMode uint8

const (
	lockNone  lockMode = iota
	lockQueue          // conn.mu
	lockRead           // store.mu.RLock, then conn.mu
)

// readsPerLock is how many reads are executed before writers get their turn.
const readsPerLock = 256

func newConn(srv *front, nc net.Conn) *conn {
	c := &conn{srv: srv, nc: nc, established: srv.clock.steady(), resume: srv.rt.Parker()}
	c.readFunc = c.tryRead
	c.raw = socket.Raw(nc)
	c.remote = socket.AddrPort(nc.RemoteAddr())
	ids := []auth.Identity{auth.NewIPIdentity(c.remote.Addr())}
	c.ids.Store(&ids)
	c.mu.stats.Reset(srv.clock.now())
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

// serve handles the connection until it ends. It is the reader goroutine.
func (c *conn) serve() {
	defer c.cleanup()
	if !c.handshake() {
		return
	}
	for c.process() {
		if c.busy && len(c.in.buf) > inputBuffer && c.raw != nil {
			c.takeTurn() // tryRead passes it if there is nothing to read
		}
		if err := c.fill(); err != nil {
			c.srv.countLost(c, err)
			return
		}
		c.received = c.srv.clock.now()
	}
}

// process handles every whole frame that has arrived. It returns false if the connection is over.
func (c *conn) process() bool {
	defer c.passTurn()
	for {
		if c.ended {
			c.in.drop()
			return true
		}
		c.takeTurn()
		more, err := c.frames()
		accepted, submitted := c.submit()
		c.unlock()
		if submitted {
			c.srv.host.came()
		}
		if !accepted {
			c.Abort()
		}
		c.account()
		c.flush()
		if err != nil {
			c.srv.log.Warn("closing connection", zap.Stringer("client_addr", c.remote), zap.Error(err))
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

// frames handles frames until there is no whole one left, or until the connection has to wait
// for its own output or for the writes in flight: then more is true.
func (c *conn) frames() (more bool, err error) {
	for {
		if c.arriving != nil {
			if done, more := c.setArriving(); !done {
				return more, nil
			}
			if c.handled() {
				return true, nil
			}
		}
		n, ok := c.in.peekLength()
		if !ok {
			return false, nil
		}
		if err := c.checkLength(n); err != nil {
			return false, err
		}
		rest := c.in.bytes()
		long, known := c.longWatches(n)
		if !known || !long && len(rest)-4 < int(n) {
			return false, nil
		}
		if c.srv.throttled() && !c.ended {
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
		if done, err := c.request(xid, op, frame[proto.RequestHeaderSize:]); err != nil || !done {
			return true, err
		}
		c.in.r += 4 + int(n)
		if c.handled() {
			return true, nil
		}
	}
}

// handled counts a request, and reports whether the next has to wait.
func (c *conn) handled() (enough bool) {
	c.asked()
	c.packets++
	return c.worked() || c.ended || c.overloaded()
}

// checkLength refuses frames above the limit. The lists of watches that a client sends after a
// reconnect may be as long as they have grown, so for them the limit is setWatchesLimit.
func (c *conn) checkLength(n uint32) error {
	if n <= uint32(c.srv.cfg.JuteMaxBuffer) {
		return nil
	}
	if is, known := c.longWatches(n); n <= setWatchesLimit && (is || !known) {
		return nil // if it is not known, the next bytes tell
	}
	return errFrameLength
}

// request handles one request. It returns false, and has done nothing, if the request has to
// wait for room. An error ends the connection.
func (c *conn) request(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	if !c.mayAskFor(xid, op) {
		return true, nil
	}
	class := classOf(op)
	if op == proto.OpSync {
		class = classWrite // it has its place in the order of all writes, also of those that came on other connections
	}
	switch class {
	case classRead:
		return c.read(xid, op, body)
	case classWrite:
		return c.write(xid, op, body)
	case classAuth, classSASL:
		c.lockQueue()
		if c.mu.queue.Full() || c.left.Load() || c.mu.out.pauses() {
			return false, nil
		}
		if op == proto.OpAuth {
			c.auth(xid, body)
		} else {
			c.sasl(xid, body)
		}
	default:
		c.last(appendHeaderReply(nil, xid, -1, proto.ErrUnimplemented))
	}
	return true, nil
}

// mayAskFor ends the connection, and returns false, if the client had to prove first who it is.
func (c *conn) mayAskFor(xid int32, op proto.OpCode) bool {
	if len(c.srv.enforced) > 0 && op != proto.OpAuth && op != proto.OpSasl && !c.authenticated() {
		c.last(appendHeaderReply(nil, xid, 0, proto.ErrSessionClosedRequireAuth))
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

// classOf says how an operation that comes from a client is handled. createSession and
// deleteContainer are the server's own: from a client they are unknown.
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

// need is what a request that cannot be taken yet waits for, beside room for its answer.
type need uint8

const (
	needRoom   need = iota
	needReads       // few reads in front of it
	needAlone       // nothing of the connection in flight
	needBudget      // room for a large write
)

// read executes a read, or queues it behind the connection's writes in flight. It returns false, and has done nothing, if the read has
// to wait.
func (c *conn) read(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	if c.mode == lockNone {
		c.lockRead()
	}
	if c.mode == lockQueue && c.mu.queue.Len() == 0 {
		c.unlock()
		c.lockRead()
	}
	if c.mu.queue.Len() > 0 {
		if c.mu.queue.Full() || c.left.Load() || c.mu.out.pauses() {
			return false, nil
		}
		e := flow.Queued{Kind: flow.QueuedRead, Xid: xid, Op: op, Dear: dear(op) || c.srv.mayList(op)}
		c.mu.queue.Push(e, body)
		c.srv.inProcess.Add(1)
		return true, nil
	}
	if !c.mu.out.open() {
		return true, nil
	}
	if c.mu.out.pauses() {
		return false, nil
	}
	if c.srv.lists(op, body) {
		return c.readListing(xid, op, body)
	}
	if dear(op) {
		return c.readLong(xid, op, body)
	}
	return c.readNow(xid, op, body)
}

// readNow executes a read. REQUIRES: lockRead.
func (c *conn) readNow(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.mu.out.buf = c.srv.execute(c, xid, op, body, c.mu.out.buf)
	c.mu.stats.Replied(op, xid, c.srv.store.state.LastZxid())
	c.executed++
	if !c.countUndelivered() {
		return false, errUndelivered
	}
	if c.reads++; c.reads >= readsPerLock {
		c.unlock()
		c.workOn()
	}
	return true, nil
}

// readLong executes a read that takes long: in the connection's turn, and so that the applier does not wait for it in store.mu.
// REQUIRES: lockRead, and nothing in the queue.
func (c *conn) readLong(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.unlock()
	c.workOn()
	c.srv.store.long.Lock()
	c.lockRead()
	if c.mu.out.open() {
		done, err = c.readNow(xid, op, body)
	}
	c.unlock()
	c.srv.store.long.Unlock()
	return done, err
}

// write queues a write and adds it to the batch for the node goroutine. It returns false if it
// has to wait until the client has taken some of its replies.
func (c *conn) write(xid int32, op proto.OpCode, body []byte) (done bool, err error) {
	c.lockQueue()
	weight := limits.Weight(op, body)
	switch {
	case c.mu.out.dead:
		return true, nil
	case c.mu.out.pauses():
		return false, nil
	case c.left.Load(), !c.mu.queue.TakesWrite():
		c.needs = needReads
		return false, nil
	case !c.srv.budget.Take(c, weight):
		c.needs = needBudget
		return false, nil
	case !c.srv.large.Reserve(len(body) + proto.RequestHeaderSize):
		c.srv.budget.Release(weight)
		c.srv.metrics.largeRejected.Inc()
		return false, errLargeBudget
	}
	var kept []byte
	switch {
	case op == proto.OpSync:
		kept = body // the reply repeats it
	case c.srv.security.audit != nil:
		kept = audit.Subject(op, body)
	}
	c.mu.queue.Push(flow.Queued{Kind: flow.QueuedWrite, Xid: xid, Op: op, Weight: weight}, kept)
	if c.work == nil {
		c.work = c.srv.requestPool.Get()
		c.work.Received = c.received
	}
	c.work.Add(flow.Request{Client: c, Session: c.session.Load(), IDs: *c.ids.Load(), Xid: xid, Op: op}, body)
	c.ended = op == proto.OpCloseSession
	return true, nil
}

// auditWho is what the audit log says of the connection.
func (c *conn) auditWho() []byte {
	session := proto.SessionID(0)
	if s := c.session.Load(); s != nil {
		session = s.ID
	}
	return audit.Who(session, *c.ids.Load(), c.remote.Addr())
}

// overloaded reports whether the connection should stop being read until some of its requests
// are answered. Source: server-semantics 6.4.
func (c *conn) overloaded() bool {
	return c.work != nil && int(c.srv.inProcess.Load())+len(c.work.Requests) > int(c.srv.outstandingMax.Load())
}

// answer sends frame, a whole reply, after everything that waits before it.
func (c *conn) answer(frame []byte, kind flow.QueuedKind) {
	c.lockQueue()
	if c.mu.queue.Len() > 0 {
		c.mu.queue.Push(flow.Queued{Kind: kind}, frame)
		c.srv.inProcess.Add(1)
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
func (c *conn) last(frame []byte) {
	c.answer(frame, flow.QueuedEnd)
	c.ended = true
}

func (c *conn) lockRead() {
	c.srv.store.mu.RLock()
	c.mu.Lock()
	c.mode, c.reads = lockRead, 0
}

// lockQueue holds conn.mu, and store.mu no longer: nothing can be read behind a write.
func (c *conn) lockQueue() {
	switch c.mode {
	case lockNone:
		c.mu.Lock()
	case lockRead:
		c.srv.store.mu.RUnlock()
	}
	c.mode = lockQueue
}

func (c *conn) unlock() {
	switch c.mode {
	case lockQueue:
		c.mu.Unlock()
	case lockRead:
		c.mu.Unlock()
		c.srv.store.mu.RUnlock()
	}
	c.mode = lockNone
}

// submit hands the writes decoded so far to the node goroutine and reports false if it takes
// none any more. Since write the connection's lock has not been given up: once abort has returned,
// nothing of the connection is submitted, and what the client sends on its next connection
// cannot be overtaken.
//
// REQUIRES: c.mu if there are writes.
func (c *conn) submit() (accepted, submitted bool) {
	if c.work == nil {
		return true, false
	}
	w := c.work
	c.work = nil
	c.srv.inProcess.Add(int64(len(w.Requests)))
	return c.srv.host.add(w), true
}

// account adds what was received to the statistics, and keeps the session alive.
func (c *conn) account() {
	if c.packets == 0 {
		return
	}
	// The session is as young as this moment, not as the socket read: between the two the process may
	// have been suspended and every session postponed.
	now := c.srv.clock.now()
	if s := c.session.Load(); s != nil {
		s.Touch(now)
	}
	if now > c.srv.leaseEnd.Load() {
		c.Abort()
	}
	c.srv.stats.Received.Add(c.packets)
	c.countInput()
	c.srv.stats.ReadLatency.ObserveN(figures.Ms(now-c.received), c.executed)
	c.mu.Lock()
	c.mu.stats.Account(c.packets, c.executed, now-c.received, now)
	c.mu.Unlock()
	c.packets, c.executed = 0, 0
}

// waitForRoom waits until the client has taken enough of its output, and the requests in flight
// are few enough, to go on. It returns false if the connection is over.
func (c *conn) waitForRoom() bool {
	needs := c.needs
	c.needs = needRoom
	return c.wait(func() bool {
		switch {
		case c.mu.out.pauses(), c.mu.queue.Full(), c.left.Load():
			if needs == needBudget {
				c.srv.budget.Leave(c)
			}
			return false
		case needs == needBudget:
			return c.srv.budget.Ready(c)
		case needs == needReads && !c.mu.queue.TakesWrite():
			return false
		case needs == needAlone && c.mu.queue.Len() > 0:
			return false
		}
		return c.mu.queue.Len() == 0 || int(c.srv.inProcess.Load()) <= int(c.srv.outstandingMax.Load())
	}) && c.srv.waitThrottle() && c.waitDue()
}

// wait blocks the reader until ready, which is called under conn.mu, or until the connection is
// dead: then it returns false. Whoever changes what ready looks at calls wakeReader.
func (c *conn) wait(ready func() bool) bool {
	for {
		c.mu.Lock()
		if c.mu.out.dead {
			c.mu.Unlock()
			return false
		}
		ok := ready()
		c.mu.waiting = !ok
		c.mu.Unlock()
		if ok {
			return true
		}
		c.resume.Park()
	}
}

// wakeReader makes a waiting reader look again. REQUIRES: c.mu.
func (c *conn) wakeReader() {
	if c.mu.waiting {
		c.mu.waiting = false
		c.Nudge()
	}
}

// Nudge makes a reader that waits look again. Any goroutine may call it, without a lock.
func (c *conn) Nudge() { c.resume.Unpark() }

// cleanup ends the connection: nothing of it stays but requests that are already in flight.
func (c *conn) cleanup() {
	c.passTurn()
	c.Abort()
	c.srv.budget.Leave(c)
	c.countInput()
	c.in.free()
	c.unwatch()
	if s := c.session.Load(); s != nil {
		c.srv.tracker.Unbind(s, c)
	}
	c.srv.conns.remove(c)
	c.mu.Lock()
	c.srv.stats.Sent.Add(c.mu.stats.Sent)
	c.mu.Unlock()
}
