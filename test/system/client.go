package system

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
	"github.com/seed94657493/warren/test/wire"
)

// client is a client that is honest, but does what clients seldom do: it moves between servers, falls silent, reads
// slowly, and sends many requests before the first is answered.
type client struct {
	w       *world
	id      int
	p       *process
	host    *host
	load    *load
	session *session
	conn    *connection
	nc      net.Conn
	xid     int32
	heard   time.Duration // when something was received
	sent    time.Duration // when something was sent
	late    bool          // it was silent on the connection for longer than its session timeout
	broken  bool          // the connection
	slow    bool          // it reads slowly
	silent  time.Duration // it sends nothing until then
	alone   int           // the only server that it connects to; 0 for any
	wake    *parker       // of the main task
	wants   bool          // it is to ask once more
	last    *request      // that it has asked then
}

// clientPlace is the place of the first client on the network.
const clientPlace = 1 << 8

func (w *world) newClient(id int) *client {
	c := &client{w: w, id: id, p: w.s.newProcess(fmt.Sprintf("c%d", id)), load: newLoad(w.s, id, &w.o)}
	c.p.drift = w.drift()
	if w.s.chance(15) {
		c.alone = 1 + w.s.rng.IntN(len(w.nodes))
	}
	c.host = w.net.plug(clientPlace+id, c.p)
	c.wake = &parker{p: c.p}
	c.p.Go("client", c.run)
	return c
}

// sleep waits until d has passed, or the connection breaks.
func (c *client) sleep(d time.Duration) {
	e := c.w.s.plan(c.p.lasts(d), c.p, "wake", c.wake.Unpark)
	c.wake.Park()
	e.fn = nil
}

func (c *client) run() {
	for {
		if err := c.connect(); err != nil {
			c.w.s.tracef("c%d: %v", c.id, err)
			if c.acceptsReadOnly() && !c.w.calm && c.w.s.chance(10) {
				c.session = nil // a read-only server takes new sessions alone
			}
			c.sleep(c.w.s.between(10*time.Millisecond, 300*time.Millisecond))
			continue
		}
		c.work()
		c.disconnect()
		if !c.w.o.Restless && c.w.s.chance(50) {
			c.sleep(c.w.s.between(0, 300*time.Millisecond))
		}
	}
}

// errExpired is what a client is told that comes back too late.
var errExpired = errors.New("the session has expired")

// connect begins a connection, with a new session if there is none.
func (c *client) connect() error {
	server := 1 + c.w.s.rng.IntN(len(c.w.nodes))
	if c.alone != 0 {
		server = c.alone
	}
	nc, err := c.host.dial(context.Background(), "", fmt.Sprintf("%s:%d", hostName(server), clientPort))
	if err != nil {
		return err
	}
	s := c.session
	if s == nil {
		s = &session{client: c, timeout: c.w.s.between(c.w.timeoutMin, c.w.timeoutMax).Truncate(time.Millisecond)}
	}
	req := proto.ConnectRequest{LastZxidSeen: s.seen, TimeOut: int32(s.timeout.Milliseconds()), SessionID: s.id,
		Password: s.password, HasReadOnly: c.w.has(ReadOnly), ReadOnly: c.acceptsReadOnly()}
	if c.w.has(Outcomes) && c.w.s.chance(85) {
		req.HasReadOnly, req.Extensions = true, proto.ExtensionOutcomes
	}
	if s.password == nil {
		req.Password = make([]byte, proto.PasswordSize)
	}
	_ = nc.SetDeadline(c.p.Now().Add(s.timeout))
	sent := c.w.s.now
	frame, err := []byte(nil), wire.WriteFrame(nc, req.AppendTo(nil))
	if err == nil {
		frame, err = wire.ReadFrame(nc)
	}
	var resp proto.ConnectResponse
	if err == nil {
		err = resp.ReadFrom(frame)
	}
	switch {
	case err != nil:
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.w.unanswered(c, server, sent, "connect")
		}
		_ = nc.Close()
		return err
	case resp.SessionID == 0:
		_ = nc.Close()
		if c.session == nil {
			return errors.New("no session was created")
		}
		c.session.expired, c.session = true, nil
		return errExpired
	}
	_ = nc.SetDeadline(time.Time{})
	granted, forgets := resp.Extensions&proto.ExtensionOutcomes != 0, false
	if granted {
		s.known = max(s.known, resp.Zxid)
	}
	if c.w.o.Again && c.w.s.chance(30) {
		c.xid, s.lost, forgets = 0, nil, !granted
	}
	if c.session == nil {
		c.xid = 0
		s.id, s.password = resp.SessionID, slices.Clone(resp.Password[:])
		if earlier := c.w.sessions[s.id]; earlier != nil {
			c.w.s.fail(SessionIDs, "server %d gave c%d the id of session %v of c%d", server, c.id,
				s.id, earlier.client.id)
		}
		if c.w.s.chance(30) {
			s.auth = append(s.auth, fmt.Sprintf("user%d:secret", c.w.s.rng.IntN(2)))
		}
		c.proves(s)
		c.session = s
		c.w.sessions[s.id] = s
	}
	s.timeout = time.Duration(resp.TimeOut) * time.Millisecond
	address := netip.MustParseAddrPort(nc.LocalAddr().String()).Addr()
	c.nc, c.broken, c.slow = nc, false, c.w.s.chance(3)
	c.conn = &connection{number: len(c.w.connections), session: s, server: server, isOpen: true,
		life: c.w.nodes[server-1].lives, readOnly: resp.ReadOnly, granted: granted, forgets: forgets,
		files: c.w.nodes[server-1].files(), stream: nc.(*conn).in,
		address: model.Identity{Scheme: "ip", ID: auth.NewIPIdentity(address).ID}}
	c.w.connections = append(c.w.connections, c.conn)
	s.connections = append(s.connections, c.conn)
	c.heard, c.sent, c.late = c.w.s.now, c.w.s.now, false
	s.answers = append(s.answers, answer{sent, c.w.s.now, false})
	c.w.s.tracef("c%d: session %v on server %d, connection %d, seen %v", c.id, s.id, server, c.conn.number, s.seen)
	conn := c.conn
	c.p.Go("reader", func() { c.read(conn, nc) })
	c.ask(conn)
	for _, credentials := range s.auth {
		c.send(asked{Request: wire.Auth("digest", []byte(credentials))})
	}
	c.answers(conn)
	if again, any := s.watches.again(s.seen); any && !c.broken {
		c.send(asked{Request: again})
	}
	c.sendAgain()
	return nil
}

