package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
)

// closeWait bounds how long Close waits for the server to end the session.
const closeWait = time.Second

// Client is one session with an ensemble, over successive connections. All methods may be called concurrently.
type Client struct {
	cfg     config
	chroot  string
	watches *watchSet
	s       *session
	cancel  context.CancelFunc
	calls   sync.Pool // of *call
	running sync.WaitGroup
	closing sync.Once
	life    func() context.Context // ends with the client; for work that outlives the caller
}

// New returns a client that connects in the background. The connect string is ZooKeeper's:
// "host:port,host:port/chroot", in which a missing port is 2181, or "dns-srv://name/chroot", in which the SRV records
// of the name are the servers (ZooKeeper 3.10; WithSRVResolver). Operations wait for the first connection as long as
// their context allows. The client must be closed.
func New(connect string, options ...Option) (*Client, error) {
	to, err := parseConnect(connect)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: defaultConfig(), chroot: to.chroot}
	for _, o := range options {
		o(&c.cfg)
	}
	if err := c.cfg.validate(); err != nil {
		return nil, err
	}
	if to.service != "" && c.cfg.source != nil {
		return nil, fmt.Errorf("client: %s and WithServerSource both say which servers to try", connect)
	}
	c.watches = newWatchSet(c.chroot)
	c.watches.remove, c.watches.onFire = c.removeQuietly, c.cfg.hooks.Event
	s := &session{cfg: &c.cfg, watches: c.watches, connectTimeout: c.cfg.connectTimeout,
		credentials: append([]credential(nil), c.cfg.credentials...)}
	if s.connectTimeout == 0 {
		servers := len(to.servers)
		if to.service != "" {
			servers = srvServers
		}
		s.connectTimeout = max(c.cfg.sessionTimeout/time.Duration(servers), time.Second)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.hosts = newHosts(to.servers, newNames(ctx, c.cfg.resolve), s.connectTimeout)
	s.hosts.source, s.hosts.service, s.hosts.records = c.cfg.source, to.service, newRecords(ctx, c.cfg.srv)
	if c.cfg.renew != nil {
		s.rebuild = func(ctx context.Context) {
			if err := c.cfg.renew(ctx, c); err != nil {
				c.cfg.log.Error("renewal of the session failed", "error", err)
			}
		}
	}
	first := &standing{StateChange: StateChange{State: Connecting, At: time.Now()}, session: 1,
		changed: make(chan struct{})}
	if r := c.cfg.resume; r != nil {
		s.id, s.password, s.seenRW = r.SessionID, r.Password, r.SessionID != 0
		s.zxid.Store(int64(r.Zxid))
		first.SessionID = r.SessionID
	}
	s.now.Store(first)
	c.s = s
	c.cancel = cancel
	c.life = func() context.Context { return ctx }
	c.running.Go(func() { s.run(ctx) })
	return c, nil
}

// Dial is New followed by WaitConnected. Without a connection there is no client. If ctx ends, the error also
// says why the last server that was tried did not accept the session.
func Dial(ctx context.Context, connect string, options ...Option) (*Client, error) {
	c, err := New(connect, options...)
	if err != nil {
		return nil, err
	}
	if err := c.WaitConnected(ctx); err != nil {
		c.stop(false)
		if excuse := c.s.excuse.Load(); excuse != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w, since %w", err, *excuse)
		}
		return nil, &Error{Op: "connect", Path: connect, Err: err}
	}
	return c, nil
}

// Close ends the session, so that its ephemerals are deleted, and returns when no goroutine of the client runs
// any more. It waits up to a second for the server; an error says that the session may live until its timeout.
// The second Close does nothing.
func (c *Client) Close() error { return c.stop(true) }

// Detach closes the client but keeps the session for another client that resumes it in time (WithResume).
func (c *Client) Detach() Resume {
	_ = c.stop(false)
	return Resume{SessionID: c.s.id, Password: c.s.password, Zxid: c.LastZxid()}
}

func (c *Client) stop(endSession bool) (err error) {
	c.closing.Do(func() {
		c.s.mu.Lock()
		old := c.s.now.Load()
		c.s.publishLocked(standing{
			StateChange: StateChange{State: Closed, SessionID: old.SessionID, Timeout: old.Timeout},
			session:     old.session, final: ErrClosed,
		})
		c.s.mu.Unlock()
		if endSession {
			err = c.endSession(old)
		}
		c.cancel()
		c.running.Wait()
		c.watches.close(ErrClosed)
	})
	return err
}

