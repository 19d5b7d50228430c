package peers

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
)

// election is the election channels of this server. Two servers keep one connection, which the server with the larger
// id opens. The other server asks for it: it connects, sends its greeting, and closes the connection. Source:
// quorum-protocol 2.
type election struct {
	p    *Peers
	port port

	mu struct {
		sync.Mutex
		greeting  []byte                      // replaced, and not changed
		members   map[proto.ServerID]*channel // replaced, and not changed
		strangers map[proto.ServerID]*channel // servers that are no members
		stopped   bool
		anonymous map[proto.ServerID]*channel // observers without an id, by the number that this server gave them
		last      proto.ServerID              // the last of those numbers
	}
}

func newElection(p *Peers) *election {
	e := &election{p: p}
	e.port = port{name: "election", lobby: lobby{max: p.cfg.Limits.StrangersMax}, serve: e.serve}
	e.mu.anonymous = map[proto.ServerID]*channel{}
	e.mu.strangers = map[proto.ServerID]*channel{}
	e.setMembers(p.cfg.Members)
	return e
}

// setMembers replaces the members. The channel of a member is kept, and also that of a stranger that is a member now.
func (e *election) setMembers(members []Member) {
	next := map[proto.ServerID]*channel{}
	var gone []*channel
	e.mu.Lock()
	for i := range members {
		m := &members[i]
		if m.ID == e.p.cfg.ID {
			e.mu.greeting = appendGreeting(nil, m.ID, m.Election)
			continue
		}
		c := e.mu.members[m.ID]
		if c == nil {
			c = e.mu.strangers[m.ID]
			delete(e.mu.strangers, m.ID)
		}
		if c == nil {
			c = newChannel(e, m.ID, nil)
		}
		c.move(m.Election, false)
		next[m.ID] = c
	}
	for _, c := range inOrder(e.mu.members) {
		if next[c.peer] == nil {
			gone = append(gone, c)
		}
	}
	e.mu.members = next
	stopped := e.mu.stopped
	e.mu.Unlock()
	if stopped {
		gone = append(gone, inOrder(next)...)
	}
	for _, c := range gone {
		c.stop()
	}
}

// inOrder returns channels, ordered by the id of the peer.
func inOrder(channels map[proto.ServerID]*channel) []*channel {
	all := make([]*channel, 0, len(channels))
	for _, id := range slices.Sorted(maps.Keys(channels)) {
		all = append(all, channels[id])
	}
	return all
}

// greets returns the greeting of this server.
func (e *election) greets() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.greeting
}

// reaches reports whether the machine of a member other than one acknowledges what is sent to it.
func (e *election) reaches(except proto.ServerID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range e.mu.members {
		if id != except && c.reaches() {
			return true
		}
	}
	return false
}

// find returns the channel of a server, or nil if it has none.
func (e *election) find(id proto.ServerID) *channel {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id < 0 {
		return e.mu.anonymous[id]
	}
	if c := e.mu.members[id]; c != nil {
		return c
	}
	return e.mu.strangers[id]
}

// serve serves an accepted connection.
func (e *election) serve(nc net.Conn) {
	stranger := nc
	nc, id, named, addresses, err := e.meet(nc)
	if !e.port.lobby.leave(stranger) || err != nil {
		e.p.refuse(nc, &e.port, err)
		return
	}
	_ = nc.SetDeadline(time.Time{})
	if id == anonymousID {
		e.serveAnonymous(nc)
		return
	}
	c := e.channel(id, addresses)
	if c == nil {
		e.p.refuse(nc, &e.port, fmt.Errorf("peers: more than %d servers that are not in the ensemble",
			e.p.cfg.Limits.AnonymousMax))
		return
	}
	if id < e.p.cfg.ID {
		e.p.untrack(nc)
		if c.asked() {
			e.p.cfg.Handler.AskedAnew(id, named)
		}
		return
	}
	c.replace(nc)
	c.talk(nc)
}

// meet reads the greeting of the server that has opened a connection. It returns the connection to go on with, which
// may be an encrypted one on top of the opened one, and the id of that server. A server with a smaller id has to
// prove its identity too, although the connection ends there. The server has named its addresses; a stranger may be
// dialled at those in addresses.
func (e *election) meet(opened net.Conn) (nc net.Conn, id proto.ServerID, named, addresses []string, err error) {
	deadline := e.p.deadline(e.p.cfg.Timeouts.Greeting)
	nc, err = e.p.encrypt(opened, deadline)
	if err == nil {
		id, named, err = readGreeting(nc)
	}
	if err == nil {
		err = e.expected(id)
	}
	if err == nil {
		nc, err = e.p.authenticate(nc, deadline)
	}
	if err == nil {
		addresses = e.callback(id, nc, named, deadline)
	}
	return nc, id, named, addresses, err
}

// expected returns an error if a server with this id is not accepted here.
func (e *election) expected(id proto.ServerID) error {
	switch {
	case id == e.p.cfg.ID:
		return fmt.Errorf("peers: another server has the id %d of this server", id)
	case id < 0:
		return fmt.Errorf("peers: server id %d is negative", id)
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
	e.mu.Lock()
	e.mu.stopped = true
	all := slices.Concat(inOrder(e.mu.members), inOrder(e.mu.strangers), inOrder(e.mu.anonymous))
	e.mu.Unlock()
	for _, c := range all {
		c.stop()
	}
}
