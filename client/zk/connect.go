package zk

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"github.com/seed94657493/warren/client"
)

const (
	dialTimeout     = time.Second       // given to the Dialer
	passPause       = time.Second       // after all servers were tried without success
	requestMax      = 1536<<10 - 4      // bytes of a request, its length left out
	requestMaxLeast = 1024              // smallest value for WithMaxConnBufferSize
	source          = "host-provider:1" // stands for the connect string, which a Conn does not have
)

// Dialer makes a connection to one address, within a timeout.
type Dialer func(network, address string, timeout time.Duration) (net.Conn, error)

// Logger receives the log messages of a Conn.
type Logger interface {
	Printf(string, ...interface{})
}

// DefaultLogger writes to the logger of package log.
var DefaultLogger Logger = log.Default()

type connOption func(c *Conn)

// WithDialer replaces net.DialTimeout, for TLS or a proxy.
func WithDialer(dialer Dialer) connOption { return func(c *Conn) { c.dialer = dialer } }

// WithHostProvider replaces the DNSHostProvider that chooses the servers to dial.
func WithHostProvider(hostProvider HostProvider) connOption {
	return func(c *Conn) { c.hosts = hostProvider }
}

// WithLogger replaces DefaultLogger.
func WithLogger(logger Logger) connOption { return func(c *Conn) { c.SetLogger(logger) } }

// WithLogInfo sets whether normal events are logged too; the default is true.
func WithLogInfo(logInfo bool) connOption { return func(c *Conn) { c.logInfo = logInfo } }

// WithEventCallback makes the Conn call cb with every event before the event is in the channel of Connect. One
// goroutine calls it and does nothing else.
func WithEventCallback(cb EventCallback) connOption { return func(c *Conn) { c.callback = cb } }

// WithMaxBufferSize sets the largest reply in bytes; a larger one ends the connection. 0 or less means no limit, which
// is the default.
func WithMaxBufferSize(maxBufferSize int) connOption {
	return func(c *Conn) { c.replyMax = maxBufferSize }
}

// WithMaxConnBufferSize sets the largest request in bytes, overriding the default 1.5 MiB. A larger one is
// refused with ErrShortBuffer. It should be the servers' jute.maxbuffer, which is less by default: a server cuts
// the connection when a request is larger.
func WithMaxConnBufferSize(maxBufferSize int) connOption {
	return func(c *Conn) { c.requestMax = max(maxBufferSize-4, requestMaxLeast) }
}

// Connect returns a Conn that connects in the background to one of the servers, "host:port" or "host", and the
// channel of its events, which need not be received. The session survives a loss of the connection shorter than
// sessionTimeout, as the server clamps it; a session that expires is followed by a new one. An error means that
// no server's name can be resolved, or that the arguments are invalid.
func Connect(servers []string, sessionTimeout time.Duration, options ...connOption) (*Conn, <-chan Event, error) {
	if len(servers) == 0 {
		return nil, nil, errors.New("zk: server list must not be empty")
	}
	c := &Conn{hosts: NewDNSHostProvider(), logInfo: true, requestMax: requestMax}
	c.SetLogger(DefaultLogger)
	for _, o := range options {
		o(c)
	}
	shuffled := FormatServers(servers)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if err := c.hosts.Init(shuffled); err != nil {
		return nil, nil, err
	}
	if err := c.start(sessionTimeout); err != nil {
		return nil, nil, err
	}
	return c, c.events.ch, nil
}

// ConnectWithDialer is Connect with the option WithDialer.
func ConnectWithDialer(servers []string, sessionTimeout time.Duration, dialer Dialer) (*Conn, <-chan Event, error) {
	return Connect(servers, sessionTimeout, WithDialer(dialer))
}

func (c *Conn) start(sessionTimeout time.Duration) error {
	if c.replyMax <= 0 {
		c.replyMax = math.MaxInt32
	}
	c.events = newEventStream(c.callback, func() {
		c.logf("zk: events are not received: %d wait, and more are dropped", eventsMax)
	})
	c.renewPatience()
	cl, err := client.New(source,
		client.WithSessionTimeout(sessionTimeout),
		client.WithConnectTimeout(max(2*dialTimeout, sessionTimeout)),
		client.WithMaxReply(max(c.replyMax, requestMaxLeast)),
		client.WithMaxRequest(c.requestMax),
		client.WithRenewal(nil),
		client.WithoutOutcomes(), // calls have no context: they must end when their connection does
		client.WithHooks(client.Hooks{State: c.stateChanged,
			Event: func(e client.Event) { c.events.emit(eventOf(e)) }}),
		client.WithDialer(c.dial),
		client.WithServerSource(c.nextServer),
	)
	if err != nil {
		c.events.end()
		return fmt.Errorf("zk: connect: %w", err)
	}
	c.client = cl
	return nil
}

// nextServer returns the address of the next dial. Operations that wait for a connection fail when all servers
// have been tried.
func (c *Conn) nextServer(ctx context.Context) (string, error) {
	var server string
	var isOver bool
	if hosts, ok := c.hosts.(*DNSHostProvider); ok {
		server, isOver = hosts.next(ctx)
	} else {
		server, isOver = c.hosts.Next()
	}
	if c.State() == StateConnected {
		c.logf("zk: %s did not accept the session", c.Server())
		c.setState(StateDisconnected)
	}
	c.server.Store(&server)
	c.setState(StateConnecting)
	if isOver {
		c.renewPatience()
		select {
		case <-time.After(passPause):
		case <-ctx.Done():
		}
	}
	return server, ctx.Err()
}

// dial is the client's dialer.
func (c *Conn) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := c.dialWithin(ctx, network, addr)
	if err != nil {
		c.logf("zk: failed to connect to %s: %v", addr, err)
		return nil, err
	}
	c.setState(StateConnected)
	if c.logInfo {
		c.logf("zk: connected to %s", addr)
	}
	return nc, nil
}

// dialWithin calls the Dialer, which has no context, in a goroutine that continues alone if ctx ends first.
func (c *Conn) dialWithin(ctx context.Context, network, addr string) (net.Conn, error) {
	if c.dialer == nil {
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
	}
	type outcome struct {
		nc  net.Conn
		err error
	}
	made := make(chan outcome)
	go func() {
		nc, err := c.dialer(network, addr, dialTimeout)
		select {
		case made <- outcome{nc, err}:
		case <-ctx.Done():
			if err == nil {
				_ = nc.Close()
			}
		}
	}()
	select {
	case o := <-made:
		return o.nc, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
