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

// handshake reads the first frame of a connection: a four-letter word, or a ConnectRequest that begins or resumes a
// session. It returns false if the connection has ended. Source: client-protocol 2 and 3, server-semantics 7.1.
func (r *reader) handshake() bool {
	_ = r.c.nc.SetReadDeadline(r.srv.Clock.In(r.srv.Config.SessionlessTimeout))
	frame, err := r.firstFrame()
	if err == nil && frame == nil {
		return false // it was a four-letter word
	}
	for err == nil && !r.mayAsk() {
		if !r.waitDue() {
			return false
		}
	}
	if err == nil {
		r.pace.worked()
		err = r.connect(frame)
	}
	if err != nil {
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			r.srv.Metrics.Sessionless.Inc()
		case errors.Is(err, errNotServing):
			r.srv.Metrics.NotRunning.Inc()
		}
		if !errors.Is(err, io.EOF) {
			level := zap.DebugLevel
			if slices.Contains(faultsOfClients, err) {
				level = zap.WarnLevel
			}
			r.srv.Log.Log(level, "refusing connection", zap.Stringer("client_addr", r.c.Remote), zap.Error(err))
		}
		return false
	}
	if r.ended {
		r.discardInput()
	}
	return !r.ended
}

// firstFrame reads the first frame. It answers a four-letter word itself and then returns nil.
func (r *reader) firstFrame() ([]byte, error) {
	for {
		if err := r.fill(); err != nil {
			return nil, err
		}
		n, ok := r.in.peekLength()
		if !ok {
			continue
		}
		if word, ok := r.srv.wordOf(n); ok {
			r.srv.Stats.Received.Add(1)
			r.answerWord(word)
			return nil, nil
		}
		if n > uint32(r.srv.Config.JuteMaxBuffer) {
			return nil, errFrameLength
		}
		if !r.letIn() {
			return nil, errNotServing
		}
		r.c.generation.Store(r.srv.host.Generation())
		if rest := r.in.bytes(); len(rest)-4 >= int(n) {
			frame := rest[4 : 4+n]
			r.in.skip(4 + int(n))
			r.tally.packets++
			return frame, nil
		}
	}
}

// letIn reports whether clients are served. One that comes in the middle of an election waits for its end for a
// moment. If it has gone elsewhere meanwhile, it is not to have its session here.
func (r *reader) letIn() bool {
	s := r.srv
	if s.Doors.IsOpen() || r.c.inside() && s.Doors.InService() {
		return s.MayAnswer()
	}
	if _, draining := s.Draining(); draining {
		return false
	}
	s.Metrics.ConnectWaits.Inc()
	return s.Doors.Await(s.Config.ConnectWait) && s.MayAnswer() && !hungUp(r.c.raw)
}

// connect begins or resumes a session and waits until it is established.
func (r *reader) connect(frame []byte) error {
	r.received = r.srv.Clock.Now()
	var req proto.ConnectRequest
	if err := req.ReadFrom(frame); err != nil {
		return errBadConnect
	}
	if !r.c.inside() && r.srv.drained.Load() != nil {
		r.srv.Metrics.Refuse(env.RefusedByDrain)
		return errDraining
	}
	r.srv.Metrics.Connect(r.srv.Throttle.Deficit())
	if !r.srv.Throttle.Take(req.SessionID == 0) {
		r.srv.Metrics.Refuse(env.RefusedByRate)
		return errNoTokens
	}
	if req.LastZxidSeen > r.srv.host.Position() {
		r.srv.Metrics.Refuse(env.RefusedAhead)
		return errClientAhead
	}
	timeout := r.srv.clampTimeout(req.TimeOut)
	if r.srv.ReadOnly.Load() && !req.ReadOnly {
		r.srv.Metrics.Refuse(env.RefusedReadOnly)
		return errReadOnly
	}
	r.c.knowsReadOnly, r.c.extensions = req.HasReadOnly, req.Extensions&proto.ExtensionOutcomes
	local := r.srv.Config.Distributed() && (r.srv.Config.LocalSessionsEnabled || r.srv.ReadOnly.Load())
	var err error
	switch {
	case req.SessionID != 0:
		err = r.resume(&req, timeout)
	case !local && r.srv.Guard.Full() && r.srv.LogStalled.Load() != 0:
		r.srv.Metrics.Refuse(env.RefusedByDisk)
		err = errDiskFull
	default:
		for err == nil && r.c.Session.Load() == nil {
			err = r.begin(timeout, local)
		}
	}
	if err == nil {
		r.account()
	}
	return err
}

