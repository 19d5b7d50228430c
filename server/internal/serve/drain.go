package serve

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
)

// Clients that are sent to other servers. Their sessions live on: a client whose connection ends connects to another
// server of its list, with its session.

const (
	// leaveGrace is how long a client that was asked to leave may take.
	leaveGrace = 250 * time.Millisecond
	// retireGrace is how long each of the steps takes by which a connection ends whose client stays; see departure.
	retireGrace = time.Second
	// quietTime is how long a connection has nothing to do when its client is taken to pause.
	quietTime = 5 * time.Millisecond
	// retirePause is the time between two rounds in which connections end.
	retirePause = 10 * time.Millisecond
	// drainedPause is the time between two looks for clients while a drained server has none.
	drainedPause = 100 * time.Millisecond
)

// draining sends clients to other servers: all, while an operator drains the server, or a share. Any goroutine may use
// it.
type draining struct {
	env     *env.Env
	conns   *connSet
	drained atomic.Pointer[drain] // nil unless the server is being drained
}

// drain is the draining of a server.
type drain struct {
	rate int         // connections that end per second, at most
	over *sched.Gate // open when the draining has ended
}

// Drain lets the server take no more clients, and ends the connections that it has, at most rate per second. A server
// that is drained already goes on with the new rate. The end of the role of a server in its ensemble does not end the
// draining.
func (d *draining) Drain(rate int) {
	one := &drain{rate: rate, over: sched.NewGate(d.env.Runtime)}
	if old := d.drained.Swap(one); old != nil {
		old.over.Open()
	}
	d.env.Spawn("drain clients", func() { d.drainClients(one) })
}

// Undrain lets the server take clients again, after Drain.
func (d *draining) Undrain() {
	if old := d.drained.Swap(nil); old != nil {
		old.over.Open()
	}
}

// Draining reports whether the server takes no clients, and how many connections end per second.
func (d *draining) Draining() (rate int, on bool) {
	if one := d.drained.Load(); one != nil {
		return one.rate, true
	}
	return 0, false
}

// drainClients ends connections until the draining is over. The server may get clients after the first round: they
// asked for their session before.
func (d *draining) drainClients(one *drain) {
	var p departures
	credit, last, logged := 1.0, d.env.Clock.Now(), false
	for pause := retirePause; !d.env.Stopping.WaitFor(pause) && !one.over.IsOpen(); {
		now := d.env.Clock.Now()
		credit = min(credit+float64(one.rate)*time.Duration(now-last).Seconds(), float64(max(one.rate, 1)))
		last = now
		if len(p.waiting)+len(p.asked) == 0 {
			p.waiting = d.clients()
		}
		if pause = retirePause; len(p.waiting)+len(p.asked) == 0 {
			pause = drainedPause
			if !logged {
				d.env.Log.Info("drained: no client connection is left")
			}
			logged = true
		}
		credit -= float64(p.round(now, int(credit)))
	}
	p.callOff()
}

// Shed ends the connections of a share of the clients, which are chosen at random, and returns how many.
func (d *draining) Shed(percent int) int {
	all := d.clients()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	// A share that is not a whole number is rounded at random, so that 1 % of 20 clients is sometimes one client.
	n := (len(all)*percent + rand.IntN(100)) / 100
	p := departures{waiting: all[:n]}
	for p.round(d.env.Clock.Now(), n); len(p.asked) > 0; p.round(d.env.Clock.Now(), n) {
		sched.Sleep(d.env.Runtime, retirePause)
	}
	return n
}

// Clients returns how many connections have a session and are not about to end. Connections of the server to itself
// do not count.
func (d *draining) Clients() int { return len(d.clients()) }

// clients returns the connections that Clients counts, the oldest first.
func (d *draining) clients() (all []*Conn) {
	d.conns.Each(func(c *Conn) {
		if !c.inside() && c.Session.Load() != nil && c.open() {
			all = append(all, c)
		}
	})
	return all
}

// open reports whether the connection is not about to end.
func (c *Conn) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.out.open()
}

// departures is a set of connections that end. Each client is asked to leave first. A Warren client sends nothing more
// then, waits for what it is owed, and goes: no request of it is lost.
type departures struct {
	waiting []*Conn     // those whose clients are not to leave yet
	asked   []departure // those whose clients are
}

// departure is a connection that ends. If its client stays, no request of it is lost that was taken, and as few as
// possible that were not: the connection ends in the first pause of the client after an answer, when its next request
// is farthest away. A client that never pauses loses its connection behind an answer, when no other request is taken;
// one that has requests in flight at all times, when those that were taken are answered, and no more are taken.
type departure struct {
	c        *Conn
	since    int64 // when its client was asked to leave, or was to be; ns on the server's clock
	notified bool  // its client was asked to leave
	answered int64 // how many requests were answered when the client could have left; -1 before that
}

// round asks up to most clients to leave, and ends the connections of those that were asked before and stay. It
// returns how many it has asked.
func (p *departures) round(now int64, most int) (asked int) {
	for ; asked < len(p.waiting) && asked < most; asked++ {
		p.asked = append(p.asked, departure{c: p.waiting[asked], since: now, answered: -1})
	}
	p.waiting = p.waiting[asked:]
	rest := p.asked[:0]
	for _, one := range p.asked {
		if !one.ends(now) {
			rest = append(rest, one)
		}
	}
	p.asked = rest
	return asked
}

// callOff lets the connections live that have not lost a request yet. Clients that were asked to leave may go.
func (p *departures) callOff() {
	for i := range p.asked {
		c := p.asked[i].c
		c.mu.Lock()
		c.mu.out.endsIdle = c.mu.out.ignoring
		c.mu.Unlock()
	}
}

// ends goes on with the end of the connection, and reports whether the connection ends by itself from now on.
func (p *departure) ends(now int64) bool {
	c := p.c
	if !p.notified && c.askToLeave() {
		p.notified, p.since = true, now
	}
	waited := time.Duration(now-p.since) - leaveGrace
	c.mu.Lock()
	defer c.mu.Unlock()
	o, answered := &c.mu.out, c.mu.stats.AnsweredTotal
	quiet := c.mu.queue.length() == 0 && now-c.mu.stats.LastResponse >= int64(quietTime)
	switch {
	case !o.open():
		return true
	case waited < 0:
		return false
	case p.answered < 0:
		p.answered = answered
	}
	switch {
	case quiet && (answered != p.answered || waited >= retireGrace), waited >= 3*retireGrace:
		c.shut()
		return true
	case waited >= retireGrace:
		o.endsIdle, o.ignoring = true, waited >= 2*retireGrace
	}
	return false
}

// askToLeave asks the client to go to another server. It does not ask a client that was answered nothing yet, because
// kazoo takes no other frame while it waits for the reply to its first requests, those that authenticate.
func (c *Conn) askToLeave() (asked bool) {
	c.mu.Lock()
	if asked = c.mu.out.open() && c.mu.stats.AnsweredTotal > 0; asked {
		c.mu.out.buf = appendHeaderReply(c.mu.out.buf, proto.XidPing, proto.LeaveZxid, proto.OK)
	}
	c.mu.Unlock()
	if asked {
		c.flush()
	}
	return asked
}
