package serve

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"github.com/seed94657493/warren/server/internal/limits"
)

// connSet holds the open connections, and the limits on their number. Source: server-semantics 11.1.
type connSet struct {
	maxPerAddr, maxTotal int // 0 is unlimited
	Mu                   struct {
		sync.Mutex
		all      map[*Conn]struct{}
		PerAddr  map[netip.Addr]*address
		Reserved int
		added    uint64 // how many there were
	}
}

// admission is the place of a connection among the others. connSet.Add sets it before the reader begins; it does not
// change after that.
type admission struct {
	number   uint64   // counts the connections
	address  *address // shared by the connections from one address; nil if reserved
	reserved bool     // admitted beyond the limits, for a four-letter word only
	limit    error    // the limit that it is beyond; nil if it is not
}

// Number counts the connections of this server: a connection that was opened later has a greater one.
func (a *admission) Number() uint64 { return a.number }

// address is shared by the connections from one address.
type address struct {
	conns int // how many there are; guarded by connSet.Mu
	rate  limits.Rate
}

// WordReserve is how many connections beyond the limits may ask a four-letter word: monitoring must work even when
// the limits are reached.
const WordReserve = 16

var (
	errNoDescriptors   = errors.New("too many connections: the last file descriptors are for files and servers")
	errTooManyFromAddr = errors.New("too many connections from this address: maxClientCnxns is reached")
	ErrTooMany         = errors.New("too many connections: maxCnxns is reached")
)

func newConnSet(maxPerAddr, maxTotal int) *connSet {
	cs := &connSet{maxPerAddr: maxPerAddr, maxTotal: maxTotal}
	cs.Mu.all = map[*Conn]struct{}{}
	cs.Mu.PerAddr = map[netip.Addr]*address{}
	return cs
}

// Add admits c. reserved means that a limit is reached: c may only ask a four-letter word. scarce says that c has one
// of the last file descriptors.
func (cs *connSet) Add(c *Conn, scarce bool) (reserved bool, err error) {
	cs.Mu.Lock()
	defer cs.Mu.Unlock()
	from := cs.Mu.PerAddr[c.Remote.Addr()]
	switch {
	case scarce:
		err = errNoDescriptors
	case cs.maxTotal > 0 && len(cs.Mu.all)-cs.Mu.Reserved >= cs.maxTotal:
		err = ErrTooMany
	case cs.maxPerAddr > 0 && from != nil && from.conns >= cs.maxPerAddr:
		err = errTooManyFromAddr
	}
	if err != nil {
		if cs.Mu.Reserved >= WordReserve {
			return false, err
		}
		cs.Mu.Reserved++
		c.reserved, c.limit = true, err
	} else {
		if from == nil {
			from = new(address)
			cs.Mu.PerAddr[c.Remote.Addr()] = from
		}
		from.conns++
		c.address = from
	}
	cs.Mu.added++
	c.number = cs.Mu.added
	cs.Mu.all[c] = struct{}{}
	return c.reserved, nil
}

// Remove forgets c. It may be called more than once.
func (cs *connSet) Remove(c *Conn) {
	cs.Mu.Lock()
	defer cs.Mu.Unlock()
	if _, ok := cs.Mu.all[c]; !ok {
		return
	}
	delete(cs.Mu.all, c)
	if c.reserved {
		cs.Mu.Reserved--
		return
	}
	if c.address.conns--; c.address.conns == 0 {
		delete(cs.Mu.PerAddr, c.Remote.Addr())
	}
}

func (cs *connSet) Len() int {
	cs.Mu.Lock()
	defer cs.Mu.Unlock()
	return len(cs.Mu.all)
}

// Each calls fn for every connection that was open when Each began, the oldest first.
func (cs *connSet) Each(fn func(*Conn)) {
	cs.Mu.Lock()
	all := make([]*Conn, 0, len(cs.Mu.all))
	for c := range cs.Mu.all {
		all = append(all, c)
	}
	cs.Mu.Unlock()
	slices.SortFunc(all, func(a, b *Conn) int { return cmp.Compare(a.number, b.number) })
	for _, c := range all {
		fn(c)
	}
}
