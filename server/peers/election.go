package peers

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// election is the election channels of this server. Two servers keep one connection, opened by the one with the larger id; the other
// one asks for it by connecting, saying who it is, and hanging up. Source: quorum-protocol 2.
type election struct {
	p        *Peers
	greeting []byte
	port     port
	members  map[proto.ServerID]*channel // fixed

	mu struct {
		sync.Mutex
		anonymous map[proto.ServerID]*channel // observers without an id, by the number they got
		last      proto.ServerID              // of those numbers
	}
}

func newElection(p *Peers) *election {
	e := &election{p: p, members: map[proto.ServerID]*channel{}}
	e.port = port{name: "election", lobby: lobby{max: p.cfg.Limits.StrangersMax}, serve: e.serve}
	e.mu.anonymous = map[proto.ServerID]*channel{}
	for i := range p.cfg.Members {
		m := &p.cfg.Members[i]
		if m.ID == p.cfg.ID {
			e.greeting = appendGreeting(nil, m.ID, m.Election)
			continue
		}
		e.members[m.ID] = newChannel(e, m.ID, m.Election)
	}
	return e
}

// find returns the channel of a server, or nil if it has none.
func (e *election) find(id proto.ServerID) *channel {
	if id >= 0 {
		return e.members[id]
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.anonymous[id]
}

// send puts m into the channel of m.To.
func (e *election) send(m *zab.Message) {
	if c := e.find(m.To); c != nil {
		c.send(m)
		return
	}
	e.p.stats.unknown.Add(1)
}

// serve handles a connection that somebody has opened.
func (e *election) serve(nc net.Conn) {
	stranger := nc
	nc, id, err := e.meet(nc)
	if !e.port.lobby.leave(stranger) || err != nil {
		e.p.refuse(nc, &e.port, err)
		return
	}
	_ = nc.SetDeadline(time.Time{})
	if id == anonymousID {
		e.serveAnonymous(nc)
		return
	}
	c := e.members[id]
	if id < e.p.cfg.ID {
		e.p.untrack(nc)
		c.asked()
		return
	}
	c.replace(nc)
	c.talk(nc)
}

// meet finds out who has opened a connection, and returns the one to go on with. A server with a smaller id has to prove who it is,
// too, although nothing more is said.
func (e *election) meet(opened net.Conn) (nc net.Conn, id proto.ServerID, err error) {
	deadline := time.Now().Add(e.p.cfg.Timeouts.Greeting)
	nc, err = e.p.encrypt(opened, deadline)
	if err == nil {
		id, err = readGreeting(nc)
	}
	if err == nil {
		err = e.expected(id)
	}
	if err == nil {
		nc, err = e.p.authenticate(nc, deadline)
	}
	return nc, id, err
}

// expected returns why a server with this id has nothing to say here.
func (e *election) expected(id proto.ServerID) error {
	switch {
	case id == e.p.cfg.ID:
		return fmt.Errorf("peers: server %d says that it is this server", id)
	case id != anonymousID && e.members[id] == nil:
		return fmt.Errorf("peers: server %d is not in the ensemble", id)
	}
	return nil
}

// serveAnonymous gives an observer without an id a number of its own while it is connected.
func (e *election) serveAnonymous(nc net.Conn) {
	e.mu.Lock()
	if len(e.mu.anonymous) >= e.p.cfg.Limits.AnonymousMax {
		e.mu.Unlock()
		e.p.refuse(nc, &e.port, fmt.Errorf("peers: more than %d observers without an id", e.p.cfg.Limits.AnonymousMax))
		return
	}
	e.mu.last--
	id := e.mu.last
	c := newChannel(e, id, nil)
	e.mu.anonymous[id] = c
	e.mu.Unlock()
	c.replace(nc)
	c.talk(nc)
	e.mu.Lock()
	delete(e.mu.anonymous, id)
	e.mu.Unlock()
}

// stop ends all channels.
func (e *election) stop() {
	for _, c := range e.members {
		c.stop()
	}
	e.mu.Lock()
	anonymous := slices.Collect(maps.Values(e.mu.anonymous))
	e.mu.Unlock()
	for _, c := range anonymous {
		c.stop()
	}
}
