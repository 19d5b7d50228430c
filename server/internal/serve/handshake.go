package serve

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

var (
	errBadConnect  = errors.New("connect request cannot be decoded")
	errClientAhead = errors.New("client has seen a later zxid than this server has: it would read older data here")
	errDraining    = errors.New("this server is being drained: it takes no clients until it is resumed or restarted")
	errNoTokens    = errors.New("connection throttle has no token left")
	errReadOnly    = errors.New("this server is read-only, and the client has not asked for that")
	errDiskFull    = errors.New("disk is full: no session can be created")
	errNoIDs       = errors.New("cannot write the next range of session ids to meta.db: no session can be created")
)

// faultsOfClients are reasons of a refusal that do not pass by themselves, or that an operator should see: they are
// logged as warnings. The other reasons are frequent when all clients of a server try to come back.
var faultsOfClients = []error{errBadConnect, errClientAhead, errDiskFull, errNoIDs, errFrameLength}

// greeting is how a connection begins, on the goroutine that reads from the client: the handshake of TLS, and a
// four-letter word or a session. It keeps nothing: what it finds out goes to the connection.
type greeting struct{ *feed }

// handshake reads the first frame of a connection: a four-letter word, or a ConnectRequest that begins or resumes a
// session. It returns false if the connection has ended. Source: client-protocol 2 and 3, server-semantics 7.1.
func (g greeting) handshake() bool {
	_ = g.c.nc.SetReadDeadline(g.srv.Clock.In(g.srv.Config.SessionlessTimeout))
	frame, err := g.firstFrame()
	if err == nil && frame == nil {
		return false // it was a four-letter word
	}
	for err == nil && !g.mayAsk() {
		if !g.waitDue() {
			return false
		}
	}
	if err == nil {
		g.pace.worked()
		err = g.connect(frame)
	}
	if err != nil {
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			g.srv.Metrics.Sessionless.Inc()
		case errors.Is(err, errNotServing):
			g.srv.Metrics.NotRunning.Inc()
		}
		if !errors.Is(err, io.EOF) {
			level := zap.DebugLevel
			if slices.Contains(faultsOfClients, err) {
				level = zap.WarnLevel
			}
			g.srv.Log.Log(level, "refusing connection", zap.Stringer("client_addr", g.c.Remote), zap.Error(err))
		}
		return false
	}
	if g.ended {
		g.discardInput()
	}
	return !g.ended
}

// firstFrame reads the first frame. It answers a four-letter word itself and then returns nil.
func (g greeting) firstFrame() ([]byte, error) {
	for {
		if err := g.fill(); err != nil {
			return nil, err
		}
		n, ok := g.in.peekLength()
		if !ok {
			continue
		}
		if word, ok := g.srv.wordOf(n); ok {
			g.srv.Stats.Received.Add(1)
			g.answerWord(word)
			return nil, nil
		}
		if n > uint32(g.srv.Config.JuteMaxBuffer) {
			return nil, errFrameLength
		}
		if !g.letIn() {
			return nil, errNotServing
		}
		g.c.generation.Store(g.srv.host.Generation())
		if rest := g.in.bytes(); len(rest)-4 >= int(n) {
			frame := rest[4 : 4+n]
			g.in.skip(4 + int(n))
			g.tally.packets++
			return frame, nil
		}
	}
}

// letIn reports whether clients are served. One that comes in the middle of an election waits for its end for a
// moment. If it has gone elsewhere meanwhile, it is not to have its session here.
func (g greeting) letIn() bool {
	s := g.srv
	if s.Doors.IsOpen() || g.c.inside() && s.Doors.InService() {
		return s.MayAnswer()
	}
	if _, draining := s.Draining(); draining {
		return false
	}
	s.Metrics.ConnectWaits.Inc()
	return s.Doors.Await(s.Config.ConnectWait) && s.MayAnswer() && !hungUp(g.c.raw)
}

// connect begins or resumes a session and waits until it is established.
func (g greeting) connect(frame []byte) error {
	g.received = g.srv.Clock.Now()
	var req proto.ConnectRequest
	if err := req.ReadFrom(frame); err != nil {
		return errBadConnect
	}
	if !g.c.inside() && g.srv.drained.Load() != nil {
		g.srv.Metrics.Refuse(env.RefusedByDrain)
		return errDraining
	}
	g.srv.Metrics.Connect(g.srv.Throttle.Deficit())
	if !g.srv.Throttle.Take(req.SessionID == 0) {
		g.srv.Metrics.Refuse(env.RefusedByRate)
		return errNoTokens
	}
	if req.LastZxidSeen > g.srv.host.Position() {
		g.srv.Metrics.Refuse(env.RefusedAhead)
		return errClientAhead
	}
	timeout := g.srv.clampTimeout(req.TimeOut)
	if g.srv.ReadOnly.Load() && !req.ReadOnly {
		g.srv.Metrics.Refuse(env.RefusedReadOnly)
		return errReadOnly
	}
	g.c.knowsReadOnly, g.c.extensions = req.HasReadOnly, req.Extensions&proto.ExtensionOutcomes
	local := g.srv.Config.Distributed() && (g.srv.Config.LocalSessionsEnabled || g.srv.ReadOnly.Load())
	var err error
	switch {
	case req.SessionID != 0:
		err = g.resume(&req, timeout)
	case !local && g.srv.Guard.Full() && g.srv.LogStalled.Load() != 0:
		g.srv.Metrics.Refuse(env.RefusedByDisk)
		err = errDiskFull
	default:
		for err == nil && g.c.Session.Load() == nil {
			err = g.begin(timeout, local)
		}
	}
	if err == nil {
		g.account()
	}
	return err
}

