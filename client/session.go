package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// session keeps one session alive over many connections, and after its expiry a new one if renewal is on. One
// goroutine, run, owns the fields up to mu; it is also the reader of the connection.
type session struct {
	cfg            *config
	watches        *watchSet
	hosts          *hosts
	connectTimeout time.Duration
	rebuild        func(ctx context.Context) // WithRenewal, bound to the client; may be nil

	id       SessionID
	password [proto.PasswordSize]byte
	timeout  time.Duration
	seenRW   bool // a server with quorum made the session, so it can be resumed
	// xid is that of the last call of earlier connections. Connections go on with it, as those of Java, so that two
	// operations of a session have different ids in traces.
	xid      int32
	kept     []*call   // that were not answered on earlier connections; see outcomes.go
	asked    time.Time // when their outcomes were asked for first; zero if they were not
	renewing context.CancelFunc
	helpers  sync.WaitGroup // goroutines of a session: rebuild, search for a server with quorum

	zxid atomic.Int64 // newest zxid seen in a reply; written by the reader
	// told is the newest zxid seen in an event; written by the reader. The next server must have it, too. But
	// watches are set again from zxid on: an event at told does not show whether other events of the same txn
	// have arrived.
	told atomic.Int64
	// floor is the newest zxid in the answer to a ping, or of a server that has granted an extension; written by the
	// reader.
	floor atomic.Int64
	now   atomic.Pointer[standing]
	// better is a server with quorum, found while connected to one without; written by seekQuorum.
	better atomic.Pointer[string]
	// excuse is why the last server that was tried did not accept the session; written by run.
	excuse atomic.Pointer[error]

	mu          sync.Mutex
	credentials []credential // repeated on every connection
	lostTimer   *time.Timer
}

// lastZxid returns the zxid that a server must have to serve the session.
func (s *session) lastZxid() Zxid { return Zxid(max(s.zxid.Load(), s.told.Load())) }

// publish makes a new standing, unless the last one is final. REQUIRES: mu is not held.
func (s *session) publish(next standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publishLocked(next)
}

func (s *session) publishLocked(next standing) bool {
	last := s.now.Load()
	if last.final != nil {
		return false
	}
	next.At = time.Now()
	next.changed = make(chan struct{})
	last.next = &next
	s.now.Store(&next)
	close(last.changed)
	level := s.cfg.log.Info
	if next.Err != nil {
		level = s.cfg.log.Warn
	}
	level("session state changed", "state", next.State.String(), "session_id", next.SessionID.String(), "server",
		next.Server, "error", next.Err)
	if s.cfg.hooks.State != nil {
		s.cfg.hooks.State(next.StateChange)
	}
	return true
}

// run is the main loop of the client: connect, serve, and again, until ctx ends, the session expires or its
// credentials are refused.
func (s *session) run(ctx context.Context) {
	defer s.helpers.Wait()
	defer s.giveUp(ErrConnectionLoss)
	limit := s.cfg.backoffMin
	for session := 1; s.now.Load().final == nil; {
		g, err := s.connect(ctx)
		var refused *authError
		switch {
		case err == nil:
			began := time.Now()
			err = s.serve(ctx, g, session)
			if errors.As(err, &refused) {
				s.end(AuthFailed, refused)
				return
			}
			// The clients of a dead server do not connect to the next one all at once, and a server that cuts
			// connections as soon as it has them is not tried faster and faster. A connection that lasted ten
			// times as long as the pause before it resets the pause: a rolling restart of servers costs their
			// clients little.
			if lived := time.Since(began); lived > min(10*limit, s.timeout/3, s.cfg.backoffMax) {
				limit = s.cfg.backoffMin
			} else {
				limit = min(2*limit, s.cfg.backoffMax)
			}
			_ = pause(ctx, limit)
		case errors.Is(err, errRejected):
			if !s.expire(session) {
				return
			}
			session++
		case errors.As(err, &refused):
			s.end(AuthFailed, refused)
			return
		default:
			s.end(Closed, ErrClosed)
			return
		}
	}
}

// connect tries servers until one accepts the session. It returns errRejected, an authError, or the error of ctx.
func (s *session) connect(ctx context.Context) (*greeted, error) {
	s.hosts.begin()
	for began := time.Now(); ; {
		e, isLast, err := s.hosts.pick(ctx)
		var g *greeted
		if err == nil {
			g, err = s.greet(ctx, e)
		}
		var refused *authError
		switch {
		case err == nil:
			return g, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errRejected), errors.As(err, &refused):
			return nil, err
		}
		s.cfg.log.Debug("server did not accept the session", "server", e.addr, "error", err)
		s.excuse.Store(&err)
		if !isLast {
			continue
		}
		// The longer the search has taken, the longer it may still take. So the client waits little longer than
		// the servers are away, and does not retry often.
		limit := min(max(time.Since(began)/2, s.cfg.backoffMin), s.cfg.backoffMax)
		if err := pause(ctx, limit); err != nil {
			return nil, err
		}
	}
}

