package client

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

const (
	outputBytesMax  = 8 << 20 // encoded requests that may wait for the socket
	outputBytesKept = 1 << 20 // a larger buffer is dropped once it is written
	promptBytesMax  = 4 << 10 // a larger request is never written by its caller

	// At most so many bytes, or one request, are written at once. On a slow link each such piece has a deadline of its
	// own, and the answers to one show that the server is there while the next ones are written.
	pieceBytes = 256 << 10

	goodbyeMax = 100 * time.Millisecond // how long TLS may take to tell the server that the connection ends
)

// errMoved ends a connection because a server with quorum was found.
var errMoved = errors.New("client: moving to a server with quorum")

// errLeft ends a connection because its server has asked for that.
var errLeft = errors.New("client: the server has asked its clients to go to another one")

// conn is one connection of a session, from its greeting to its end. Two goroutines serve it: the reader (run)
// and the writer. A caller pushes a call, the writer writes it to the socket together with all other waiting
// calls, and the reader completes it. If a small call is the only one on the connection its caller writes it: to
// wake the writer costs more than the write.
type conn struct {
	nc       net.Conn
	addr     string
	in       frames
	cfg      *config
	watches  *watchSet
	zxid     *atomic.Int64 // newest zxid of the session in a reply
	told     *atomic.Int64 // and in an event
	floor    *atomic.Int64 // newest zxid that a server has told otherwise: every later write has a greater one
	onAuth   func(*authCall, proto.ErrCode) error
	session  SessionID
	password [proto.PasswordSize]byte
	contact  *contact
	timeout  time.Duration
	isPrompt bool // the socket takes a few bytes without blocking while no data is in transit
	rearming int  // setWatches without an answer; owned by the reader
	keeps    bool // calls without an answer outlive the connection: see outcomes.go
	// answered are calls of earlier connections, to be completed when the watches are set again; owned by the reader.
	answered []answered
	left     []*call // calls that outlive the connection, once run has returned
	// isLeaving is leaving, for the reader alone.
	isLeaving bool
	heard     time.Time     // when the deadline of the socket was moved; owned by the reader, as known
	known     time.Duration // value of contact.latest at that time

	wake chan struct{} // capacity 1: out is not empty, or a heartbeat is due
	gone chan struct{} // closed when the connection is dead

	mu        sync.Mutex
	out       []byte        // frames for the socket
	spare     []byte        // the buffer that was written last
	pending   ring          // calls without an answer, in the order of their xids
	sent      int           // how many of them, from the head, were written to the socket
	isWriting bool          // a goroutine writes to the socket, and will check out again
	isShared  bool          // more than one call was waiting for its answer at the last write
	written   time.Time     // when the last write began
	auths     []*authCall   // auth packets without an answer
	xid       int32         // of the last call
	err       error         // why the connection is dead
	leaving   bool          // the server is about to end the connection: no call is queued any more
	room      chan struct{} // closed when a full conn has room again; nil if no caller waits
}

// authCall is an auth packet without an answer; done is nil for those that the client repeats on every connection.
type authCall struct {
	credential
	done chan error
}

func newConn(nc net.Conn, in frames, addr string, began time.Time, timeout time.Duration, cfg *config) *conn {
	cn := &conn{nc: nc, in: in, addr: addr, cfg: cfg, contact: &contact{}, timeout: timeout,
		zxid: new(atomic.Int64), told: new(atomic.Int64), floor: new(atomic.Int64),
		wake: make(chan struct{}, 1), gone: make(chan struct{})}
	cn.contact.start(began)
	cn.in.src = (*deadlineReader)(cn)
	cn.isPrompt, cn.written = isTCP(nc), time.Now()
	return cn
}

// isTCP reports whether a connection is TCP, with or without TLS. Other connections may block until the other
// side reads.
func isTCP(nc net.Conn) bool {
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	_, ok := nc.(*net.TCPConn)
	return ok
}

