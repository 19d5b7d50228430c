//go:build interop

package interop

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// barrier is the ping that tells that everything before it has arrived. Its body, which servers
// ignore, tells it from the pings of the generator.
var barrier = wire.Request{Op: proto.OpPing, Body: []byte("barrier"), Xid: proto.XidPing, FixedXid: true}

// link is one session's connection to one server and what has arrived on it.
type link struct {
	conn   *wire.Conn
	mu     sync.Mutex
	stream []wire.Packet
	// answered are the replies since it was emptied, for the generator.
	answered []*wire.Call
}

func (l *link) observe(p wire.Packet) {
	if p.Call != nil && p.Call.Request.Op == proto.OpPing && p.Call.Request.Body != nil {
		return
	}
	l.mu.Lock()
	l.stream = append(l.stream, p)
	if p.Call != nil {
		l.answered = append(l.answered, p.Call)
	}
	l.mu.Unlock()
}

func (l *link) take() []wire.Packet {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stream
	l.stream = nil
	return s
}

func (l *link) open() bool { return l.conn != nil && l.conn.Err() == nil }

// side is one of the two servers.
type side struct {
	node  *cluster.Node
	canon *canon
	links []*link // by session number of the generator
}

// pair runs the same steps on both sides and compares.
type pair struct {
	left, right *side
	opened      int            // sessions so far, on either side
	allowed     map[string]int // how often each allowance was used
	events      int            // events compared
	traceTo     io.Writer      // where every burst and what the left side answered is written, or nil
	warren      bool           // the right side is Warren: allowances hold, notifications have zxids
}

func newPair(left, right *cluster.Node, sessions int) *pair {
	p := &pair{left: &side{node: left, canon: newCanon("left")}, right: &side{node: right, canon: newCanon("right")},
		allowed: map[string]int{}, warren: right.Kind() == cluster.Warren}
	for range sessions {
		p.left.links = append(p.left.links, &link{})
		p.right.links = append(p.right.links, &link{})
	}
	return p
}

func (p *pair) trace(format string, args ...any) {
	if p.traceTo != nil {
		fmt.Fprintf(p.traceTo, format+"\n", args...)
	}
}

func (p *pair) sides() []*side { return []*side{p.left, p.right} }

// difference is what ends a run.
type difference struct {
	text string
}

func (d *difference) Error() string { return d.text }

func differ(format string, args ...any) error { return &difference{fmt.Sprintf(format, args...)} }

// dial opens session i on both sides with options that may depend on the side, and compares the
// handshakes. A refusal that is the same on both is reported as refused.
func (p *pair) dial(i int, options func(*side) wire.Options) (refused bool, err error) {
	var outcome [2]string
	for k, s := range p.sides() {
		l := &link{}
		o := options(s)
		o.Observe, o.Reply = l.observe, 15*time.Second
		conn, err := wire.Dial(s.node.Addr(), o)
		switch {
		case err == nil:
			outcome[k] = fmt.Sprintf("accepted, timeout %d, read-only %v, password ok %v", conn.TimeoutMs(),
				conn.ReadOnly(), proto.SessionPassword(conn.Session()) == [16]byte(conn.Password()))
			if o.Session == 0 {
				s.canon.sessions[conn.Session()] = p.opened
			}
			l.conn = conn
			s.links[i] = l
		case errors.Is(err, wire.ErrRejected):
			outcome[k] = "rejected"
		case wire.IsEOF(err):
			outcome[k] = "closed without a reply"
		default:
			return false, differ("%s: handshake: %v", s.canon.side, err)
		}
	}
	p.opened++
	if outcome[0] != outcome[1] {
		return false, differ("handshake with %+v:\n left: %s\nright: %s", options(p.left), outcome[0], outcome[1])
	}
	return !strings.HasPrefix(outcome[0], "accepted"), nil
}

