package serve

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

var (
	errBadConnect  = errors.New("connect request cannot be decoded")
	errClientAhead = errors.New("client has seen a newer zxid than this server: it must not go back in time")
	errNoTokens    = errors.New("connection throttle has no token left")
	errReadOnly    = errors.New("this server is read-only, and the client has not asked for that")
	errDiskFull    = errors.New("disk is full: no session can be created")
	errNoIDs       = errors.New("meta.db takes no base for session ids: no session can be created")
)

// faultsOfClients are reasons of a refusal that do not pass by themselves, or that an operator should see: they are
// logged as warnings. The other reasons are frequent when all clients of a server try to come back.
var faultsOfClients = []error{errBadConnect, errClientAhead, errDiskFull, errNoIDs, errFrameLength}

// handshake reads the first frame of a connection: a four-letter word, or a ConnectRequest that begins or resumes a
// session. It returns false if the connection has ended. Source: client-protocol 2 and 3, server-semantics 7.1.
func (c *Conn) handshake() bool {
	_ = c.nc.SetReadDeadline(c.srv.Clock.In(c.srv.Config.SessionlessTimeout))
	frame, err := c.firstFrame()
	if err == nil && frame == nil {
		return false // it was a four-letter word
	}
	for err == nil && !c.mayAsk() {
		if !c.waitDue() {
			return false
		}
	}
	if err == nil {
		c.asked()
		err = c.connect(frame)
	}
	if err != nil {
		c.srv.countRefused(err)
		if !errors.Is(err, io.EOF) {
			level := zap.DebugLevel
			if slices.Contains(faultsOfClients, err) {
				level = zap.WarnLevel
			}
			c.srv.Log.Log(level, "refusing connection", zap.Stringer("client_addr", c.Remote), zap.Error(err))
		}
		return false
	}
	return !c.ended || c.drainInput()
}

// firstFrame reads the first frame. It answers a four-letter word itself and then returns nil.
func (c *Conn) firstFrame() ([]byte, error) {
	for {
		if err := c.Fill(); err != nil {
			return nil, err
		}
		n, ok := c.In.PeekLength()
		if !ok {
			continue
		}
		if word, ok := c.srv.wordOf(n); ok {
			c.srv.Stats.Received.Add(1)
			c.answerWord(word)
			return nil, nil
		}
		if n > uint32(c.srv.Config.JuteMaxBuffer) {
			return nil, errFrameLength
		}
		if !c.letIn() {
			return nil, errNotServing
		}
		c.generation.Store(c.srv.host.Generation())
		if rest := c.In.Bytes(); len(rest)-4 >= int(n) {
			frame := rest[4 : 4+n]
			c.In.R += 4 + int(n)
			c.Packets++
			return frame, nil
		}
	}
}

// letIn reports whether clients are served. One that comes in the middle of an election waits for its end for a
// moment. If it has gone elsewhere meanwhile, it is not to have its session here.
func (c *Conn) letIn() bool {
	s := c.srv
	if s.Doors.IsOpen() {
		return s.MayAnswer()
	}
	if _, draining := s.Draining(); draining {
		return false
	}
	s.Metrics.ConnectWaits.Inc()
	return s.Doors.Await(s.Config.ConnectWait) && s.MayAnswer() && !hungUp(c.raw)
}

// connect begins or resumes a session and waits until it is established.
func (c *Conn) connect(frame []byte) error {
	c.Received = c.srv.Clock.Now()
	var req proto.ConnectRequest
	if err := req.ReadFrom(frame); err != nil {
		return errBadConnect
	}
	if err := c.srv.refuseWhileDraining(c); err != nil {
		return err
	}
	c.srv.Metrics.Connect(c.srv.Throttle.Deficit())
	if !c.srv.Throttle.Take(req.SessionID == 0) {
		c.srv.Metrics.ConnectionRejected.Inc()
		return errNoTokens
	}
	if req.LastZxidSeen > c.srv.host.Position() {
		return errClientAhead
	}
	timeout := c.srv.clampTimeout(req.TimeOut)
	if c.srv.ReadOnly.Load() && !req.ReadOnly {
		return errReadOnly
	}
	if req.SessionID != 0 {
		return c.resumeSession(&req, timeout)
	}
	if c.srv.keepsLocal() {
		return c.beginLocal(&req, timeout)
	}
	if c.srv.Guard.Full() && c.srv.LogStalled.Load() != 0 {
		return errDiskFull
	}
	c.knowsReadOnly = req.HasReadOnly
	for c.Session.Load() == nil {
		if err := c.begin(timeout); err != nil {
			return err
		}
	}
	c.Account()
	return nil
}

