package peers

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/internal/sched"
)

// keepAlive lets the kernel ask peers that are silent whether they are there, in addition to the pings of the
// protocol: so a learner that has nothing to send knows, too, that its leader's machine is gone (Link.Unacknowledged).
// The kernel itself ends a connection only after Timeouts.Write, or 16 seconds.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 15}

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
//
// Names are resolved beside that: the last known addresses of a name are tried if its lookup fails or has taken
// Timeouts.Resolve, and the answer is tried as soon as it is there.
func (p *Peers) dialAny(ctx context.Context, addresses []string, gathers bool) (net.Conn, error) {
	ctx, cancel := p.withDeadline(ctx, p.deadline(p.cfg.Timeouts.Connect))
	defer cancel()
	d := &dialing{wake: p.rt.Parker()}
	defer sched.Every(p.rt, p.cfg.Timeouts.Stagger, d.stagger)()
	for _, address := range addresses {
		if host, port := split(address); isName(host) {
			defer p.find(d, &source{host: host, port: port})()
		} else {
			d.add(target{host: host, address: address})
		}
	}
	for {
		next, won, err := d.next(ctx)
		switch {
		case won != nil:
			p.tune(won, gathers)
			if next.relies {
				p.names.rely(next, won)
			}
			return won, nil
		case err != nil:
			return nil, err
		case next.address == "":
			d.wake.Park()
		case !p.group.Go("peers dialer", func() {
			nc, err := p.reach(ctx, next)
			d.ended(next, nc, err)
		}):
			d.ended(next, nil, errStopped)
		}
	}
}

// reach connects to an address, and encrypts the connection.
func (p *Peers) reach(ctx context.Context, t target) (net.Conn, error) {
	nc, err := p.cfg.Dial(ctx, "tcp", t.address)
	if err != nil || p.cfg.Security.Secure == nil {
		return nc, err
	}
	safe, err := p.cfg.Security.Secure(ctx, nc, t.host)
	if err != nil {
		_ = nc.Close()
	}
	return safe, err
}

// find looks up the name of s for d. The result ends what is left of that when d has ended.
func (p *Peers) find(d *dialing, s *source) (cancel func()) {
	d.await(s)
	known, late := p.names.ask(s.host, func(answer []string, err error) { d.answered(s, answer, err) })
	if len(known) == 0 {
		return func() {}
	}
	d.knows(s, known)
	return p.rt.After(max(p.cfg.Timeouts.Resolve-late, 0), func() { d.resort(s) })
}

// target is an address to dial.
type target struct {
	host    string // as the configuration has it
	address string // with an IP address
	relies  bool   // the address is the last known one, and the name server has not confirmed it
}

// source is a name whose addresses are dialled. Its fields are guarded by dialing.mu.
type source struct {
	host, port string
	known      []string // the last known addresses
	err        error    // of the lookup
	answered   bool     // the lookup has succeeded
	resorted   bool     // the known addresses are tried
}

// dialing is one call of dialAny.
type dialing struct {
	wake sched.Parker // of the caller; unparked when mu has changed
	mu   struct {
		sync.Mutex
		sources  []*source
		targets  []target // the first of them have been begun
		begun    int
		extra    int // targets that may be begun before those that were begun have failed
		failures []error
		won      net.Conn
		wonBy    target
	}
}

// next returns what the caller has to do: to take a connection that stands, to give up, to begin another target, or
// to wait if all results are zero.
func (d *dialing) next(ctx context.Context) (t target, won net.Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	failed, waits := len(d.mu.failures), false
	errs := d.mu.failures
	for _, s := range d.mu.sources {
		waits = waits || !s.answered && !s.resorted && (s.err == nil || len(s.known) > 0)
		if s.err != nil {
			errs = append(errs[:len(errs):len(errs)], s.err)
		}
	}
	switch {
	case d.mu.won != nil:
		return d.mu.wonBy, d.mu.won, nil
	case d.mu.begun < min(1+failed+d.mu.extra, len(d.mu.targets)):
		t = d.mu.targets[d.mu.begun]
		d.mu.begun++
		return t, nil, nil
	case failed < d.mu.begun:
		return t, nil, nil
	case ctx.Err() != nil:
		return t, nil, errors.Join(append(errs[:len(errs):len(errs)], ctx.Err())...)
	case !waits:
		return t, nil, errors.Join(errs...)
	}
	return t, nil, nil
}

// await makes s a source of targets.
func (d *dialing) await(s *source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.sources = append(d.mu.sources, s)
}

// knows sets the last known addresses of s.
func (d *dialing) knows(s *source, known []string) {
	d.mu.Lock()
	s.known = known
	failed := s.err != nil
	d.mu.Unlock()
	if failed {
		d.resort(s)
	}
}

// add adds a target, unless it is there.
func (d *dialing) add(t target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.has(t) {
		d.mu.targets = append(d.mu.targets, t)
	}
}

// has reports whether an address is one of the targets. REQUIRES: d.mu.
func (d *dialing) has(t target) bool {
	return slices.ContainsFunc(d.mu.targets, func(u target) bool { return u.host == t.host && u.address == t.address })
}

// resort lets the last known addresses of s be tried, unless the name server has answered.
func (d *dialing) resort(s *source) {
	d.mu.Lock()
	if !s.answered && !s.resorted && len(s.known) > 0 {
		s.resorted = true
		for _, ip := range s.known {
			if t := (target{s.host, net.JoinHostPort(ip, s.port), true}); !d.has(t) {
				d.mu.targets = append(d.mu.targets, t)
			}
		}
	}
	d.mu.Unlock()
	d.wake.Unpark()
}

// answered takes the outcome of the lookup of s. Addresses that are new are next, and the first of them does not wait
// for the known ones, of which those that the answer does not have are not begun any more.
func (d *dialing) answered(s *source, answer []string, err error) {
	d.mu.Lock()
	if err != nil {
		s.err = err
		d.mu.Unlock()
		d.resort(s)
		return
	}
	s.answered = true
	var next []target
	for _, ip := range answer {
		if t := (target{s.host, net.JoinHostPort(ip, s.port), false}); !d.has(t) {
			next = append(next, t)
		}
	}
	if s.resorted && len(next) > 0 {
		d.mu.extra++
	}
	rest := slices.DeleteFunc(slices.Clone(d.mu.targets[d.mu.begun:]), func(t target) bool {
		ip, _ := split(t.address)
		return t.host == s.host && !slices.Contains(answer, ip)
	})
	d.mu.targets = slices.Concat(d.mu.targets[:d.mu.begun], next, rest)
	d.mu.Unlock()
	d.wake.Unpark()
}

// stagger allows one more target, if one is under way.
func (d *dialing) stagger() {
	d.mu.Lock()
	if d.mu.begun > len(d.mu.failures) {
		d.mu.extra++
	}
	d.mu.Unlock()
	d.wake.Unpark()
}

// ended takes the outcome of one attempt. A connection that stands too late is closed.
func (d *dialing) ended(t target, nc net.Conn, err error) {
	d.mu.Lock()
	late := err == nil && d.mu.won != nil
	switch {
	case err != nil:
		d.mu.failures = append(d.mu.failures, err)
	case !late:
		d.mu.won, d.mu.wonBy = nc, t
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
