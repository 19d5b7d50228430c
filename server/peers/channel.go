package peers

import (
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// channel is the way to one other server for the messages of elections: at most one connection, and of each kind of message the
// newest that was not sent yet. What was sent is never repeated: PeerUp lets the core say what holds now.
type channel struct {
	e    *election
	peer proto.ServerID

	ring    chan struct{} // capacity 1: ends a pause between attempts
	hearing sync.Mutex    // held while the handler is given what comes, so that it hears of one connection at a time
	mu      struct {
		sync.Mutex
		addresses []string // to dial; none of an anonymous observer, and of a stranger with a larger id
		stranger  bool     // the peer is no member: it is called only if it asks for that
		slots     [3]slot  // notification, probe, probe reply
		conn      net.Conn
		since     time.Time  // when conn was made
		wake      *sync.Cond // conn or slots have changed
		owed      bool       // something was sent on conn, and nothing was heard since: it may be lost
		dialing   bool
		stopped   bool
		next      time.Time     // no attempt to connect before
		pause     time.Duration // to the attempt after that
	}
}

// slot holds the frame of one kind of message. Its memory is used again.
type slot struct {
	frame []byte // empty if there is none
	at    time.Time
}

func newChannel(e *election, peer proto.ServerID, addresses []string) *channel {
	c := &channel{e: e, peer: peer, ring: make(chan struct{}, 1)}
	c.mu.addresses = addresses
	c.mu.wake = sync.NewCond(&c.mu)
	return c
}

// move notes where the peer is, and whether it is a member. A connection that stands goes on.
func (c *channel) move(addresses []string, stranger bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.addresses, c.mu.stranger = addresses, stranger
}

// where returns the addresses to dial. They are not changed.
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

// send replaces what waits of the same kind, and connects if that is necessary. It does not block.
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
	s.at = time.Now()
	connected := c.mu.conn != nil
	c.mu.wake.Broadcast()
	c.mu.Unlock()
	if !connected {
		c.dial(false)
	}
}

// wanted reports whether a connection is wanted: something is to be sent, or was perhaps lost. REQUIRES: c.mu.
func (c *channel) wanted() bool { return !c.mu.stranger && (c.mu.owed || c.waiting()) }

// waiting reports whether something is to be sent. REQUIRES: c.mu.
func (c *channel) waiting() bool {
	for i := range c.mu.slots {
		if len(c.mu.slots[i].frame) > 0 {
			return true
		}
	}
	return false
}

// dial connects in the background unless that is under way; with now, without waiting for the end of a pause.
func (c *channel) dial(now bool) {
	c.mu.Lock()
	if len(c.mu.addresses) == 0 {
		c.mu.Unlock()
		return
	}
	start := !c.mu.dialing && !c.mu.stopped
	c.mu.dialing = c.mu.dialing || start
	c.mu.Unlock()
	switch {
	case start:
		if !c.e.p.start(func() { c.connect(now) }) {
			c.stop()
		}
	case now:
		select {
		case c.ring <- struct{}{}:
		default:
		}
	}
}

// connect tries to connect as long as a connection is wanted; if the other side has asked for it, at once.
func (c *channel) connect(asked bool) {
	first := true // of the attempts that fail one after the other
	for {
		c.mu.Lock()
		if c.mu.stopped || c.mu.conn != nil || !asked && !c.wanted() {
			c.mu.dialing = false
			c.mu.Unlock()
			return
		}
		pause := time.Until(c.mu.next)
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
			c.e.p.log.Log(level, "connecting for elections", zap.Int64("peer_id", int64(c.peer)), zap.Strings("addrs", c.where()), zap.Error(err))
		}
		if nc != nil {
			c.replace(nc)
			c.mu.Lock()
			c.mu.dialing = false
			c.mu.Unlock()
			c.talk(nc)
			return
		}
	}
}

// rest waits, and reports whether the other side has asked for a connection meanwhile.
func (c *channel) rest(pause time.Duration) (asked bool) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ring:
		return true
	case <-c.e.p.ctx.Done():
	}
	return false
}

// postpone sets the time of the next attempt, each time later. A connection that lasts takes that back.
func (c *channel) postpone() {
	t := &c.e.p.cfg.Timeouts
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pause = min(max(2*c.mu.pause, t.RedialMin), t.RedialMax)
	c.mu.next = time.Now().Add(c.mu.pause)
}

// awaitCall gives a server with a larger id, which was asked, time to connect: to ask again earlier would end the connection that
// is on its way.
func (c *channel) awaitCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := time.Now().Add(c.e.p.cfg.Timeouts.CallBack); call.After(c.mu.next) {
		c.mu.next = call
	}
}