// answers waits until everything is answered.
func (c *client) answers(conn *connection) {
	for len(conn.pending) > 0 && !c.broken {
		c.sleep(time.Millisecond)
		c.checkSilence()
	}
}

// disconnect ends the connection, and leaves the session if the client has asked for its end.
func (c *client) disconnect() {
	_ = c.nc.Close()
	c.conn.isOpen = false
	c.lose()
	if c.session.closing != nil {
		c.session = nil
	}
}

// work sends requests until the connection breaks or is given up.
func (c *client) work() {
	s := c.session
	for !c.broken {
		c.sleep(min(c.load.pause(), s.timeout/6))
		c.checkSilence()
		switch {
		case c.broken:
		case c.silent > c.w.s.now && !c.w.calm:
		case c.w.calm && c.wants && len(c.conn.pending) == 0:
			c.wants = false
			c.last = c.send(asked{Request: wire.Sync("/")})
		case c.w.calm:
			c.ping()
		case len(c.conn.pending) < 64 && s.closing == nil && c.load.due():
			c.act()
		default:
			c.ping()
		}
	}
}

// ping keeps the session alive.
func (c *client) ping() {
	if c.w.s.now-c.sent >= c.session.timeout/3-c.session.timeout/12 {
		c.send(asked{Request: wire.Ping()})
	}
}

// checkSilence gives up a connection on which nothing has come for long.
func (c *client) checkSilence() {
	if c.w.s.now-c.heard > c.session.timeout*2/3 {
		if pending := c.conn.pending; len(pending) > 0 {
			c.w.unanswered(c, c.conn.server, max(c.heard, pending[0].sent), pending[0].op.String())
		}
		c.broken = true
	}
}

// act does something.
func (c *client) act() {
	c.w.steps++
	n := c.w.s.rng.IntN(1000)
	if c.w.o.Restless && c.w.s.chance(50) {
		n = 0
	}
	switch {
	case n < 15: // it goes elsewhere, and does not wait for the replies
		for range c.w.s.rng.IntN(4) {
			if !c.broken {
				c.send(c.draw())
			}
		}
		c.broken = true
	case n < 17: // it is not heard of for long
		c.silent = c.w.s.now + c.w.s.between(0, 2*c.session.timeout)
	case n < 100 && c.conn.readOnly: // it looks for a server that takes writes
		c.broken = true
	case n < 20:
		c.session.closing = c.send(asked{Request: wire.CloseSession()})
	default:
		for range 1 + c.load.burst() {
			if !c.broken {
				c.send(c.draw())
			}
			if c.load.steady > 0 && !c.broken {
				c.sleep(c.w.s.between(0, c.load.steady))
			}
		}
	}
}

// send sends a request.
func (c *client) send(a asked) *request {
	r := &request{conn: c.conn, op: a.Op, body: a.Body, path: a.path, watch: a.watch, sent: c.w.s.now,
		floor: c.w.acked}
	r.xid = a.Xid
	if !a.FixedXid {
		c.xid++
		r.xid = c.xid
	}
	r.known = c.session.known
	r.ids = append([]model.Identity{c.conn.address}, c.conn.proved...)
	c.conn.requests = append(c.conn.requests, r)
	c.conn.pending = append(c.conn.pending, r)
	head := proto.RequestHeader{Xid: r.xid, Type: r.op}
	if c.w.s.now-c.sent >= c.session.timeout {
		c.late = true
	}
	c.sent = c.w.s.now
	if c.w.s.tracing {
		c.w.s.tracef("c%d: %v xid %d %q", c.id, r.op, r.xid, r.body)
	}
	_ = c.nc.SetWriteDeadline(c.p.Now().Add(c.session.timeout))
	if err := wire.WriteFrame(c.nc, append(head.AppendTo(nil), r.body...)); err != nil {
		c.broken = true
	}
	return r
}

