package ensemble

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/config"
)

// A server asks the name server for all names of the configuration whenever it asks the servers. While there is no
// answer, it asks them at the addresses of the last one: a silent name server does not make a server look dead.

// nameWait is how long the name server may take before a server is asked at the address that is known. unresolvedFor
// is how long a name must not have been resolved until that is told.
const nameWait, unresolvedFor = 250 * time.Millisecond, 10 * time.Second

// whereabouts are where a name leads.
type whereabouts struct {
	addresses []netip.Addr // by the last answer; none if there was none
	trouble   string       // why there is no answer now; empty if there is
	since     time.Time    // of trouble
}

// hostsOf returns the hosts of a server, names and addresses.
func hostsOf(m *config.Member) (hosts []string) {
	for i := range m.Addresses {
		hosts = append(hosts, m.Addresses[i].Host)
	}
	if ip, err := netip.ParseAddr(m.Client.Host); m.Client.Host != "" && (err != nil || !ip.IsUnspecified()) {
		hosts = append(hosts, m.Client.Host)
	}
	return hosts
}

// lookups are questions to the name server, each of which is closed when its answer is known.
type lookups map[string]chan struct{}

// lookUp asks the name server for the names of servers, and forgets those of servers that have left. The answers are
// noted as they come.
func (k *keeper) lookUp(ctx context.Context, members []config.Member, now time.Time) (asked lookups,
	all *sync.WaitGroup) {
	asked, all = lookups{}, &sync.WaitGroup{}
	k.mu.Lock()
	defer k.mu.Unlock()
	places, hosts := map[string]whereabouts{}, []netip.Addr{}
	for i := range members {
		for _, host := range hostsOf(&members[i]) {
			if ip, err := netip.ParseAddr(host); err == nil {
				hosts = append(hosts, ip.Unmap())
			} else if asked[host] == nil {
				ended := make(chan struct{})
				places[host], asked[host] = k.places[host], ended
				all.Go(func() {
					defer close(ended)
					found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
					k.noteName(host, found, err, now)
				})
			}
		}
	}
	k.places, k.hosts = places, hosts
	return asked, all
}

// noteName notes what the name server has said at a time about a name.
func (k *keeper) noteName(host string, found []netip.Addr, err error, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.places[host]
	if err == nil {
		p = whereabouts{}
		for _, ip := range found {
			p.addresses = append(p.addresses, ip.Unmap())
		}
	} else {
		if p.trouble == "" {
			p.since = now
		}
		p.trouble = nameless(err)
	}
	k.places[host] = p
}

// remember takes the addresses that names had before this process began.
func (k *keeper) remember(known map[string][]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for host, texts := range known {
		var p whereabouts
		for _, text := range texts {
			if ip, err := netip.ParseAddr(text); err == nil {
				p.addresses = append(p.addresses, ip.Unmap())
			}
		}
		k.places[host] = p
	}
}

// nameless says in plain words why a name has no address.
func nameless(err error) string {
	var of *net.DNSError
	switch errors.As(err, &of); {
	case of == nil, of.IsTimeout, errors.Is(err, context.Canceled):
		return "the name server does not answer"
	case of.IsNotFound:
		return "the name server does not know it"
	}
	return "the name server says: " + of.Err
}

// unresolved are the names of servers that have not been resolved for a while, in order. REQUIRES: k.mu.
func (k *keeper) unresolved(now time.Time) (names []findings.Name) {
	for host, p := range k.places {
		if p.trouble != "" && now.Sub(p.since) >= unresolvedFor {
			names = append(names,
				findings.Name{Host: host, Addresses: p.addresses, Trouble: p.trouble, Since: p.since})
		}
	}
	slices.SortFunc(names, func(a, b findings.Name) int { return strings.Compare(a.Host, b.Host) })
	return names
}

// IsMember reports whether a server of the configuration has an address.
func (f *Facts) IsMember(ip netip.Addr) bool {
	k, ip := &f.keeper, ip.Unmap()
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Contains(k.hosts, ip) {
		return true
	}
	for _, p := range k.places {
		if slices.Contains(p.addresses, ip) {
			return true
		}
	}
	return false
}

// wait waits until a name is resolved, or as long as it is worth while an older answer is known.
func (k *keeper) wait(ctx context.Context, ended chan struct{}, host string) {
	if ended == nil {
		return // it is no name
	}
	k.mu.Lock()
	known := len(k.places[host].addresses) > 0
	k.mu.Unlock()
	if known {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, nameWait)
		defer cancel()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// dial connects to host:port, at the addresses that the name server has told last.
func (k *keeper) dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	p := k.places[host]
	k.mu.Unlock()
	switch {
	case len(p.addresses) == 0 && p.trouble != "":
		return nil, fmt.Errorf("no address is known of %s: %s", host, p.trouble)
	case len(p.addresses) == 0:
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	var nc net.Conn
	for i, ip := range p.addresses { // each has its share of the time
		tries, cancel := ctx, func() {}
		if deadline, ok := ctx.Deadline(); ok {
			tries, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(p.addresses)-i))
		}
		nc, err = new(net.Dialer).DialContext(tries, "tcp", net.JoinHostPort(ip.String(), port))
		cancel()
		if err == nil {
			return nc, nil
		}
	}
	return nil, err
}
