package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// lookupMax bounds one lookup of a name. It is longer than Timeouts.Connect, so that a resolver whose first name
// server is silent comes to ask the next one.
const lookupMax = 30 * time.Second

// addressesMax is how many addresses of a name are used.
const addressesMax = 16

// names resolves the names of servers, beside what needs the addresses, and remembers the last answers. A name server
// that is silent or fails costs a server only the moves of other servers. There is at most one lookup of each name at
// a time.
type names struct {
	p  *Peers
	mu struct {
		sync.Mutex
		members  map[string]bool     // the names of the members; only their addresses are remembered
		known    map[string][]string // the last answer for each name
		relied   map[target]net.Conn // dialled at a known address while the name server had not answered
		lookups  map[string]*lookup  // that have not ended
		failures map[string]int      // how many lookups have failed since the last answer
		unsaved  bool                // known has changed since Config.Learned was called
		saving   bool                // a goroutine calls Config.Learned, or will
	}
}

// lookup is one question to the name server.
type lookup struct {
	since time.Duration // the moment of Runtime.Elapsed at which it began
	tell  []func(answer []string, err error)
}

// nameError is the failure of a lookup.
type nameError struct {
	host string
	err  error
}

func (e *nameError) Error() string { return fmt.Sprintf("peers: resolve %s: %v", e.host, e.err) }
func (e *nameError) Unwrap() error { return e.err }

func newNames(p *Peers) *names {
	n := &names{p: p}
	n.mu.known, n.mu.relied = map[string][]string{}, map[target]net.Conn{}
	for host, ips := range p.cfg.Known {
		ips = slices.DeleteFunc(slices.Clone(ips), func(ip string) bool { return ip == "" || isName(ip) })
		if len(ips) > 0 {
			n.mu.known[host] = ips[:min(len(ips), addressesMax)]
		}
	}
	n.mu.lookups, n.mu.failures = map[string]*lookup{}, map[string]int{}
	return n
}

// lookUp is the resolver of package net. Unlike LookupHost, LookupNetIP returns as soon as ctx is canceled.
func lookUp(ctx context.Context, host string) (ips []string, err error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, ip := range found {
		ips = append(ips, ip.Unmap().String())
	}
	return ips, err
}

// isName reports whether a host has to be resolved.
func isName(host string) bool {
	_, err := netip.ParseAddr(host)
	return host != "" && err != nil
}

// ask looks up a name, or joins the lookup that is under way. tell is called with the outcome, perhaps before ask
// returns; it must not wait. known is the last answer, nil if there was none, and late is for how long the lookup has
// been under way.
func (n *names) ask(host string, tell func(answer []string, err error)) (known []string, late time.Duration) {
	n.mu.Lock()
	known = n.mu.known[host]
	l := n.mu.lookups[host]
	begin := l == nil
	if begin {
		l = &lookup{since: n.p.rt.Elapsed()}
		n.mu.lookups[host] = l
	}
	l.tell = append(l.tell, tell)
	late = n.p.rt.Elapsed() - l.since
	n.mu.Unlock()
	if begin && !n.p.group.Go("peers resolver", func() {
		answer, err := n.resolve(host, n.p.deadline(lookupMax))
		n.ended(host, answer, err)
	}) {
		n.ended(host, nil, errStopped)
	}
	return known, late
}

// resolve asks the name server.
func (n *names) resolve(host string, deadline time.Time) ([]string, error) {
	ctx, cancel := n.p.withDeadline(n.p.ctx, deadline)
	defer cancel()
	answer, err := n.p.cfg.Resolve(ctx, host)
	if err == nil && len(answer) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return nil, &nameError{host, err}
	}
	return answer[:min(len(answer), addressesMax)], nil
}