// burst is what one session sends at once.
type burst struct {
	session int
	reqs    []wire.Request
	raw     []byte // instead of reqs: bytes that are no requests
	closes  bool   // the server must close the connection after it
	ends    bool   // it holds a closeSession: the order of events is not specified
	// each, if set, makes reqs for one side, where they depend on its zxids.
	each func(*side) []wire.Request
}

// holds reports whether the burst has a request of one of the operations.
func (b *burst) holds(ops ...proto.OpCode) bool {
	return slices.ContainsFunc(b.reqs, func(r wire.Request) bool { return slices.Contains(ops, r.Op) })
}

// run sends a burst to both sides, waits until everything it causes has arrived and compares.
func (p *pair) run(b *burst) error {
	var calls [2][]*wire.Call
	for k, s := range p.sides() {
		l := s.links[b.session]
		if b.raw != nil {
			_ = l.conn.SendRaw(b.raw) // the close that follows is what counts
		} else {
			reqs := b.reqs
			if b.each != nil {
				reqs = b.each(s)
			}
			calls[k] = l.conn.SendAll(reqs)
		}
	}
	for k, s := range p.sides() {
		for _, call := range calls[k] {
			_ = call.Wait() // a reply that is missing shows in the stream
		}
		if b.closes {
			if err := s.links[b.session].conn.WaitClosed(); err != nil {
				return differ("%s: after %s: %v", s.canon.side, describe(b), err)
			}
		}
	}
	if err := p.settle(); err != nil {
		return err
	}
	for k, s := range p.sides() {
		for _, call := range calls[k] {
			if s.isDone(call) && wrote(call) {
				s.canon.addWrite(call.Reply.Header.Zxid)
			}
		}
	}
	return p.compare(b)
}

// isDone reports whether call has a reply.
func (s *side) isDone(call *wire.Call) bool {
	select {
	case <-call.Done():
		return call.Wait() == nil
	default:
		return false
	}
}

// settle waits until every event that earlier replies imply has arrived on every connection.
func (p *pair) settle() error {
	for _, s := range p.sides() {
		for i, l := range s.links {
			if !l.open() {
				continue
			}
			call := l.conn.Send(barrier)
			if err := call.Wait(); err != nil {
				var v *wire.Violation
				if errors.As(err, &v) || !wire.IsEOF(err) {
					return differ("%s: session %d: %v", s.canon.side, i, err)
				}
			}
		}
	}
	return nil
}

// compare compares what has arrived on every connection since the last time.
func (p *pair) compare(b *burst) error {
	for i := range p.left.links {
		ll, rl := p.left.links[i], p.right.links[i]
		if ll.conn == nil || rl.conn == nil {
			continue
		}
		l, r := ll.take(), rl.take()
		if b.ends {
			sortEvents(l)
			sortEvents(r)
		}
		p.trace("session %d received\n%s", i, p.left.canon.transcript(l))
		if err := p.compareStreams(i, b, l, r); err != nil {
			return err
		}
		if lo, ro := ll.open(), rl.open(); lo != ro {
			return differ("after %s: session %d: connection open: left %v (%v), right %v (%v)", describe(b), i, lo,
				ll.conn.Err(), ro, rl.conn.Err())
		}
	}
	for _, s := range p.sides() {
		if s.canon.problem != "" {
			return differ("after %s: %s", describe(b), s.canon.problem)
		}
	}
	return nil
}

func (p *pair) compareStreams(i int, b *burst, l, r []wire.Packet) error {
	for n := range max(len(l), len(r)) {
		lt, rt := "nothing", "nothing"
		var lp, rp wire.Packet
		if n < len(l) {
			lp = l[n]
			lt = p.left.canon.packet(lp)
			if lp.Event != nil {
				p.events++
			}
		}
		if n < len(r) {
			rp = r[n]
			rt = p.right.canon.packet(rp)
		}
		if err := p.checkEventZxid(i, b, rp); err != nil {
			return err
		}
		if lt == rt || p.allow(lp.Call, rp.Call) {
			continue
		}
		return differ("session %d, packet %d after a burst of session %d:\n  sent: %s\n left: %s\n       %s\n"+
			"right: %s\n       %s\nleft stream:\n%sright stream:\n%s",
			i, n, b.session, describeOf(b, lp, rp), lt, rawReply(lp), rt, rawReply(rp),
			p.left.canon.transcript(l), p.right.canon.transcript(r))
	}
	return nil
}