// endSession sends closeSession over the last connection.
func (c *Client) endSession(old *standing) error {
	fail := func(err error) error { return &Error{Op: "closeSession", MayHaveApplied: true, Err: err} }
	switch {
	case old.SessionID == 0 || old.final != nil:
		return nil
	case old.conn == nil:
		return fail(ErrConnectionLoss)
	}
	cl := c.newCall(proto.OpCloseSession, "")
	cl.chroot = ""
	if _, err := old.conn.push(cl); err != nil {
		cl.release()
		return fail(ErrConnectionLoss)
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	_, err := c.wait(ctx, cl, "")
	if err == nil {
		cl.release()
	}
	return err
}

// start runs work that outlives its caller; Close waits for it. It returns false on a client that has ended. The
// session goroutine is counted until final is set, so that the count cannot rise again after Close has seen it
// fall to zero.
func (c *Client) start(work func(ctx context.Context)) bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.now.Load().final != nil {
		return false
	}
	c.running.Go(func() { work(c.life()) })
	return true
}

// Session returns the id and the negotiated timeout of the session; both are 0 before the first connection.
func (c *Client) Session() (SessionID, time.Duration) {
	st := c.State()
	return st.SessionID, st.Timeout
}

// LastZxid returns the newest zxid that the session has seen, in a reply or in an event.
func (c *Client) LastZxid() Zxid { return c.s.lastZxid() }

// AddAuth adds an identity to the session, on this connection and all that follow. ErrAuthFailed means that the
// server refused it; the server also ends the connection then, but not the session.
func (c *Client) AddAuth(ctx context.Context, scheme string, auth []byte) error {
	fail := func(err error) error { return &Error{Op: proto.OpAuth.String(), Path: scheme, Err: err} }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	for st := range c.s.standings(ctx) {
		switch {
		case st.final != nil:
			return fail(st.final)
		case st.conn == nil:
			continue
		}
		a := &authCall{credential: credential{scheme, append([]byte{}, auth...)}, done: make(chan error, 1)}
		switch err := st.conn.pushAuth(a); {
		case err == nil:
			select {
			case err := <-a.done:
				if err != nil {
					return fail(err)
				}
				return nil
			case <-ctx.Done():
				return fail(ctx.Err())
			}
		case errors.Is(err, ErrTooLarge):
			return fail(err)
		}
	}
	return fail(ctx.Err())
}

// do runs one operation to its end. If it returns nil the caller reads the results and releases the call; after
// an error the call must not be used.
func (c *Client) do(ctx context.Context, cl *call) error {
	if c.cfg.hooks.isOn() {
		return c.doHooked(ctx, cl)
	}
	path := cl.path
	if err := c.send(ctx, cl); err != nil {
		return err
	}
	_, err := c.wait(ctx, cl, path)
	return err
}

func (c *Client) doHooked(ctx context.Context, cl *call) error {
	op, path := cl.op.String(), cl.path
	if c.cfg.hooks.Start != nil {
		ctx = c.cfg.hooks.Start(ctx, op, path)
	}
	began := time.Now()
	r := OpResult{Op: op, Path: path}
	err := c.send(ctx, cl)
	if err == nil {
		r.xid, r.on = cl.xid, cl.on
		r.Zxid, err = c.wait(ctx, cl, path)
	}
	if c.cfg.hooks.End != nil {
		r.Took, r.Err = time.Since(began), err
		if err == nil && cl.refusal != nil {
			r.Err = cl.refusal(cl.body)
		}
		c.cfg.hooks.End(ctx, r)
	}
	return err
}

// send pushes a call on the connection. It waits for a connection, and for room on it, as long as ctx allows.
// After an error the call must not be used.
func (c *Client) send(ctx context.Context, cl *call) error {
	st := c.s.now.Load()
	err := ctx.Err()
	for session := st.session; err == nil; {
		switch {
		case st.final != nil:
			err = st.final
			continue
		case st.session != session:
			err = ErrSessionExpired
			continue
		}
		var room <-chan struct{}
		if st.conn != nil {
			var refused error
			if room, refused = st.conn.push(cl); room == nil && refused == nil {
				return nil
			} else if errors.Is(refused, ErrTooLarge) {
				err = refused
				continue
			}
		}
		select {
		case <-room: // of the connection, alive or not
		case <-st.changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		st = c.s.now.Load()
	}
	failed := &Error{Op: cl.op.String(), Path: cl.path, Err: err}
	if cl.watch != nil {
		c.watches.drop(cl.watch, false)
	}
	cl.release()
	return failed
}

// wait waits for the reply of a pushed call. do documents the owner of the call afterwards.
func (c *Client) wait(ctx context.Context, cl *call, path string) (Zxid, error) {
	op := cl.op
	select {
	case <-cl.done:
	case <-ctx.Done():
		if cl.abandon() {
			return 0, &Error{Op: op.String(), Path: path, MayHaveApplied: op.IsWrite(), Err: ctx.Err()}
		}
		<-cl.done
	}
	if cl.err == nil {
		return cl.zxid, nil
	}
	zxid, err := cl.zxid, &Error{Op: op.String(), Path: path, MayHaveApplied: cl.mayHave, Err: cl.err}
	cl.release()
	return zxid, err
}

// invalid makes the error of a request that is not sent.
func invalid(op proto.OpCode, path string, err error) error {
	return &Error{Op: op.String(), Path: path, Err: err}
}
