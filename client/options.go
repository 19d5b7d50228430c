package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Option changes how a client works.
type Option func(*config)

type credential struct {
	scheme string
	auth   []byte
}

func (c credential) equal(d credential) bool {
	return c.scheme == d.scheme && bytes.Equal(c.auth, d.auth)
}

type config struct {
	sessionTimeout time.Duration
	connectTimeout time.Duration
	backoffMin     time.Duration
	backoffMax     time.Duration
	outstandingMax int
	requestMax     int
	replyMax       int
	watchQueue     int
	readOnly       bool
	extensions     int32
	dial           func(ctx context.Context, network, addr string) (net.Conn, error)
	resolve        func(ctx context.Context, host string) ([]string, error)
	srv            func(ctx context.Context, name string) ([]*net.SRV, error)
	source         func(ctx context.Context) (addr string, err error)
	tls            *tls.Config
	credentials    []credential
	sasl           SASL
	renew          func(ctx context.Context, c *Client) error
	resume         *Resume
	log            *slog.Logger
	hooks          Hooks
}

func defaultConfig() config {
	return config{
		sessionTimeout: 10 * time.Second,
		backoffMin:     20 * time.Millisecond,
		backoffMax:     time.Second,
		outstandingMax: 16384,
		requestMax:     proto.DefaultMaxBuffer,
		replyMax:       64 << 20,
		watchQueue:     256,
		dial:           (&net.Dialer{}).DialContext,
		extensions:     proto.ExtensionOutcomes,
		resolve:        lookUp,
		srv:            lookUpSRV,
		log:            slog.New(slog.DiscardHandler),
	}
}

func (c *config) validate() error {
	for _, rule := range []struct {
		ok   bool
		text string
	}{
		{c.sessionTimeout >= time.Millisecond, "session timeout must be at least 1 ms"},
		{c.sessionTimeout <= 1<<31*time.Millisecond-time.Millisecond,
			"session timeout must fit 31 bits of milliseconds"},
		{c.connectTimeout >= 0, "connect timeout must not be negative"},
		{c.backoffMin >= 0 && c.backoffMin <= c.backoffMax, "backoff must grow from a minimum to a maximum"},
		{c.outstandingMax >= 1, "at least one request must be allowed outstanding"},
		{c.requestMax >= 1024, "requests of 1024 bytes must be allowed"},
		{c.replyMax >= 1024, "replies of 1024 bytes must be allowed"},
		{c.watchQueue >= 1 && c.watchQueue <= 1<<30,
			"a watch must be able to hold one event, and at most a thousand million"},
		{c.dial != nil && c.srv != nil && c.log != nil, "dialer, resolver of SRV records and logger must not be nil"},
	} {
		if !rule.ok {
			return fmt.Errorf("client: %s", rule.text)
		}
	}
	return nil
}

// fits returns an error for a request that is larger than a server takes.
func (c *config) fits(size int) error {
	if size > c.requestMax {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, size, c.requestMax)
	}
	return nil
}

// WithSessionTimeout asks for a session that outlives a silence of d, overriding the default 10 s. The server
// clamps it (ZooKeeper's minSessionTimeout and maxSessionTimeout, by default 2 and 20 ticks); Client.Session
// returns the result. The client sends a heartbeat after a third of it and looks for another server after two
// thirds.
func WithSessionTimeout(d time.Duration) Option { return func(c *config) { c.sessionTimeout = d } }

// WithConnectTimeout bounds dialling and greeting one address, overriding the default: the session timeout
// divided by the number of servers (3 for a connect string "dns-srv://name"), and at least 1 s.
func WithConnectTimeout(d time.Duration) Option { return func(c *config) { c.connectTimeout = d } }

// WithBackoff sets the pause after a lost connection and between two passes over all servers, overriding 20 ms
// and 1 s: a random time up to a limit between min and max. After a lost connection the limit is min, and doubles
// while new connections are lost at once. Between two passes it is half the duration of the search so far. The
// random pauses spread the clients of a server that died.
func WithBackoff(min, max time.Duration) Option {
	return func(c *config) { c.backoffMin, c.backoffMax = min, max }
}

// WithMaxOutstanding bounds the requests that wait for an answer, overriding the default 16384. At the limit
// operations wait for room, as long as their context allows.
func WithMaxOutstanding(n int) Option { return func(c *config) { c.outstandingMax = n } }

// WithMaxRequest sets the largest request in bytes, overriding the default 1048575. It should be the servers'
// jute.maxbuffer: a server cuts the connection when a request is larger, so the client refuses it with
// ErrTooLarge.
func WithMaxRequest(n int) Option { return func(c *config) { c.requestMax = n } }

// WithMaxReply sets the largest reply in bytes, overriding the default 64 MiB. A larger one ends the connection.
func WithMaxReply(n int) Option { return func(c *config) { c.replyMax = n } }

