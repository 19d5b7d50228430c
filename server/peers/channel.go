package peers

import (
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// channel carries the election messages between this server and one other. It has at most one connection and, of each
// kind of message, the newest that was not sent yet. A message that was sent is never repeated: after PeerUp the core
// sends what is valid then. Moments are times of Runtime.Elapsed.
type channel struct {
	e    *election
	peer proto.ServerID
	rt   sched.Runtime

	mu struct {
		sync.Mutex
		addresses []string // to dial; none of an anonymous observer, or of a stranger with a larger id
		stranger  bool     // the peer is no member: it is dialled only if it asks for a connection
		slots     [3]slot  // notification, probe, probe reply
		conn      net.Conn
		since     time.Duration // the moment at which conn was made
		writer    sched.Parker  // of conn; unparked when conn or slots change
		heard     *sched.Gate   // open when the newest reader calls the handler no more; nil before the first reader
		owed      bool          // a message was sent on conn and nothing has arrived since: the message may be lost
		dialing   bool
		stopped   bool
		rung      *sched.Gate   // open: the pause between two attempts ends
		next      time.Duration // the moment before which there is no attempt to connect
		pause     time.Duration // between that attempt and the one after it
		called    time.Duration // the moment until which the peer has time to connect, as it was asked to; 0 if it has
	}
}

// slot holds the frame of one kind of message. Its memory is used again.
type slot struct {
	frame []byte        // empty if there is none
	at    time.Duration // the moment at which it was given to the channel
}

func newChannel(e *election, peer proto.ServerID, addresses []string) *channel {
	c := &channel{e: e, peer: peer, rt: e.p.rt}
	c.mu.addresses = addresses
	c.mu.rung = sched.NewGate(c.rt)
	return c
}

// move sets the addresses of the peer, and whether it is a stranger. An open connection stays open.
func (c *channel) move(addresses []string, stranger bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.addresses, c.mu.stranger = addresses, stranger
}

// where returns the addresses to dial. The slice must not be changed.
func (c *channel) where() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.addresses
}

// idle reports whether the channel has no connection and is making none.
func (c *channel) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.conn == nil && !c.mu.dialing
}

// reaches reports whether there is a connection on which nothing waits in vain to be acknowledged.
func (c *channel) reaches() bool {
	c.mu.Lock()
	nc := c.mu.conn
	c.mu.Unlock()
	return nc != nil && unacknowledged(nc) == 0
}

// send replaces the waiting message of the same kind, and connects if there is no connection. It does not block.
func (c *channel) send(m *zab.Message) {
	kind := 0
	switch m.Type {
	case zab.Notification:
		if len(m.Config) > c.e.p.cfg.Limits.ConfigTextMax {
			return
		}
	case zab.Probe:
		kind = 1
	case zab.ProbeReply:
		kind = 2
	default:
		return
	}
	c.mu.Lock()
	s := &c.mu.slots[kind]
	s.frame = appendElection(s.frame[:0], m)
	s.at = c.rt.Elapsed()
	connected := c.mu.conn != nil
	if connected {
		c.mu.writer.Unpark()
	}
	c.mu.Unlock()
	if !connected {
		c.dial(false)
	}
}

// wanted reports whether a connection is wanted: a message waits to be sent, or was perhaps lost. REQUIRES: c.mu.
func (c *channel) wanted() bool { return !c.mu.stranger && (c.mu.owed || c.waiting()) }

// waiting reports whether a message waits to be sent. REQUIRES: c.mu.
func (c *channel) waiting() bool {
	for i := range c.mu.slots {
		if len(c.mu.slots[i].frame) > 0 {
			return true
		}
	}
	return false
}

// dial connects in the background, unless that is under way. With now it ends a pause between attempts.
func (c *channel) dial(now bool) {
	c.mu.Lock()
	if len(c.mu.addresses) == 0 {
		c.mu.Unlock()
		return
	}
	start := !c.mu.dialing && !c.mu.stopped
	c.mu.dialing = c.mu.dialing || start
	if now && !start {
		c.mu.rung.Open()
	}
	c.mu.Unlock()
	if start && !c.e.p.group.Go("election channel", func() { c.connect(now) }) {
		c.stop()
	}
}

