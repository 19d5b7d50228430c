package peers

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/seed94657493/warren/internal/sched"
)

// keepAlive lets the kernel detect dead peers, in addition to the pings of the protocol.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// tune sets the options of a connection between servers. Bytes that the other side does not acknowledge within
// Timeouts.Write end the connection, even if no more are written. Without that, bytes that were sent into a partition
// are repeated less and less often, and arrive long after the partition has healed. With gathers the kernel may hold
// back small packets and send several together.
func (p *Peers) tune(nc net.Conn, gathers bool) {
	if t := tcpOf(nc); t != nil {
		if p.cfg.NoKeepAlive {
			_ = t.SetKeepAlive(false) // package net has switched it on
		} else {
			_ = t.SetKeepAliveConfig(keepAlive)
		}
		_ = t.SetNoDelay(!gathers)
		setUserTimeout(t, p.cfg.Timeouts.Write)
	}
}

// tcpOf returns the socket below a connection, or nil if there is none.
func tcpOf(nc net.Conn) *net.TCPConn {
	t, _ := innermost(nc).(*net.TCPConn)
	return t
}

// innermost returns the connection below all layers, such as TLS, of nc.
func innermost(nc net.Conn) net.Conn {
	for {
		layer, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = layer.NetConn()
	}
}

// cut ends a connection without waiting. Closing a TLS connection may wait, because it sends a last record.
func cut(nc net.Conn) { _ = innermost(nc).Close() }

// dialAny connects to one of the addresses of a server, and returns the first connection that stands. The next
// address is tried when an attempt has failed, and whenever Timeouts.Stagger has passed. All attempts end after
// Timeouts.Connect.
func (p *Peers) dialAny(ctx context.Context, addresses []string, gathers bool) (net.Conn, error) {
	ctx, cancel := p.withDeadline(ctx, p.deadline(p.cfg.Timeouts.Connect))
	defer cancel()
	d := &dialing{wake: p.rt.Parker()}
	defer sched.Every(p.rt, p.cfg.Timeouts.Stagger, d.stagger)()
	for begun := 0; ; {
		allowed, failed, won := d.state()
		switch {
		case won != nil:
			p.tune(won, gathers)
			return won, nil
		case begun < min(allowed, len(addresses)):
			address := addresses[begun]
			begun++
			if !p.start("peers dialer", func() { d.ended(p.cfg.Dial(ctx, "tcp", address)) }) {
				d.ended(nil, errStopped)
			}
		case len(failed) == len(addresses):
			return nil, errors.Join(failed...)
		default:
			d.wake.Park()
		}
	}
}

// dialing is one call of dialAny.
type dialing struct {
	wake sched.Parker // of the caller; unparked when mu has changed
	mu   struct {
		sync.Mutex
		pauses   int // how often Timeouts.Stagger has passed
		failures []error
		won      net.Conn
	}
}

// state returns how many addresses may be tried by now, the errors of those that have failed, and the connection if
// one stands.
func (d *dialing) state() (allowed int, failed []error, won net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return 1 + len(d.mu.failures) + d.mu.pauses, d.mu.failures, d.mu.won
}

// stagger allows one more address.
func (d *dialing) stagger() {
	d.mu.Lock()
	d.mu.pauses++
	d.mu.Unlock()
	d.wake.Unpark()
}

// ended takes the outcome of one attempt. A connection that stands too late is closed.
func (d *dialing) ended(nc net.Conn, err error) {
	d.mu.Lock()
	late := err == nil && d.mu.won != nil
	switch {
	case err != nil:
		d.mu.failures = append(d.mu.failures, err)
	case !late:
		d.mu.won = nc
	}
	d.mu.Unlock()
	if late {
		_ = nc.Close()
	}
	d.wake.Unpark()
}

// withDeadline is context.WithDeadline by the clock of the Runtime.
func (p *Peers) withDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := p.rt.After(t.Sub(p.rt.Now()), func() { cancel(context.DeadlineExceeded) })
	return timed{ctx, t}, func() {
		stop()
		cancel(nil)
	}
}

// timed is a context with a deadline.
type timed struct {
	context.Context
	deadline time.Time
}

// Deadline returns the deadline.
func (t timed) Deadline() (time.Time, bool) { return t.deadline, true }

// Err returns context.DeadlineExceeded after the deadline, unless the context was canceled before.
func (t timed) Err() error { return context.Cause(t.Context) }
