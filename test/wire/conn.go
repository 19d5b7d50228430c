package wire

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
)

// ErrRejected is returned by Dial when the server answers that the session is over or its
// password wrong.
var ErrRejected = errors.New("wire: session rejected")

// errClosed is the end of a connection that Close ended.
var errClosed = errors.New("wire: connection closed by us")

// Options describe a connection. The zero value asks for a new session with a timeout of 10 s.
type Options struct {
	Session   proto.SessionID // session to resume, 0 for a new one
	Password  []byte          // of the session; nil sends 16 zero bytes
	LastZxid  proto.Zxid      // newest zxid the session has seen
	TimeoutMs int32           // requested session timeout; 0 means 10,000, use Exact to send 0
	Exact     bool            // send TimeoutMs as it is
	ReadOnly  bool            // accept a read-only server
	Legacy    bool            // omit the readOnly byte, as clients before 3.4 do

	// TLS, if set, encrypts the connection.
	TLS *tls.Config
	// From, if set, is the local address from which to connect.
	From net.Addr

	// Reply bounds the wait for the handshake and for each Call; 0 means 30 s.
	Reply time.Duration
	// Observe, if set, is called for every frame after the handshake, in order, by the reading
	// goroutine, before a Wait for that frame returns.
	Observe func(Packet)
}

// Packet is one frame from the server: a notification if Event is set, else the reply to Call.
type Packet struct {
	Event *Event
	Call  *Call
}

// Event is a notification.
type Event struct {
	Type proto.EventType
	Path string
	Zxid proto.Zxid // -1 from servers before 3.9 and for catch-up events
}

// Call is a request that was sent. Reply is valid after Wait returned nil.
type Call struct {
	Request Request
	Reply   Reply

	err     error
	done    chan struct{}
	timeout time.Duration
}

// Wait returns when the reply is there: nil, even if the reply is an error of the server, or why
// none will come. The outcome of a write without a reply is unknown.
func (c *Call) Wait() error {
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
		return fmt.Errorf("wire: no reply to %v within %v", c.Request.Op, c.timeout)
	}
}

// Done is closed when the outcome is known.
func (c *Call) Done() <-chan struct{} { return c.done }

// Conn is one connection with an established session.
type Conn struct {
	nc      net.Conn
	in      *bufio.Reader
	hello   proto.ConnectResponse
	observe func(Packet)
	timeout time.Duration
	done    chan struct{} // closed by the reader when it ends

	write   sync.Mutex // orders frames on the socket like their entries in pending
	mu      sync.Mutex // guards what follows
	xid     int32
	pending []*Call // sent, unanswered, in order
	zxid    proto.Zxid
	err     error
}

// Rejects returns nil when a server rejects a session. A server that has just lost its leader closes the connection
// without a word about the session: it is asked again, for half a minute. To take the session is an error.
func Rejects(addr string, o Options) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c, err := Dial(addr, o)
		switch {
		case err == nil:
			c.Close()
			return errors.New("wire: the session was not rejected")
		case errors.Is(err, ErrRejected):
			return nil
		case time.Since(began) > 30*time.Second:
			return err
		}
	}
}

// Dial connects and performs the handshake. A rejected session is ErrRejected; a server that
// closes without a reply gives io.EOF, wrapped.
func Dial(addr string, o Options) (*Conn, error) {
	if o.Reply == 0 {
		o.Reply = 30 * time.Second
	}
	dialer := &net.Dialer{Timeout: o.Reply, LocalAddr: o.From}
	var nc net.Conn
	var err error
	if o.TLS != nil {
		nc, err = tls.DialWithDialer(dialer, "tcp", addr, o.TLS)
	} else {
		nc, err = dialer.Dial("tcp", addr)
	}
	if err != nil {
		return nil, err
	}
	c := &Conn{nc: nc, in: bufio.NewReaderSize(nc, 64<<10), observe: o.Observe, timeout: o.Reply,
		done: make(chan struct{}), zxid: o.LastZxid}
	if err := c.handshake(o); err != nil {
		nc.Close()
		return nil, fmt.Errorf("wire: handshake with %s: %w", addr, err)
	}
	go c.readLoop()
	return c, nil
}

// handshake sends the ConnectRequest and checks the response against client-protocol 3.2 and 3.3.
func (c *Conn) handshake(o Options) error {
	req := ConnectRequest(o)
	if err := c.nc.SetDeadline(time.Now().Add(o.Reply)); err != nil {
		return err
	}
	if err := WriteFrame(c.nc, req.AppendTo(nil)); err != nil {
		return err
	}
	payload, err := ReadFrame(c.in)
	if err != nil {
		return err
	}
	want := 37
	if o.Legacy {
		want = 36
	}
	if len(payload) != want {
		return violationf("connect response of %d bytes, want %d: %x", len(payload), want, payload)
	}
	if err := c.hello.ReadFrom(payload); err != nil {
		return violationf("connect response: %v: %x", err, payload)
	}
	h := &c.hello
	rejected := h.TimeOut == 0 || h.SessionID == 0
	switch {
	case h.ProtocolVersion != 0:
		return violationf("connect response: protocol version %d", h.ProtocolVersion)
	case rejected && (h.TimeOut != 0 || h.SessionID != 0 || h.Password != [proto.PasswordSize]byte{}):
		return violationf("connect response: rejection must be all zero: %x", payload)
	case rejected:
		return ErrRejected
	case o.Session != 0 && h.SessionID != o.Session:
		return violationf("connect response: resumed %v as %v", o.Session, h.SessionID)
	case h.TimeOut < 0:
		return violationf("connect response: timeout %d", h.TimeOut)
	}
	return c.nc.SetDeadline(time.Time{})
}