// read receives what comes on a connection.
func (c *client) read(conn *connection, nc net.Conn) {
	var in []byte
	buf := make([]byte, 16<<10)
	for {
		if c.slow && !c.w.calm {
			c.host.sleep(c.w.s.between(0, 200*time.Millisecond))
		}
		n, err := nc.Read(buf)
		in = append(in, buf[:n]...)
		if c.conn != conn {
			return // what comes now does not count
		}
		for len(in) >= 4 {
			size := int(binary.BigEndian.Uint32(in))
			if len(in) < 4+size {
				break
			}
			if err := c.take(conn, in[4:4+size]); err != nil {
				c.w.s.end(fmt.Errorf("client %d, connection %d to server %d: %w", c.id, conn.number, conn.server, err))
				return
			}
			in = in[4+size:]
		}
		if err != nil {
			if len(conn.items) > 0 && !c.broken && !c.late && c.session.closing == nil &&
				c.w.s.now-c.sent < c.session.timeout && c.w.nodes[conn.server-1].lives == conn.life &&
				c.w.nodes[conn.server-1].p != nil {
				c.w.cut = append(c.w.cut, conn.server)
				c.w.s.tracef("c%d: cut off by server %d", c.id, conn.server)
			}
			c.w.s.tracef("c%d: %v", c.id, err)
			c.broken = true
			c.wake.Unpark()
			return
		}
		c.heard = c.w.s.now
	}
}

// take takes one frame.
func (c *client) take(conn *connection, frame []byte) error {
	var h proto.ReplyHeader
	if len(frame) < proto.ReplyHeaderSize {
		return broken(ReplyOrder, "a frame of %d bytes", len(frame))
	}
	if err := h.ReadFrom(frame); err != nil {
		return err
	}
	s := conn.session
	it := &item{came: c.w.s.now, zxid: h.Zxid, err: h.Err, body: slices.Clone(frame[proto.ReplyHeaderSize:])}
	if h.Xid == proto.XidNotification {
		var ev proto.WatcherEvent
		if err := ev.ReadFrom(it.body); err != nil {
			return err
		}
		it.event = model.Event{Conn: conn.number, Type: ev.Type, Path: string(ev.Path), Zxid: h.Zxid}
		s.watches.heard(ev.Type, string(ev.Path))
		c.w.s.tracef("c%d: event %v", c.id, it.event)
	} else {
		if len(conn.pending) == 0 || conn.pending[0].xid != h.Xid {
			return broken(ReplyOrder, "a reply with xid %d is not to the oldest request", h.Xid)
		}
		r := conn.pending[0]
		conn.pending = conn.pending[1:]
		it.request, r.reply = r, it
		if err := c.answered(conn, r, it); err != nil {
			return err
		}
	}
	if h.Zxid > 0 {
		if h.Zxid < s.seen {
			return broken(NeverBack, "session %v goes back from %v to %v", s.id, s.seen, h.Zxid)
		}
		s.seen = h.Zxid
		if it.request != nil {
			s.known = max(s.known, h.Zxid)
		}
	}
	conn.items = append(conn.items, it)
	return nil
}

// answered takes the reply to a request.
func (c *client) answered(conn *connection, r *request, it *item) error {
	s := conn.session
	c.w.s.tracef("c%d: reply to %v xid %d: %v %v", c.id, r.op, r.xid, it.zxid, it.err.Name())
	c.w.replies++
	s.answers = append(s.answers, answer{r.sent, it.came, r.conn.stream.late >= r.sent})
	s.watches.answered(r, it.err)
	switch {
	case r.op == proto.OpOutcomes:
		if err := c.learned(s, it); err != nil {
			return err
		}
		c.wake.Unpark()
	case r.op == proto.OpAuth:
		if it.err != proto.OK {
			return broken(Writes, "auth fails with %v", it.err.Name())
		}
		_, credentials, _ := decodeAuth(r.body)
		conn.proved = append(conn.proved, identitiesOf(credentials)...)
		c.wake.Unpark()
	case r.op == proto.OpSync && it.err == proto.OK && it.zxid < r.floor:
		return broken(Syncs, "a sync shows %v, but %v was acknowledged before it", it.zxid, r.floor)
	case isWrite(r.op):
		c.load.learn(r, it)
	}
	if !conn.readOnly {
		c.w.acked = max(c.w.acked, it.zxid)
	}
	return nil
}

func decodeAuth(body []byte) (scheme, credentials string, err error) {
	var p proto.AuthPacket
	err = p.ReadFrom(body)
	return string(p.Scheme), string(p.Auth), err
}

// identitiesOf are the identities that credentials of scheme digest prove.
func identitiesOf(credentials string) []model.Identity {
	id := auth.DigestIdentity(credentials)
	all := []model.Identity{{Scheme: id.Scheme, ID: id.ID}}
	if id.ID == superDigest {
		all = append(all, model.Identity{Scheme: "super"})
	}
	return all
}