// WithWatchQueue sets how many events a persistent watch holds for its receiver, overriding the default 256. A
// further event becomes a WatchOverflow.
func WithWatchQueue(n int) Option { return func(c *config) { c.watchQueue = n } }

// WithoutOutcomes makes calls fail with ErrConnectionLoss when their connection is lost, as with ZooKeeper servers. By
// default the client asks the servers what has become of them, and calls continue on the next connection, if all
// servers of the ensemble that matter are Warren's. Use it for servers that close a connection because of bytes after
// the ConnectRequest: ZooKeeper ignores them.
func WithoutOutcomes() Option { return func(c *config) { c.extensions = 0 } }

// WithReadOnly accepts servers that have lost their quorum and serve reads only. While connected to such a server
// the client looks for a server with quorum, and moves to it. A session that no server with quorum has seen gets
// a new id when it moves. A server without quorum does not serve a session that a quorum has made (ZooKeeper
// since 3.7), so the option is for clients that start while there is no quorum.
func WithReadOnly() Option { return func(c *config) { c.readOnly = true } }

// WithDialer replaces net.Dialer. It is passed the addresses that the resolver returned, or the names of the connect
// string if there is no resolver (WithResolver).
func WithDialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) Option {
	return func(c *config) { c.dial, c.resolve = dial, nil }
}

// WithResolver replaces the lookup of host names, which happens anew for every connection. While lookup does not
// answer, and when it fails, the addresses of its last answer are used. It is called by a goroutine of its own, with
// a context that ends with the client. Pass WithResolver after WithDialer, which turns the lookup off.
func WithResolver(lookup func(ctx context.Context, host string) ([]string, error)) Option {
	return func(c *config) { c.resolve = lookup }
}

// WithSRVResolver replaces the lookup of SRV records for a connect string "dns-srv://name": for example by LookupSRV
// of a net.Resolver that asks another name server, with an empty service and an empty proto. The records are looked up
// whenever the client looks for a server. Those with the lowest priority are tried first, equal ones in random order
// by weight. While lookup does not answer, and when it fails or returns no record, the last answer is used. It is
// called like the function of WithResolver, which resolves the targets.
func WithSRVResolver(lookup func(ctx context.Context, name string) ([]*net.SRV, error)) Option {
	return func(c *config) { c.srv = lookup }
}

// WithServerSource replaces the walk through the servers of the connect string: next is called before every dial
// and returns the address to dial. It paces the attempts itself, by waiting as long as ctx allows; only its own
// errors are followed by a pause (WithBackoff). The search of WithReadOnly goes through the connect string all
// the same.
func WithServerSource(next func(ctx context.Context) (addr string, err error)) Option {
	return func(c *config) { c.source = next }
}

// WithTLS encrypts connections. An empty ServerName is set to the host name of the connect string.
func WithTLS(t *tls.Config) Option { return func(c *config) { c.tls = t } }

// WithAuth adds an identity to every connection before any request is sent, for example "digest" and
// "user:password". A server that refuses it ends the client in the state AuthFailed.
func WithAuth(scheme string, auth []byte) Option {
	return func(c *config) { c.credentials = append(c.credentials, credential{scheme, append([]byte{}, auth...)}) }
}

// WithSASL authenticates every connection with a SASL mechanism before any request is sent. See DigestMD5.
func WithSASL(s SASL) Option { return func(c *config) { c.sasl = s } }

// WithRenewal makes the client open a new session after one has expired, overriding the default, which is to end:
// then every operation fails with ErrSessionExpired, and the program needs another client. Rebuild is called in
// its own goroutine for every new session but the first, with a context that ends with that session: it recreates
// ephemerals. Close and Detach wait for it, so it must not call them; its error is logged. It may be nil for a program
// that has no ephemerals, or leaves them to package recipes. Operations that were waiting fail with ErrSessionExpired;
// persistent watches report WatchLost and are set again.
func WithRenewal(rebuild func(ctx context.Context, c *Client) error) Option {
	return func(c *config) {
		if c.renew = rebuild; rebuild == nil {
			c.renew = func(context.Context, *Client) error { return nil }
		}
	}
}

// WithResume takes over a session that Client.Detach of another client has described.
func WithResume(r Resume) Option { return func(c *config) { c.resume = &r } }

// WithLogger sets where the client logs changes of the session, overriding the default: nowhere. Data and credentials
// are never logged. A program that logs with another library passes that library's handler: for zap, whose adapter is
// the module go.uber.org/zap/exp,
//
//	client.WithLogger(slog.New(zapslog.NewHandler(zapLogger.Core())))
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.log = l } }

// WithHooks sets functions that observe every operation. See Hooks.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = h } }