// begin begins a session, which this server may keep to itself. It returns nil without one if the leader was lost
// before it was known whether that session exists: nobody uses it, so another one may be begun when there is a leader
// again.
func (r *reader) begin(timeoutMs int32, local bool) error {
	s := r.srv.Tracker.Create(timeoutMs, r.c, r.received)
	switch {
	case s == nil:
		return errNoIDs
	case local:
		r.srv.Tracker.MakeLocal(s)
		r.c.Resumed(s, nil, timeoutMs, false)
		return nil
	}
	var body [4]byte
	binary.BigEndian.PutUint32(body[:], uint32(timeoutMs))
	w := r.srv.NewBatch(r.received, flow.Request{Client: r.c, Session: s, Op: proto.OpCreateSession}, body[:])
	r.srv.InProcess.Add(1)
	if !r.srv.host.Submit(w) {
		return errNotServing
	}
	// The applier sets the session when the txn is applied, and sends the reply. Until then the input behind the
	// ConnectRequest stays in the buffer.
	_ = r.c.nc.SetReadDeadline(time.Time{})
	if !r.wait(func() bool { return r.c.Session.Load() != nil || r.c.mu.reader.orphaned }) {
		return io.EOF
	}
	if r.c.Session.Load() != nil {
		return nil
	}
	return r.asksAgain()
}

// Unanswered implements flow.Client.
func (c *Conn) Unanswered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.reader.orphaned = true
	c.wakeReader()
}

// asksAgain waits, after Unanswered, until there is another leader.
func (r *reader) asksAgain() error {
	r.c.mu.Lock()
	r.c.mu.reader.orphaned = false
	r.c.mu.Unlock()
	if r.c.generation.Load() == r.srv.host.Generation() || !r.letIn() || hungUp(r.c.raw) {
		return errNotServing
	}
	r.c.generation.Store(r.srv.host.Generation())
	r.received = r.srv.Clock.Now()
	return nil
}

// resume answers a request for an existing session. It checks the password before it touches the connection that
// serves the session now, so that a wrong password harms no other client.
func (r *reader) resume(req *proto.ConnectRequest, timeoutMs int32) error {
	r.srv.Metrics.RevalidateCount.Inc()
	settled := true
	if !r.srv.secrets.Accepts(req.SessionID, req.Password) {
		r.c.Resumed(nil, nil, 0, false)
	} else if s, old := r.srv.Tracker.ResumeLocal(req.SessionID, timeoutMs, r.c, r.received); s != nil {
		r.c.Resumed(s, old, timeoutMs, false)
	} else {
		settled = false
	}
	for p := &r.c.mu.reader; !settled; {
		r.srv.host.Resume(&flow.Resumption{Client: r.c, ID: req.SessionID, TimeoutMs: timeoutMs, Received: r.received})
		if !r.wait(func() bool { settled = p.settled; return settled || p.orphaned }) {
			return io.EOF
		}
		if !settled {
			if err := r.asksAgain(); err != nil {
				return err
			}
		}
	}
	r.ended = r.c.Session.Load() == nil
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
	if c.mu.out.open() {
		c.mu.out.buf = appendConnectResponse(c.mu.out.buf, &resp)
		c.mu.stats.Sent++
		c.mu.out.closing = s == nil
	}
	c.mu.reader.settled = true
	c.wakeReader()
	c.mu.Unlock()
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
