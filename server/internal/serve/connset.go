package serve

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/env"
)

// connSet holds the open connections, and the limits on their number. Any goroutine may use it: its lock is held for a
// moment, and not while Each calls. Source: server-semantics 11.1.
type connSet struct {
	maxPerAddr, maxTotal int          // 0 is unlimited
	now                  func() int64 // ns on the server's clock
	mu                   struct {
		sync.Mutex
		all      map[*Conn]struct{}
		perAddr  map[netip.Addr]*address
		left     []netip.Addr // the last connection from them has ended, and they are in perAddr for their rate
		reserved int
		added    uint64 // how many there were
	}
}

// wordReserve is how many connections beyond the limits may ask a four-letter word: monitoring must work even when
// the limits are reached.
const wordReserve = 16

var (
	errNoDescriptors = errors.New(
		"too many connections: the last file descriptors are reserved for files and other servers")
	errTooManyFromAddr = errors.New("too many connections from this address: maxClientCnxns is reached")
	errTooMany         = errors.New("too many connections: maxCnxns is reached")
)

func newConnSet(maxPerAddr, maxTotal int, now func() int64) *connSet {
	cs := &connSet{maxPerAddr: maxPerAddr, maxTotal: maxTotal, now: now}
	cs.mu.all = map[*Conn]struct{}{}
	cs.mu.perAddr = map[netip.Addr]*address{}
	return cs
}

// add admits c. reserved means that a limit is reached: c may only ask a four-letter word. scarce says that c has one
// of the last file descriptors.
func (cs *connSet) add(c *Conn, scarce bool) (reserved bool, err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	from := cs.mu.perAddr[c.Remote.Addr()]
	switch {
	case scarce:
		err = errNoDescriptors
	case cs.maxTotal > 0 && len(cs.mu.all)-cs.mu.reserved >= cs.maxTotal:
		err = errTooMany
	case cs.maxPerAddr > 0 && from != nil && from.conns >= cs.maxPerAddr:
		err = errTooManyFromAddr
	}
	if err != nil {
		if cs.mu.reserved >= wordReserve {
			return false, err
		}
		cs.mu.reserved++
		c.reserved, c.limit = true, err
	} else {
		if from == nil {
			from = new(address)
			cs.mu.perAddr[c.Remote.Addr()] = from
		}
		from.conns++
		c.address = from
	}
	cs.mu.added++
	c.number = cs.mu.added
	cs.mu.all[c] = struct{}{}
	return c.reserved, nil
}

// remove forgets c. It may be called more than once.
func (cs *connSet) remove(c *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, ok := cs.mu.all[c]; !ok {
		return
	}
	delete(cs.mu.all, c)
	if c.reserved {
		cs.mu.reserved--
		return
	}
	if c.address.conns--; c.address.conns == 0 {
		cs.mu.left = append(cs.mu.left, c.Remote.Addr())
		cs.forget()
		cs.forget() // more than can leave
	}
}

// forget forgets the address that left first, or that has waited longest since it was looked at, unless it has used
// its rate just now: a client that connects anew is no faster. REQUIRES: mu.
func (cs *connSet) forget() {
	if len(cs.mu.left) == 0 {
		return
	}
	addr := cs.mu.left[0]
	cs.mu.left = cs.mu.left[1:]
	switch of := cs.mu.perAddr[addr]; {
	case of == nil || of.conns > 0: // it has left again, or is back
	case of.rate.Rested(cs.now()):
		delete(cs.mu.perAddr, addr)
	default:
		cs.mu.left = append(cs.mu.left, addr)
	}
}

// Len returns how many connections are open.
func (cs *connSet) Len() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.mu.all)
}

// Busiest returns an address that has more connections than any other, and their number, 0 if there is none. Those
// beyond the limits do not count.
func (cs *connSet) Busiest() (busiest netip.Addr, most int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for addr, of := range cs.mu.perAddr {
		if of.conns > most {
			busiest, most = addr, of.conns
		}
	}
	return busiest, most
}

// Each calls fn for every connection that was open when Each began, the oldest first.
func (cs *connSet) Each(fn func(*Conn)) {
	cs.mu.Lock()
	all := make([]*Conn, 0, len(cs.mu.all))
	for c := range cs.mu.all {
		all = append(all, c)
	}
	cs.mu.Unlock()
	slices.SortFunc(all, func(a, b *Conn) int { return cmp.Compare(a.number, b.number) })
	for _, c := range all {
		fn(c)
	}
}

// idle reports whether no connection of a client has a session. Those within the process are not of clients.
func (cs *connSet) idle() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.mu.all {
		if c.Session.Load() != nil && !c.inside() {
			return false
		}
	}
	return true
}

// SortedConns returns the open connections by address.
func (s *Front) SortedConns() []*Conn {
	var all []*Conn
	s.Conns.Each(func(c *Conn) { all = append(all, c) })
	slices.SortFunc(all, func(a, b *Conn) int { return a.Remote.Compare(b.Remote) })
	return all
}

// refused counts and logs that a limit leaves no room for the connection.
func (c *Conn) refused(limit error) {
	why := env.RefusedByLimit
	switch limit {
	case errNoDescriptors:
		why = env.RefusedByDescriptors
	case errTooManyFromAddr:
		why = env.RefusedByAddress
	}
	c.srv.Metrics.Refuse(why)
	c.srv.Log.Warn("refusing connection", zap.Stringer("client_addr", c.Remote), zap.Error(limit))
}