// connect tries to connect as long as a connection is wanted. If the other side has asked for it (asked), the first
// attempt begins without a pause.
func (c *channel) connect(asked bool) {
	first := true // no attempt has failed yet
	for {
		c.mu.Lock()
		if c.mu.stopped || c.mu.conn != nil || !asked && !c.wanted() {
			c.dialled()
			c.mu.Unlock()
			return
		}
		pause := max(c.mu.next, c.mu.called) - c.rt.Elapsed()
		c.mu.Unlock()
		if pause > 0 && !asked {
			asked = c.rest(pause)
			continue
		}
		asked = false
		c.postpone()
		nc, err := c.introduce()
		if err != nil {
			c.e.p.stats.dialFailures.Add(1)
			level := zap.DebugLevel
			if first {
				level, first = zap.InfoLevel, false
			}
			c.e.p.log.Log(level, "connecting for elections", zap.Int64("peer_id", int64(c.peer)),
				zap.Strings("addrs", c.where()), zap.Error(err))
		}
		if nc != nil {
			c.replace(nc)
			c.mu.Lock()
			c.dialled()
			c.mu.Unlock()
			c.talk(nc)
			return
		}
	}
}

// dialled notes that connect is over. REQUIRES: c.mu.
func (c *channel) dialled() {
	c.mu.dialing = false
	c.mu.rung = sched.NewGate(c.rt)
}

// rest waits for the pause between two attempts. It ends early, and returns true, if dial was told not to wait, also
// since the pause before, or if the channel was stopped.
func (c *channel) rest(pause time.Duration) (rung bool) {
	c.mu.Lock()
	gate := c.mu.rung
	c.mu.Unlock()
	if !gate.WaitFor(pause) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.rung = sched.NewGate(c.rt)
	return true
}

// postpone sets the moment of the next attempt. The pause doubles each time; a connection that lasts resets it.
func (c *channel) postpone() {
	t := &c.e.p.cfg.Timeouts
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pause = min(max(2*c.mu.pause, t.RedialMin), t.RedialMax)
	c.mu.next = c.rt.Elapsed() + c.mu.pause
}

// awaitCall gives a server with a larger id, which was asked for a connection, time to connect. To ask again before
// would end the connection that this server is making.
func (c *channel) awaitCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.called = c.rt.Elapsed() + c.e.p.cfg.Timeouts.CallBack
}

// introduce connects and sends the greeting of this server. If the peer has the larger id, the connection only asks
// the peer to connect: it is closed, and nil is returned.
func (c *channel) introduce() (net.Conn, error) {
	p := c.e.p
	addresses := c.where()
	nc, err := p.dialAny(p.ctx, addresses, false)
	if err != nil {
		return nil, err
	}
	if !p.track(nc) {
		return nil, errStopped
	}
	deadline := p.deadline(p.cfg.Timeouts.Greeting)
	_ = nc.SetDeadline(deadline)
	if _, err = nc.Write(c.e.greets()); err == nil {
		if c.peer > p.cfg.ID {
			c.awaitCall()
		}
		err = p.prove(nc, addresses, deadline)
	}
	if err != nil {
		p.untrack(nc)
		return nil, err
	}
	if c.peer > p.cfg.ID {
		p.part(nc)
		return nil, nil
	}
	_ = nc.SetDeadline(time.Time{})
	return nc, nil
}

// replace makes nc the connection of the channel and closes the one before. nil leaves the channel without a
// connection.
func (c *channel) replace(nc net.Conn) {
	c.mu.Lock()
	old, refused := c.mu.conn, net.Conn(nil)
	if c.mu.stopped {
		nc, refused = nil, nc
	}
	c.endWriter()
	now := c.rt.Elapsed()
	c.mu.conn, c.mu.since = nc, now
	if nc != nil {
		c.mu.writer = c.rt.Parker()
		c.mu.owed, c.mu.called = false, 0
		c.mu.rung.Open() // what waits for another attempt ends, or it would make the next one wait
		// A message that has waited long for a connection may not be valid any more. PeerUp asks the core for valid
		// ones.
		for i := range c.mu.slots {
			if s := &c.mu.slots[i]; now-s.at > c.e.p.cfg.Timeouts.Stale {
				s.frame = s.frame[:0]
			}
		}
	}
	c.mu.Unlock()
	for _, gone := range []net.Conn{old, refused} {
		if gone != nil {
			cut(gone)
		}
	}
}

// endWriter wakes the writer of the connection, so that it ends when the connection is another one. REQUIRES: c.mu.
func (c *channel) endWriter() {
	if c.mu.conn != nil {
		c.mu.writer.Unpark()
	}
}

