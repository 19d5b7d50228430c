package server

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
)

var (
	errBadConnect  = errors.New("connect request cannot be decoded")
	errClientAhead = errors.New("client has seen a newer zxid than this server: it must not go back in time")
	errNoTokens    = errors.New("connection throttle has no token left")
	errDiskFull    = errors.New("disk is full: no session can be created")
)

// handshake reads the first frame of a connection: a four-letter word, or a ConnectRequest that
// begins or resumes a session. It returns false if the connection is over. Source:
// client-protocol sections 2 and 3, server-semantics section 7.1.
func (c *conn) handshake() bool {
	_ = c.nc.SetReadDeadline(time.Now().Add(c.srv.cfg.SessionlessTimeout))
	frame, err := c.firstFrame()
	if err == nil && frame == nil {
		return false // it was a four-letter word
	}
	if err == nil {
		err = c.connect(frame)
	}
	if err != nil {
		c.srv.metrics.refused(err)
		if !errors.Is(err, io.EOF) {
			c.srv.log.Debug("refusing connection", zap.Stringer("client_addr", c.remote), zap.Error(err))
		}
		return false
	}
	return !c.ended || c.drainInput()
}

// firstFrame reads the first frame. It answers a four-letter word itself and then returns nil.
func (c *conn) firstFrame() ([]byte, error) {
	for {
		if err := c.fill(); err != nil {
			return nil, err
		}
		n, ok := c.in.peekLength()
		if !ok {
			continue
		}
		if word, ok := wordOf(n); ok {
			c.srv.stats.received.Add(1)
			c.answerWord(word)
			return nil, nil
		}
		if n > uint32(c.srv.cfg.JuteMaxBuffer) {
			return nil, errFrameLength
		}
		if !c.srv.serving.Load() {
			return nil, errNotServing
		}
		if rest := c.in.bytes(); len(rest)-4 >= int(n) {
			frame := rest[4 : 4+n]
			c.in.r += 4 + int(n)
			c.packets++
			return frame, nil
		}
	}
}

// connect begins or resumes a session and waits until it is established.
func (c *conn) connect(frame []byte) error {
	c.received = c.srv.clock.now()
	var req proto.ConnectRequest
	if err := req.ReadFrom(frame); err != nil {
		return errBadConnect
	}
	c.srv.metrics.connect()
	if !c.srv.throttle.take(req.SessionID == 0) {
		c.srv.metrics.connectionRejected.Inc()
		return errNoTokens
	}
	if req.LastZxidSeen > c.srv.store.lastZxid() {
		return errClientAhead
	}
	timeout := c.srv.clampTimeout(req.TimeOut)
	if req.SessionID != 0 {
		c.resumeSession(&req, timeout)
		return nil
	}
	if c.srv.guard.full() && c.srv.logStalled.Load() != 0 {
		return errDiskFull
	}
	s := c.srv.tracker.create(timeout, c)
	var body [4]byte
	binary.BigEndian.PutUint32(body[:], uint32(timeout))
	w := c.srv.batches.get()
	w.received = c.received
	w.add(request{conn: c, session: s, xid: boolXid(req.HasReadOnly), op: proto.OpCreateSession}, body[:])
	c.srv.inProcess.Add(1)
	if !c.srv.node.submit(w) {
		return errNotServing
	}
	// The applier sets the session when the txn is applied, and sends the reply. What the client
	// has sent behind its ConnectRequest stays in the input until then.
	_ = c.nc.SetReadDeadline(time.Time{})
	if !c.wait(func() bool { return c.session.Load() != nil }) {
		return io.EOF
	}
	c.account()
	return nil
}

// boolXid carries the only thing the reply to createSession depends on, whether the client knows
// the readOnly byte, in the xid of the request, which createSession does not use.
func boolXid(hasReadOnly bool) int32 {
	if hasReadOnly {
		return 1
	}
	return 0
}

// resumeSession answers a request for an existing session. The password is checked before anything is done to the
// connection that serves the session now, so that a wrong one harms nobody.
func (c *conn) resumeSession(req *proto.ConnectRequest, timeout int32) {
	c.srv.metrics.revalidateCount.Inc()
	passwd := proto.SessionPassword(req.SessionID)
	var s *session
	var old *conn
	if string(passwd[:]) == string(req.Password) {
		s, old = c.srv.tracker.resume(req.SessionID, timeout, c)
	}
	resp := proto.ConnectResponse{HasReadOnly: req.HasReadOnly}
	if s != nil {
		if old != nil {
			old.abort()
		}
		_ = c.nc.SetReadDeadline(time.Time{})
		resp.TimeOut, resp.SessionID, resp.Password = timeout, s.id, passwd
		c.session.Store(s)
	}
	c.mu.Lock()
	c.mu.out.buf = appendConnectResponse(c.mu.out.buf, &resp)
	c.mu.stats.sent++
	if s == nil {
		c.mu.out.closing = true
		c.ended = true
	}
	c.mu.Unlock()
	c.account()
	c.flush()
}

func appendConnectResponse(b []byte, resp *proto.ConnectResponse) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// drainInput reads and drops what the client still sends after its connection was ended, until it
// closes or lingerTimeout is over.
func (c *conn) drainInput() bool {
	for {
		c.in.drop()
		if err := c.fill(); err != nil {
			return false
		}
	}
}