// ended takes the outcome of a lookup, and tells it.
func (n *names) ended(host string, answer []string, err error) {
	n.mu.Lock()
	l, known, save := n.mu.lookups[host], n.mu.known[host], false
	delete(n.mu.lookups, host)
	var elsewhere []net.Conn
	if err != nil {
		n.mu.failures[host]++
	} else {
		delete(n.mu.failures, host)
		if n.mu.members[host] {
			n.mu.known[host] = answer
			save = !same(answer, known) && n.changed()
		}
		elsewhere = n.refuted(host, answer)
	}
	failures := n.mu.failures[host]
	n.mu.Unlock()
	if failures&(failures-1) == 0 && failures > 0 && n.p.ctx.Err() == nil { // less and less often
		n.p.log.Warn("name of a server does not resolve", zap.String("host", host), zap.Int("failures", failures),
			zap.Strings("last_known", known), zap.Error(err))
	}
	for _, nc := range elsewhere {
		cut(nc)
	}
	for _, tell := range l.tell {
		tell(answer, err)
	}
	if err == nil {
		n.p.rebind(host, answer)
	}
	if save {
		n.p.group.Go("peers addresses", n.save)
	}
}

// changed notes that known has changed, and reports whether save must be started. REQUIRES: n.mu.
func (n *names) changed() bool {
	start := n.p.cfg.Learned != nil && !n.mu.saving
	n.mu.saving = n.mu.saving || start
	n.mu.unsaved = true
	return start
}

// rely notes that nc was dialled at an address that the name server has not confirmed. It is closed when the name
// turns out to lead elsewhere: another server may have the address by now.
func (n *names) rely(t target, nc net.Conn) {
	host, _ := split(t.address)
	n.mu.Lock()
	wrong := !slices.Contains(n.mu.known[t.host], host)
	if !wrong {
		n.mu.relied[t] = nc
	}
	n.mu.Unlock()
	if wrong {
		cut(nc)
	}
}

// refuted takes the connections that rely on the address of a name, and returns those that the answer does not bear
// out, in the order of their addresses. REQUIRES: n.mu.
func (n *names) refuted(host string, answer []string) (elsewhere []net.Conn) {
	wrong := map[string]net.Conn{}
	for t, nc := range n.mu.relied {
		if t.host != host {
			continue
		}
		delete(n.mu.relied, t)
		if ip, _ := split(t.address); !slices.Contains(answer, ip) {
			wrong[t.address] = nc
		}
	}
	for _, address := range slices.Sorted(maps.Keys(wrong)) {
		elsewhere = append(elsewhere, wrong[address])
	}
	return elsewhere
}

// same reports whether two answers have the same addresses; name servers change the order.
func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// save gives the addresses to Config.Learned until nothing has changed since. It waits before, because the names of
// an ensemble are resolved at nearly the same time.
func (n *names) save() {
	for {
		n.p.sleep(n.p.cfg.Timeouts.Resolve)
		n.mu.Lock()
		if !n.mu.unsaved {
			n.mu.saving = false
			n.mu.Unlock()
			return
		}
		n.mu.unsaved = false
		known := maps.Clone(n.mu.known)
		n.mu.Unlock()
		n.p.cfg.Learned(known)
	}
}

// keep sets the members, whose addresses are remembered, and looks up their names.
func (n *names) keep(members []Member) {
	hosts := map[string]bool{}
	for i := range members {
		for _, address := range slices.Concat(members[i].Election, members[i].Quorum) {
			if host, _ := split(address); isName(host) {
				hosts[host] = true
			}
		}
	}
	n.mu.Lock()
	n.mu.members = hosts
	maps.DeleteFunc(n.mu.known, func(host string, _ []string) bool { return !hosts[host] })
	maps.DeleteFunc(n.mu.failures, func(host string, _ int) bool { return !hosts[host] })
	n.mu.Unlock()
	n.refresh()
}

// refresh looks up the names of the members, so that their addresses are known before they are needed.
func (n *names) refresh() {
	n.mu.Lock()
	hosts := slices.Sorted(maps.Keys(n.mu.members))
	n.mu.Unlock()
	for _, host := range hosts {
		n.ask(host, func([]string, error) {})
	}
}

// split returns the host and the port of an address, which validateMembers has checked.
func split(address string) (host, port string) {
	host, port, _ = net.SplitHostPort(address)
	return host, port
}