// begin begins a session. It returns nil without one if the leader was lost before it was known whether that session
// exists: nobody uses it, so another one may be begun when there is a leader again.
func (c *Conn) begin(timeoutMs int32) error {
	s := c.srv.Tracker.Create(timeoutMs, c, c.Received)
	if s == nil {
		return errNoIDs
	}
	var body [4]byte
	binary.BigEndian.PutUint32(body[:], uint32(timeoutMs))
	w := c.srv.NewBatch(c.Received, flow.Request{Client: c, Session: s, Op: proto.OpCreateSession}, body[:])
	c.srv.InProcess.Add(1)
	if !c.srv.host.Submit(w) {
		return errNotServing
	}
	// The applier sets the session when the txn is applied, and sends the reply. Until then the input behind the
	// ConnectRequest stays in the buffer.
	_ = c.nc.SetReadDeadline(time.Time{})
	if !c.wait(func() bool { return c.Session.Load() != nil || c.mu.dropped }) {
		return io.EOF
	}
	if c.Session.Load() != nil {
		return nil
	}
	return c.asksAgain()
}

// Unanswered implements flow.Client.
func (c *Conn) Unanswered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.dropped = true
	c.wakeReader()
}

// asksAgain waits, after Unanswered, until there is another leader.
func (c *Conn) asksAgain() error {
	c.mu.Lock()
	c.mu.dropped = false
	c.mu.Unlock()
	if c.generation.Load() == c.srv.host.Generation() || !c.letIn() || hungUp(c.raw) {
		return errNotServing
	}
	c.generation.Store(c.srv.host.Generation())
	c.Received = c.srv.Clock.Now()
	return nil
}

// resumeSession answers a request for an existing session. It checks the password before it touches the connection
// that serves the session now, so that a wrong password harms no other client.
func (c *Conn) resumeSession(req *proto.ConnectRequest, timeout int32) error {
	c.srv.Metrics.RevalidateCount.Inc()
	c.knowsReadOnly = req.HasReadOnly
	switch {
	case !c.srv.Security.secrets.Accepts(req.SessionID, req.Password):
		c.Resumed(nil, nil, 0)
	case c.resumeLocal(req.SessionID, timeout):
	default:
		for settled := false; !settled; {
			c.srv.host.Resume(&flow.Resumption{Client: c, ID: req.SessionID, TimeoutMs: timeout, Received: c.Received})
			if !c.wait(func() bool { settled = c.mu.settled; return settled || c.mu.dropped }) {
				return io.EOF
			}
			if !settled {
				if err := c.asksAgain(); err != nil {
					return err
				}
			}
		}
	}
	c.ended = c.Session.Load() == nil
	c.Account()
	return nil
}

// resumeLocal resumes a session that only this server knows. It reports false if there is none.
func (c *Conn) resumeLocal(id proto.SessionID, timeoutMs int32) bool {
	s, old := c.srv.Tracker.ResumeLocal(id, timeoutMs, c, c.Received)
	if s != nil {
		c.Resumed(s, old, timeoutMs)
	}
	return s != nil
}

// Resumed implements flow.Client.
func (c *Conn) Resumed(s *sessions.Session, old sessions.Conn, timeoutMs int32) {
	resp := proto.ConnectResponse{HasReadOnly: c.knowsReadOnly, ReadOnly: c.srv.ReadOnly.Load()}
	if s != nil {
		if old != nil && old != c {
			old.Supersede()
		}
		_ = c.nc.SetReadDeadline(time.Time{})
		resp.TimeOut, resp.SessionID, resp.Password = timeoutMs, s.ID, c.srv.Security.secrets.Password(s.ID)
		c.Session.Store(s)
	}
	c.mu.Lock()
	if c.mu.out.open() {
		c.mu.out.buf = appendConnectResponse(c.mu.out.buf, &resp)
		c.mu.stats.Sent++
		c.mu.out.closing = s == nil
	}
	c.mu.settled = true
	c.wakeReader()
	c.mu.Unlock()
	c.Flush()
}

func appendConnectResponse(b []byte, resp *proto.ConnectResponse) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// drainInput reads and drops what the client still sends after its connection was ended, until the client closes or
// lingerTimeout has passed.
func (c *Conn) drainInput() bool {
	for {
		c.In.Drop()
		if err := c.Fill(); err != nil {
			return false
		}
	}
}

// keepsLocal reports whether a new session becomes a local one.
func (s *Front) keepsLocal() bool {
	return s.Config.Distributed() && (s.Config.LocalSessionsEnabled || s.ReadOnly.Load())
}

// beginLocal gives a client a local session.
func (c *Conn) beginLocal(req *proto.ConnectRequest, timeoutMs int32) error {
	s := c.srv.Tracker.Create(timeoutMs, c, c.Received)
	if s == nil {
		return errNoIDs
	}
	c.srv.Tracker.MakeLocal(s)
	c.knowsReadOnly = req.HasReadOnly
	c.Resumed(s, nil, timeoutMs)
	c.Account()
	return nil
}