// push queues a call. If the connection is dead it returns the connection's error, and the call was not queued.
// If the connection is full it returns a channel that is closed when there may be room. Invariant: xids are
// pushed, written and answered in one order.
func (cn *conn) push(cl *call) (room <-chan struct{}, err error) {
	cn.mu.Lock()
	if cn.err != nil {
		cn.mu.Unlock()
		return nil, cn.err
	}
	// Without a call, what waits is the watches of a new connection, and no reply would tell that there is room.
	isLong := len(cn.out) > outputBytesMax && cn.pending.n > 0
	isFull := cn.leaving || cn.pending.n >= cn.cfg.outstandingMax || isLong
	if isFull && cl.op != proto.OpCloseSession { // that is the last one, and must not be late
		if cn.room == nil {
			cn.room = make(chan struct{})
		}
		room = cn.room
		cn.mu.Unlock()
		return room, nil
	}
	if err = cn.add(cl); err != nil {
		cn.mu.Unlock()
		return nil, err
	}
	isOthers := cn.isWriting
	isMine := !isOthers && cn.isPrompt && cn.pending.n == 1 && !cn.isShared && len(cn.out) <= promptBytesMax
	cn.isWriting = isOthers || isMine
	cn.mu.Unlock()
	if !isOthers && (!isMine || cn.flush()) {
		cn.signal()
	}
	return nil, nil
}

// pushQuietly queues a call that no caller waits for, even if the connection is full.
func (cn *conn) pushQuietly(cl *call) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.err != nil || cn.leaving || cn.add(cl) != nil {
		cl.release()
		return
	}
	cn.signal()
}

// add encodes a call. REQUIRES: mu, and a live connection.
func (cn *conn) add(cl *call) error {
	start := len(cn.out)
	cn.xid++
	if cn.xid <= 0 {
		cn.xid = 1
	}
	b := cl.appendTo(cn.out, cn.xid)
	if err := cn.cfg.fits(len(b) - start - 4); err != nil {
		cn.xid--
		cn.out = b[:start]
		return err
	}
	cn.out = endFrame(b, start)
	cl.xid, cl.on, cl.floor = cn.xid, cn, Zxid(max(cn.zxid.Load(), cn.floor.Load()))
	if cl.kept && cn.keeps && cl.op != proto.OpMulti {
		// It may be sent again when the caller has used its own for something else.
		cl.data, cl.acl = bytes.Clone(cl.data), slices.Clone(cl.acl)
	}
	cn.pending.push(cl)
	return nil
}

func (cn *conn) lastXid() int32 {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return cn.xid
}

func (cn *conn) signal() {
	select {
	case cn.wake <- struct{}{}:
	default:
	}
}

// pushAuth queues an auth packet, which is answered by its special xid.
func (cn *conn) pushAuth(a *authCall) error {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.err != nil {
		return cn.err
	}
	packet := proto.AuthPacket{Scheme: proto.Text(a.scheme), Auth: a.auth}
	start := len(cn.out)
	b := packet.AppendTo(beginRequest(cn.out, proto.XidAuth, proto.OpAuth))
	if err := cn.cfg.fits(len(b) - start - 4); err != nil {
		cn.out = b[:start]
		return err
	}
	cn.out = endFrame(b, start)
	cn.auths = append(cn.auths, a)
	cn.signal()
	return nil
}

// queue appends whole frames without a call. REQUIRES: no goroutine of the connection runs yet.
func (cn *conn) queue(frames []byte) {
	cn.out = append(cn.out, frames...)
	cn.signal()
}

// fail ends the connection. The first cause counts.
func (cn *conn) fail(err error) {
	cn.mu.Lock()
	isFirst := cn.err == nil
	if isFirst {
		cn.err = err
		close(cn.gone)
	}
	if cn.room != nil {
		close(cn.room)
		cn.room = nil
	}
	cn.mu.Unlock()
	if isFirst {
		cn.close()
	}
}

// close closes the socket. TLS would wait five seconds for a server that reads no more.
func (cn *conn) close() {
	if secure, ok := cn.nc.(*tls.Conn); ok {
		limit := time.AfterFunc(goodbyeMax, func() { _ = secure.NetConn().Close() })
		defer limit.Stop()
	}
	_ = cn.nc.Close()
}

// run serves the connection until it dies, then fails every call that it still holds, and returns why.
func (cn *conn) run() error {
	var writer sync.WaitGroup
	writer.Go(cn.write)
	cn.fail(cn.read())
	writer.Wait()
	cn.drain()
	return cn.err
}