// begin begins a session, which this server may keep to itself. It returns nil without one if the leader was lost
// before it was known whether that session exists: nobody uses it, so another one may be begun when there is a leader
// again.
func (g greeting) begin(timeoutMs int32, local bool) error {
	s := g.srv.Tracker.Create(timeoutMs, g.c, g.received)
	switch {
	case s == nil:
		return errNoIDs
	case local:
		g.srv.Tracker.MakeLocal(s)
		g.c.Resumed(s, nil, timeoutMs, false)
		return nil
	}
	var body [4]byte
	binary.BigEndian.PutUint32(body[:], uint32(timeoutMs))
	w := g.srv.NewBatch(g.received, flow.Request{Client: g.c, Session: s, Op: proto.OpCreateSession}, body[:])
	g.srv.InProcess.Add(1)
	if !g.srv.host.Submit(w) {
		return errNotServing
	}
	// The applier sets the session when the txn is applied, and sends the reply. Until then the input behind the
	// ConnectRequest stays in the buffer.
	_ = g.c.nc.SetReadDeadline(time.Time{})
	if !g.wait(func() bool { return g.c.Session.Load() != nil || g.c.mu.reader.orphaned }) {
		return io.EOF
	}
	if g.c.Session.Load() != nil {
		return nil
	}
	return g.asksAgain()
}

// Unanswered implements flow.Client.
func (c *Conn) Unanswered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.reader.orphaned = true
	c.wakeReader()
}

// asksAgain waits, after Unanswered, until there is another leader.
func (g greeting) asksAgain() error {
	g.c.mu.Lock()
	g.c.mu.reader.orphaned = false
	g.c.mu.Unlock()
	if g.c.generation.Load() == g.srv.host.Generation() || !g.letIn() || hungUp(g.c.raw) {
		return errNotServing
	}
	g.c.generation.Store(g.srv.host.Generation())
	g.received = g.srv.Clock.Now()
	return nil
}

// resume answers a request for an existing session. It checks the password before it touches the connection that
// serves the session now, so that a wrong password harms no other client.
func (g greeting) resume(req *proto.ConnectRequest, timeoutMs int32) error {
	g.srv.Metrics.RevalidateCount.Inc()
	settled := true
	if !g.srv.secrets.Accepts(req.SessionID, req.Password) {
		g.c.Resumed(nil, nil, 0, false)
	} else if s, old := g.srv.Tracker.ResumeLocal(req.SessionID, timeoutMs, g.c, g.received); s != nil {
		g.c.Resumed(s, old, timeoutMs, false)
	} else {
		settled = false
	}
	for p := &g.c.mu.reader; !settled; {
		g.srv.host.Resume(&flow.Resumption{Client: g.c, ID: req.SessionID, TimeoutMs: timeoutMs, Received: g.received})
		if !g.wait(func() bool { settled = p.settled; return settled || p.orphaned }) {
			return io.EOF
		}
		if !settled {
			if err := g.asksAgain(); err != nil {
				return err
			}
		}
	}
	g.ended = g.c.Session.Load() == nil
	return nil
}

// Resumed implements flow.Client.
func (c *Conn) Resumed(s *sessions.Session, old sessions.Conn, timeoutMs int32, whole bool) {
	resp := proto.ConnectResponse{HasReadOnly: c.knowsReadOnly, ReadOnly: c.srv.ReadOnly.Load()}
	if s != nil {
		if old != nil && old != c {
			old.Supersede()
		}
		_ = c.nc.SetReadDeadline(time.Time{})
		if !whole {
			c.extensions &^= proto.ExtensionOutcomes
		}
		resp.Extensions, resp.Zxid = c.extensions, c.srv.Store.LastZxid()
		resp.TimeOut, resp.SessionID, resp.Password = timeoutMs, s.ID, c.srv.secrets.Password(s.ID)
		c.Session.Store(s)
	}
	c.mu.Lock()
	open := c.mu.out.open()
	if open {
		c.mu.out.buf = appendConnectResponse(c.mu.out.buf, &resp)
		c.mu.stats.Sent++
		c.mu.out.closing = s == nil
	}
	c.mu.reader.settled = true
	c.wakeReader()
	c.mu.Unlock()
	if !open && s != nil {
		c.srv.Tracker.Unbind(s, c) // the reader, which does so at its end, may not have known the session
	}
	c.flush()
}

func appendConnectResponse(b []byte, resp *proto.ConnectResponse) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// clampTimeout negotiates a session timeout, in ms. Source: client-protocol 3.3.
func (s *Front) clampTimeout(ms int32) int32 {
	lo, hi := s.Config.MinSessionTimeout.Milliseconds(), s.Config.MaxSessionTimeout.Milliseconds()
	return int32(min(max(int64(ms), lo), hi))
}