// introduce connects and says who this server is. If the other one has the larger id, it is for it to keep the connection: then
// this one is closed, and nil returned.
func (c *channel) introduce() (net.Conn, error) {
	p := c.e.p
	nc, err := p.dialAny(p.ctx, c.where(), false)
	if err != nil {
		return nil, err
	}
	if !p.track(nc) {
		return nil, errStopped
	}
	_ = nc.SetDeadline(time.Now().Add(p.cfg.Timeouts.Greeting))
	if _, err = nc.Write(c.e.greets()); err == nil {
		if c.peer > p.cfg.ID {
			c.awaitCall()
		}
		err = p.prove(nc)
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

// replace makes nc, or nothing, the connection of the channel and closes the one before.
func (c *channel) replace(nc net.Conn) {
	c.mu.Lock()
	old := c.mu.conn
	if c.mu.stopped && nc != nil {
		old, nc = nc, nil
	}
	c.mu.conn, c.mu.since = nc, time.Now()
	if nc != nil {
		c.mu.owed = false
		// What has waited for long for a connection may not be true any more. PeerUp asks for what is.
		for i := range c.mu.slots {
			if s := &c.mu.slots[i]; time.Since(s.at) > c.e.p.cfg.Timeouts.Stale {
				s.frame = s.frame[:0]
			}
		}
	}
	c.mu.wake.Broadcast()
	c.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// asked obeys a server with a smaller id that asks for a connection. It has none, or it would not ask; so one that still seems to
// stand is dead. But one that was made just now may have crossed the question.
func (c *channel) asked() {
	c.mu.Lock()
	crossed := c.mu.conn != nil && time.Since(c.mu.since) < c.e.p.cfg.Timeouts.CallBack
	c.mu.Unlock()
	if !crossed {
		c.replace(nil)
		c.dial(true)
	}
}

// talk uses nc, the connection of the channel, until it ends.
func (c *channel) talk(nc net.Conn) {
	p := c.e.p
	defer p.untrack(nc)
	if !p.start(func() { c.write(nc) }) {
		c.hangUp(nc)
		return
	}
	p.log.Debug("election channel stands", zap.Int64("peer_id", int64(c.peer)), zap.Stringer("peer_addr", nc.RemoteAddr()))
	began := time.Now()
	err := c.hear(nc)
	if time.Since(began) > p.cfg.Timeouts.RedialMax {
		c.mu.Lock()
		c.mu.pause = 0
		c.mu.next = time.Now().Add(p.cfg.Timeouts.RedialMin)
		c.mu.Unlock()
	}
	if errors.Is(err, ErrFrame) {
		p.stats.refused.Add(1)
	}
	p.log.Debug("election channel ended", zap.Int64("peer_id", int64(c.peer)), zap.Error(err))
	c.hangUp(nc)
}

// hear gives what comes on nc to the handler, after all that came on the connection before.
func (c *channel) hear(nc net.Conn) error {
	c.hearing.Lock()
	defer c.hearing.Unlock()
	c.mu.Lock()
	replaced := c.mu.conn != nc
	c.mu.Unlock()
	if replaced {
		return net.ErrClosed
	}
	c.e.p.cfg.Handler.PeerUp(c.peer)
	return c.listen(nc)
}

// hangUp ends nc. If one is wanted, a new connection is made: then PeerUp lets the core repeat what may be lost.
func (c *channel) hangUp(nc net.Conn) {
	_ = nc.Close()
	c.mu.Lock()
	if c.mu.conn == nc {
		c.mu.conn = nil
	}
	again := c.mu.conn == nil && c.wanted()
	c.mu.wake.Broadcast()
	c.mu.Unlock()
	if again {
		c.dial(false)
	}
}

// write sends what waits as long as nc is the connection of the channel.
func (c *channel) write(nc net.Conn) {
	var out []byte
	for {
		c.mu.Lock()
		for c.mu.conn == nc && !c.waiting() {
			c.mu.wake.Wait()
		}
		if c.mu.conn != nc {
			c.mu.Unlock()
			return
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
		_ = nc.SetWriteDeadline(time.Now().Add(c.e.p.cfg.Timeouts.Write))
		if _, err := nc.Write(out); err != nil {
			_ = nc.Close() // the reader sees it
			return
		}
		c.e.p.stats.framesOut.Add(uint64(frames))
	}
}

// stop ends the channel for ever.
func (c *channel) stop() {
	c.mu.Lock()
	c.mu.stopped = true
	c.mu.dialing = false
	c.mu.Unlock()
	c.replace(nil)
}