// drain fails all calls that do not outlive the connection. Requests that were written to the socket may have been
// applied. No call is pushed any more, since err is set.
func (cn *conn) drain() {
	for _, a := range cn.answered {
		cn.left = append(cn.left, a.call)
	}
	for {
		cn.mu.Lock()
		cl, isSent := cn.pending.pop(), cn.sent > 0
		if isSent {
			cn.sent--
		}
		auths := cn.auths
		cn.auths = nil
		cn.mu.Unlock()
		for _, a := range auths {
			if a.done != nil {
				a.done <- ErrConnectionLoss
			}
		}
		if cl == nil {
			return
		}
		if cl.sent = cl.sent || isSent; cn.keeps && cl.op != proto.OpCloseSession {
			cn.left = append(cn.left, cl)
			continue
		}
		lose(cn.watches, cl, ErrConnectionLoss)
	}
}

// lose fails a call whose answer will never arrive.
func lose(watches *watchSet, cl *call, err error) {
	cl.mayHave = cl.sent && cl.op.IsWrite()
	complete(watches, cl, err)
}

// write writes all queued data to the socket, and sends a heartbeat when a third of the session timeout has
// passed without a write.
func (cn *conn) write() {
	every := cn.timeout / 3
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-cn.gone:
			return
		case <-timer.C:
			cn.mu.Lock()
			idle := time.Since(cn.written)
			cn.mu.Unlock()
			if idle < every {
				timer.Reset(every - idle)
				continue
			}
			timer.Reset(every)
			cn.ping()
		case <-cn.wake:
		}
		for cn.begin() {
			cn.flush()
		}
	}
}

// begin sets isWriting if data is queued and no other goroutine writes to the socket. Callers that are about to
// push run first, so that one write carries the requests of all. A single caller does not wait for others,
// because to yield wakes a thread.
func (cn *conn) begin() bool {
	cn.mu.Lock()
	if cn.isWriting || len(cn.out) == 0 {
		cn.mu.Unlock()
		return false
	}
	cn.isWriting = true
	isShared := cn.isShared
	cn.mu.Unlock()
	if isShared {
		runtime.Gosched()
	}
	return true
}

// flush writes all queued data to the socket, and reports whether more was queued meanwhile. REQUIRES: the caller has
// set isWriting; flush clears it, unless the connection is dead.
func (cn *conn) flush() (more bool) {
	now := time.Now() // before anything is written
	cn.mu.Lock()
	batch := cn.out
	cn.out, cn.spare = cn.spare[:0], nil
	cn.isShared = cn.pending.n > 1
	for rest := batch; len(rest) > 0; now = time.Now() {
		if cn.err != nil { // what is not written must not be: drain has seen that it was not sent
			cn.mu.Unlock()
			return false
		}
		piece := cn.mark(rest, now)
		cn.written = now
		cn.mu.Unlock()
		_ = cn.nc.SetWriteDeadline(now.Add(2 * cn.timeout / 3))
		if _, err := cn.nc.Write(rest[:piece]); err != nil {
			cn.fail(fmt.Errorf("client: write to %s: %w", cn.addr, err))
			return false
		}
		rest = rest[piece:]
		cn.mu.Lock()
	}
	defer cn.mu.Unlock()
	cn.isWriting = false
	if cap(batch) <= outputBytesKept {
		cn.spare = batch
	}
	return len(cn.out) > 0
}

// mark returns how many bytes of frames are to be written at once, and notes the requests in them. REQUIRES: mu.
func (cn *conn) mark(frames []byte, now time.Time) (size int) {
	var calls, pings, rearms int
	for size < len(frames) {
		end := size + 4 + int(binary.BigEndian.Uint32(frames[size:]))
		if size > 0 && end > pieceBytes {
			break
		}
		switch int32(binary.BigEndian.Uint32(frames[size+4:])) {
		case proto.XidPing:
			pings++
		case proto.XidSetWatches:
			rearms++
		case proto.XidAuth:
		default:
			calls++
		}
		size = end
	}
	cn.contact.writing(&cn.contact.calls, calls, now)
	cn.contact.writing(&cn.contact.pings, pings, now)
	cn.contact.writing(&cn.contact.rearms, rearms, now)
	cn.sent += calls
	return size
}

func (cn *conn) ping() {
	cn.mu.Lock()
	start := len(cn.out)
	cn.out = endFrame(beginRequest(cn.out, proto.XidPing, proto.OpPing), start)
	cn.mu.Unlock()
}
