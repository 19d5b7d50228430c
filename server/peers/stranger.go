package peers

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/seed94657493/warren/proto"
)

// A stranger is a server that is no member and may become one: it asks which server leads, learns from the leader,
// and is then made a member, by a reconfiguration or by new lists in the files of the members. A member that was
// removed is a stranger too. Source: quorum-protocol 11.7.

// channel returns the channel of a server that has introduced itself. If there are too many strangers, it forgets one
// without a connection to make room; if there is none, it returns nil.
func (e *election) channel(id proto.ServerID, addresses []string) *channel {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.mu.members[id]; c != nil {
		return c
	}
	c := e.mu.strangers[id]
	if c == nil {
		if len(e.mu.strangers) >= e.p.cfg.Limits.AnonymousMax && !e.forgetOne() || e.mu.stopped {
			return nil
		}
		c = newChannel(e, id, nil)
		e.mu.strangers[id] = c
	}
	c.move(addresses, true)
	return c
}

// forgetOne drops the stranger with the smallest id of those without a connection. It returns false if all have one.
// REQUIRES: e.mu.
func (e *election) forgetOne() bool {
	for _, c := range inOrder(e.mu.strangers) {
		if c.idle() {
			delete(e.mu.strangers, c.peer)
			return true
		}
	}
	return false
}

// callback returns the addresses at which a stranger with a smaller id is dialled: those in its greeting, if they
// belong to the host that the connection came from, else that host with the ports in the greeting. So a stranger
// cannot make this server connect to another host. Members are dialled at the addresses of the configuration.
func (e *election) callback(id proto.ServerID, nc net.Conn, named []string, deadline time.Time) (addresses []string) {
	if id > e.p.cfg.ID || e.p.member(id) != nil {
		return nil
	}
	from, err := netip.ParseAddrPort(nc.RemoteAddr().String())
	if err != nil {
		return nil
	}
	if soon := e.p.deadline(e.p.cfg.Timeouts.CallBack); soon.Before(deadline) { // the name server may be silent
		deadline = soon
	}
	for _, address := range named[:min(len(named), callbackMax)] {
		host, text, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if port, err := strconv.ParseUint(text, 10, 16); err != nil || port == 0 {
			continue
		}
		if !e.p.names.leadTo(host, from.Addr(), deadline) {
			host = from.Addr().Unmap().String()
		}
		if address = net.JoinHostPort(host, text); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// callbackMax bounds the addresses of a stranger that are looked at.
const callbackMax = 4

// leadTo reports whether host is an address, or a name that resolves to it before the deadline. What was known before
// does not count.
func (n *names) leadTo(host string, addr netip.Addr, deadline time.Time) bool {
	found := []string{host}
	if isName(host) {
		found, _ = n.resolve(host, deadline)
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(found, func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Unmap() == addr
	})
}