// ConnectRequest returns the first frame that Dial sends for o.
func ConnectRequest(o Options) *proto.ConnectRequest {
	timeout := o.TimeoutMs
	if timeout == 0 && !o.Exact {
		timeout = 10_000
	}
	passwd := o.Password
	if passwd == nil {
		passwd = make([]byte, proto.PasswordSize)
	}
	return &proto.ConnectRequest{LastZxidSeen: o.LastZxid, TimeOut: timeout, SessionID: o.Session,
		Password: passwd, ReadOnly: o.ReadOnly, HasReadOnly: !o.Legacy}
}

// Session returns the session's id.
func (c *Conn) Session() proto.SessionID { return c.hello.SessionID }

// Password returns the session's password.
func (c *Conn) Password() []byte { return c.hello.Password[:] }

// TimeoutMs returns the negotiated session timeout.
func (c *Conn) TimeoutMs() int32 { return c.hello.TimeOut }

// ReadOnly reports whether the server said that it is read-only.
func (c *Conn) ReadOnly() bool { return c.hello.ReadOnly }

// LastZxid returns the newest zxid seen in a reply, or Options.LastZxid.
func (c *Conn) LastZxid() proto.Zxid {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.zxid
}

// Resume returns the options with which another connection continues the session.
func (c *Conn) Resume() Options {
	return Options{Session: c.Session(), Password: c.Password(), LastZxid: c.LastZxid(),
		TimeoutMs: c.TimeoutMs(), Reply: c.timeout, Observe: c.observe}
}

// Send writes one request and does not wait.
func (c *Conn) Send(req Request) *Call { return c.SendAll([]Request{req})[0] }

// SendAll writes requests with one system call, so that they are pipelined.
func (c *Conn) SendAll(reqs []Request) []*Call {
	c.write.Lock()
	defer c.write.Unlock()
	calls := make([]*Call, len(reqs))
	var out []byte
	c.mu.Lock()
	for i, req := range reqs {
		if !req.FixedXid {
			c.xid++
			req.Xid = c.xid
		}
		calls[i] = &Call{Request: req, done: make(chan struct{}), timeout: c.timeout}
		h := proto.RequestHeader{Xid: req.Xid, Type: req.Op}
		out = AppendFrame(out, append(h.AppendTo(nil), req.Body...))
		if c.err != nil {
			calls[i].err = c.err
			close(calls[i].done)
		} else {
			c.pending = append(c.pending, calls[i])
		}
	}
	c.mu.Unlock()
	// A failed write shows as a failed read: the reader ends the connection and its calls.
	_, _ = c.nc.Write(out)
	return calls
}

// SendRaw writes bytes that are no request, or only a part of one. No reply is expected.
func (c *Conn) SendRaw(b []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.nc.Write(b)
	return err
}

// Do sends a request and waits for its reply.
func (c *Conn) Do(req Request) (*Reply, error) {
	call := c.Send(req)
	if err := call.Wait(); err != nil {
		return nil, err
	}
	return &call.Reply, nil
}

// Close ends the connection and leaves the session to its timeout.
func (c *Conn) Close() {
	c.fail(errClosed)
	c.nc.Close()
	<-c.done
}

// Done is closed when the connection is over and every frame of it was observed.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection is over, nil while it is not. A server that closed it between
// two frames gives io.EOF.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// WaitClosed returns the reason when the server has closed the connection, or an error if it has
// not within the reply timeout.
func (c *Conn) WaitClosed() error {
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case <-c.done:
		var v *Violation
		if err := c.Err(); errors.As(err, &v) {
			return err
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("wire: connection still open after %v", c.timeout)
	}
}

func (c *Conn) readLoop() {
	defer close(c.done)
	for {
		payload, err := ReadFrame(c.in)
		if err == nil {
			err = c.accept(payload)
		}
		if err != nil {
			c.fail(err)
			c.nc.Close()
			return
		}
	}
}

// fail records the first reason and gives it to every call that waits.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	for _, call := range c.pending {
		call.err = fmt.Errorf("wire: no reply to %v: %w", call.Request.Op, c.err)
		close(call.done)
	}
	c.pending = nil
}

// IsEOF reports whether err is the peer's close, orderly or not.
func IsEOF(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}