// pause waits for a random time of at most limit.
func pause(ctx context.Context, limit time.Duration) error {
	if limit <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(rand.N(limit) + 1):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve runs one connection to its end and returns the reason of the end.
func (s *session) serve(ctx context.Context, g *greeted, session int) error {
	s.timeout = time.Duration(g.resp.TimeOut) * time.Millisecond
	s.password = g.resp.Password
	s.seenRW = s.seenRW || !g.resp.ReadOnly
	cn := newConn(g.nc, g.in, g.addr, g.began, s.timeout, s.cfg)
	cn.watches, cn.zxid, cn.told, cn.onAuth = s.watches, &s.zxid, &s.told, s.authReply
	cn.floor = &s.floor
	s.floor.Store(max(s.floor.Load(), int64(g.resp.Zxid)))
	cn.session, cn.password, cn.xid = g.resp.SessionID, s.password, s.xid
	_ = cn.moveDeadline(time.Now(), 0) // a server may be silent from the start; the reader moves the deadline

	s.mu.Lock()
	for _, c := range s.credentials {
		if err := cn.pushAuth(&authCall{credential: c}); err != nil {
			cn.fail(&authError{err})
		}
	}
	s.mu.Unlock()
	rearm, n := s.watches.rearm(Zxid(s.zxid.Load()), s.cfg.requestMax)
	cn.rearming = n
	cn.queue(rearm)
	if err := s.goOn(cn, g); err != nil {
		cn.fail(err)
	}

	state := Connected
	if g.resp.ReadOnly {
		state = ConnectedReadOnly
	}
	id := g.resp.SessionID
	isNew := id != s.id
	s.id = id
	s.connected(cn, standing{StateChange: StateChange{State: state, SessionID: id, Timeout: s.timeout, Server: g.addr},
		session: session, conn: cn, contact: cn.contact})
	s.watches.connected()
	if s.cfg.source == nil {
		s.hosts.names.refresh(s.hosts.servers)
	}
	if isNew && session > 1 && s.rebuild != nil {
		s.renew(ctx)
	}
	if state == ConnectedReadOnly {
		servers := s.hosts.servers
		s.helpers.Go(func() { s.seekQuorum(ctx, cn, servers) })
	}
	stop := context.AfterFunc(ctx, func() { cn.fail(ErrClosed) })
	err := cn.run()
	stop()
	s.xid, s.kept, s.asked = cn.lastXid(), cn.left, time.Time{}
	if better := s.better.Swap(nil); better != nil {
		s.hosts.front = *better
	}
	s.disconnected(cn, session, err)
	return err
}

func (s *session) connected(cn *conn, st standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lostTimer != nil {
		s.lostTimer.Stop()
		s.lostTimer = nil
	}
	if !s.publishLocked(st) {
		cn.fail(ErrClosed) // Close came first and saw no connection
	}
}

// disconnected publishes Disconnected, and Lost if no server is found in time.
func (s *session) disconnected(cn *conn, session int, err error) {
	if !s.seenRW {
		// A session of a read-only server cannot be resumed elsewhere.
		s.id, s.password = 0, [proto.PasswordSize]byte{}
		s.giveUp(ErrConnectionLoss)
	}
	silence, timeout := cn.contact.silence(), s.timeout
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load().StateChange
	st := standing{StateChange: StateChange{State: Disconnected, SessionID: old.SessionID, Timeout: timeout, Err: err},
		session: session, contact: cn.contact}
	if !s.publishLocked(st) {
		return
	}
	here := s.now.Load()
	s.lostTimer = time.AfterFunc(max(timeout-silence, 0), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.now.Load() != here {
			return
		}
		lost := st
		lost.State, lost.Err = Lost, fmt.Errorf("client: no server is certain to have heard from session %v for %v",
			old.SessionID, timeout)
		s.publishLocked(lost)
	})
}

// expire ends the session for good and reports whether the client makes a new one.
func (s *session) expire(session int) bool {
	id := s.id
	s.id, s.password, s.seenRW = 0, [proto.PasswordSize]byte{}, false
	if s.renewing != nil {
		s.renewing()
	}
	s.giveUp(ErrSessionExpired)
	s.floor.Store(0)
	// What begins from now on belongs to the next session.
	st := standing{StateChange: StateChange{State: Expired, SessionID: id, Err: ErrSessionExpired},
		session: session + 1}
	if s.rebuild == nil {
		st.final = ErrSessionExpired
		s.publish(st)
		s.watches.close(ErrSessionExpired)
		return false
	}
	s.publish(st)
	s.watches.sessionLost(ErrSessionExpired)
	s.publish(standing{StateChange: StateChange{State: Connecting}, session: session + 1})
	return true
}

// renew calls rebuild in a goroutine that ends with the new session.
func (s *session) renew(ctx context.Context) {
	if s.renewing != nil {
		s.renewing() // of the session of a server without quorum
	}
	ctx, cancel := context.WithCancel(ctx)
	s.renewing = cancel
	s.helpers.Go(func() {
		defer cancel()
		s.rebuild(ctx)
	})
}

// end publishes the last standing and ends all watches.
func (s *session) end(state State, err error) {
	old := s.now.Load()
	if s.renewing != nil {
		s.renewing()
	}
	st := standing{StateChange: StateChange{State: state, SessionID: old.SessionID, Timeout: old.Timeout, Err: err},
		session: old.session, final: err}
	if state == AuthFailed {
		st.final = fmt.Errorf("%w: %w", ErrAuthFailed, err)
	}
	s.mu.Lock()
	if s.lostTimer != nil {
		s.lostTimer.Stop()
	}
	s.publishLocked(st)
	final := s.now.Load().final
	s.mu.Unlock()
	s.watches.close(final)
}

// authReply is called by the reader for every answer to an auth packet. A refusal of credentials that are options
// of the client is final.
func (s *session) authReply(a *authCall, code proto.ErrCode) error {
	if a.done == nil {
		if code == proto.OK {
			return nil
		}
		return &authError{fmt.Errorf("client: scheme %s: %w", a.scheme, code)}
	}
	if code != proto.OK {
		a.done <- code
		return nil
	}
	s.mu.Lock()
	if !slices.ContainsFunc(s.credentials, a.equal) {
		s.credentials = append(s.credentials, a.credential)
	}
	s.mu.Unlock()
	a.done <- nil
	return nil
}
