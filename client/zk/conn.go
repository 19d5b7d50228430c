package zk

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/client"
)

// Conn is a session with an ensemble, and the session after it when it expires. All methods may be called
// concurrently.
//
// Operations wait for a connection until all servers were tried without success (ErrNoServer). When a connection
// is lost, operations in flight fail with ErrConnectionClosed, and a write may have been applied. An error about
// a znode comes with a Stat that is zero, not nil.
type Conn struct {
	client   *client.Client
	dialer   Dialer // nil for net.Dialer
	hosts    HostProvider
	callback EventCallback
	events   *eventStream

	logInfo    bool
	replyMax   int
	requestMax int

	logger   atomic.Pointer[Logger]
	server   atomic.Pointer[string]
	session  atomic.Int64
	patience atomic.Pointer[patience]
	closing  sync.Once

	mu     sync.Mutex // orders the events of the session as its states
	state  atomic.Int32
	isOver bool // Close has set the last state
}

// patience bounds how long operations wait for a connection: until all servers were tried once more.
type patience struct {
	ctx    context.Context
	giveUp context.CancelFunc
}

// renewPatience fails all waiting operations.
func (c *Conn) renewPatience() {
	ctx, cancel := context.WithCancel(context.Background())
	if old := c.patience.Swap(&patience{ctx, cancel}); old != nil {
		old.giveUp()
	}
}

// wait returns the context of an operation that begins now.
func (c *Conn) wait() context.Context { return c.patience.Load().ctx }

// Client returns the underlying client, which may be used beside the Conn, but must not be closed. It is not part
// of go-zookeeper's API.
func (c *Conn) Client() *client.Client { return c.client }

// Close ends the session, so that its ephemerals are deleted, waits up to a second for the server, and returns
// when the connection is closed. The channel of events is closed after the last one. The second Close does
// nothing.
func (c *Conn) Close() {
	c.closing.Do(func() {
		if err := c.client.Close(); err != nil {
			c.logf("zk: the session may live until its timeout: %v", err)
		}
		c.events.end()
	})
}

// State returns the state of the connection.
func (c *Conn) State() State { return State(c.state.Load()) }

// SessionID returns the id of the session, 0 if there is none.
func (c *Conn) SessionID() int64 { return c.session.Load() }

// Server returns the address that was dialled last.
func (c *Conn) Server() string {
	if s := c.server.Load(); s != nil {
		return *s
	}
	return ""
}

// SetLogger replaces the logger; nil logs nothing.
func (c *Conn) SetLogger(l Logger) { c.logger.Store(&l) }

func (c *Conn) logf(format string, args ...any) {
	if l := *c.logger.Load(); l != nil {
		l.Printf(format, args...)
	}
}

// setState publishes a state. A closed Conn publishes no state after its last one.
func (c *Conn) setState(s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setStateLocked(s)
}

func (c *Conn) setStateLocked(s State) {
	if c.isOver || s == StateDisconnected && c.State() == StateDisconnected {
		return
	}
	c.state.Store(int32(s))
	c.events.emit(Event{Type: EventSession, State: s, Server: c.Server()})
}

// stateChanged is the client's hook.
func (c *Conn) stateChanged(s client.StateChange) {
	switch s.State {
	case client.Connected, client.ConnectedReadOnly:
		c.session.Store(int64(s.SessionID))
		c.hosts.Connected()
		c.setState(StateHasSession)
		if c.logInfo {
			c.logf("zk: session %v with a timeout of %v", s.SessionID, s.Timeout)
		}
	case client.Disconnected:
		c.logf("zk: connection lost: %v", s.Err)
		c.setState(StateDisconnected)
	case client.Expired:
		c.logf("zk: session %v has expired", s.SessionID)
		c.session.Store(0)
		c.setState(StateExpired)
	case client.Connecting: // the next session
		c.setState(StateDisconnected)
	case client.AuthFailed:
		c.logf("zk: the credentials were refused: %v", s.Err)
		c.setState(StateAuthFailed)
	case client.Closed:
		c.mu.Lock()
		c.setStateLocked(StateDisconnected)
		c.isOver = true
		c.mu.Unlock()
	}
}

// AddAuth adds an identity to the session, on this connection and all that follow.
func (c *Conn) AddAuth(scheme string, auth []byte) error {
	return failure(c.client.AddAuth(c.wait(), scheme, auth))
}