// checkEventZxid holds Warren's notifications to the zxid of the txn. Source: client-protocol 9.1.
func (p *pair) checkEventZxid(i int, b *burst, packet wire.Packet) error {
	if !p.warren || packet.Event == nil {
		return nil
	}
	z := packet.Event.Zxid
	if z == -1 && i == b.session && b.holds(proto.OpSetWatches, proto.OpSetWatches2) {
		return nil
	}
	if text := p.right.canon.zxid(z); z <= 0 || strings.HasSuffix(text, "+") {
		return differ("right: %s has zxid %v, which is no write's\n  sent: %s", p.right.canon.event(packet.Event),
			z, describe(b))
	}
	return nil
}

// allow reports whether an allowance covers two different replies.
func (p *pair) allow(l, r *wire.Call) bool {
	if !p.warren || l == nil || r == nil {
		return false
	}
	for _, a := range allowances {
		if a.match(l, r) {
			p.allowed[a.name]++
			return true
		}
	}
	return false
}

func (c *canon) packet(p wire.Packet) string {
	if p.Event != nil {
		return c.event(p.Event)
	}
	return c.reply(p.Call)
}

func (c *canon) transcript(stream []wire.Packet) string {
	var b strings.Builder
	for _, p := range stream {
		fmt.Fprintf(&b, "    %s\n", c.packet(p))
	}
	return b.String()
}

// sortEvents sorts the events between two replies.
func sortEvents(stream []wire.Packet) {
	for i := 0; i < len(stream); i++ {
		j := i
		for j < len(stream) && stream[j].Event != nil {
			j++
		}
		run := stream[i:j]
		for a := range run {
			for b := a + 1; b < len(run); b++ {
				x, y := run[a].Event, run[b].Event
				if y.Path < x.Path || y.Path == x.Path && y.Type < x.Type {
					run[a], run[b] = run[b], run[a]
				}
			}
		}
		i = j
	}
}

func rawReply(p wire.Packet) string {
	if p.Call == nil {
		return ""
	}
	return fmt.Sprintf("%x", p.Call.Reply.Header.AppendTo(nil)) + fmt.Sprintf(" %x", p.Call.Reply.Body)
}

// describeOf names the request that the packets answer, or the whole burst.
func describeOf(b *burst, l, r wire.Packet) string {
	for _, p := range []wire.Packet{l, r} {
		if p.Call != nil {
			return describeRequest(p.Call.Request)
		}
	}
	return describe(b)
}

func describe(b *burst) string {
	if b.raw != nil {
		return fmt.Sprintf("session %d: raw %x", b.session, b.raw)
	}
	var list []string
	for _, r := range b.reqs {
		if len(r.Body) > 300 {
			list = append(list,
				fmt.Sprintf("%v xid=%d body of %d bytes %x...", r.Op, r.Xid, len(r.Body), r.Body[:300]))
			continue
		}
		list = append(list, describeRequest(r))
	}
	return fmt.Sprintf("session %d: %s", b.session, strings.Join(list, "; "))
}

func describeRequest(r wire.Request) string {
	return fmt.Sprintf("%v xid=%d body %x %q", r.Op, r.Xid, r.Body, printable(r.Body))
}

// printable keeps the letters of a body, which is enough to recognise paths.
func printable(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c >= ' ' && c < 0x7f {
			s.WriteByte(c)
		} else if s.Len() > 0 && !strings.HasSuffix(s.String(), " ") {
			s.WriteByte(' ')
		}
	}
	return s.String()
}