// asked serves a server with a smaller id that asks for a connection. That server has none, or it would not ask, so a
// connection that this server still has is dead. The exception is a connection that was made just now, which may have
// crossed the question on the way. It reports whether there was a connection that seemed to be alive: if that happens
// again and again, there are two servers with the same id.
func (c *channel) asked() (had bool) {
	c.mu.Lock()
	had = c.mu.conn != nil
	crossed := had && c.rt.Elapsed()-c.mu.since < c.e.p.cfg.Timeouts.CallBack
	c.mu.Unlock()
	if !crossed {
		c.replace(nil)
		c.dial(true)
	}
	return had && !crossed
}

// talk uses nc, the connection of the channel, until it ends.
func (c *channel) talk(nc net.Conn) {
	c.converse(nc)
	c.e.p.untrack(nc)
}

// converse is talk without its end.
func (c *channel) converse(nc net.Conn) {
	p := c.e.p
	if !p.group.Go("election writer", func() { c.write(nc) }) {
		c.hangUp(nc)
		return
	}
	p.log.Debug("election channel is open", zap.Int64("peer_id", int64(c.peer)),
		zap.Stringer("peer_addr", nc.RemoteAddr()))
	began := c.rt.Elapsed()
	err := c.hear(nc)
	if now := c.rt.Elapsed(); now-began > p.cfg.Timeouts.RedialMax {
		c.mu.Lock()
		c.mu.pause = 0
		c.mu.next = now + p.cfg.Timeouts.RedialMin
		c.mu.Unlock()
	}
	if errors.Is(err, ErrFrame) {
		p.stats.refused.Add(1)
	}
	p.log.Debug("election channel ended", zap.Int64("peer_id", int64(c.peer)), zap.Error(err))
	c.hangUp(nc)
}

// hear gives the messages of nc to the handler. It begins when the readers of all connections before have stopped
// calling the handler, so that the handler is called for one connection of a channel at a time.
func (c *channel) hear(nc net.Conn) error {
	over := sched.NewGate(c.rt)
	defer over.Open()
	c.mu.Lock()
	if c.mu.conn != nc {
		c.mu.Unlock()
		return net.ErrClosed
	}
	before := c.mu.heard
	c.mu.heard = over
	c.mu.Unlock()
	if before != nil {
		before.Wait()
	}
	if !c.uses(nc) {
		return net.ErrClosed
	}
	c.e.p.cfg.Handler.PeerUp(c.peer)
	return c.listen(nc)
}

// uses reports whether nc is the connection of the channel.
func (c *channel) uses(nc net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.conn == nc
}

// hangUp closes nc. If a connection is wanted, a new one is made. Then PeerUp lets the core repeat messages that may
// be lost.
func (c *channel) hangUp(nc net.Conn) {
	_ = nc.Close()
	c.mu.Lock()
	if c.mu.conn == nc {
		c.endWriter()
		c.mu.conn = nil
	}
	again := c.mu.conn == nil && c.wanted()
	c.mu.Unlock()
	if again {
		c.dial(false)
	}
}

// write sends waiting messages as long as nc is the connection of the channel.
func (c *channel) write(nc net.Conn) {
	var out []byte
	for {
		c.mu.Lock()
		if c.mu.conn != nc {
			c.mu.Unlock()
			return
		}
		if !c.waiting() {
			wake := c.mu.writer
			c.mu.Unlock()
			wake.Park()
			continue
		}
		out = out[:0]
		frames := 0
		for i := range c.mu.slots {
			if s := &c.mu.slots[i]; len(s.frame) > 0 {
				out = append(out, s.frame...)
				s.frame = s.frame[:0]
				frames++
			}
		}
		c.mu.owed = true
		c.mu.Unlock()
		_ = nc.SetWriteDeadline(c.e.p.deadline(c.e.p.cfg.Timeouts.Write))
		if _, err := nc.Write(out); err != nil {
			_ = nc.Close() // so the reader ends as well
			return
		}
		c.e.p.stats.framesOut.Add(uint64(frames))
	}
}

// stop ends the channel forever.
func (c *channel) stop() {
	c.mu.Lock()
	c.mu.stopped = true
	c.mu.dialing = false
	c.mu.rung.Open()
	c.mu.Unlock()
	c.replace(nil)
}
