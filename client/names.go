package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto/hostport"
)

const (
	// answerWait is how long an answer of the name server is waited for while there are last known addresses.
	answerWait = 100 * time.Millisecond
	// lookupMax bounds one lookup, so long that a resolver whose first name server is silent comes to ask the next.
	lookupMax = 30 * time.Second
)

// names resolves the names of servers or services and remembers the last answers, which are used while the name server
// is silent or fails. There is at most one lookup of a name at a time, in a goroutine of its own. The methods may be
// called by any goroutine.
type names struct {
	resolve func(ctx context.Context, host string) ([]string, error) // nil: names are left to the dialer
	life    context.Context                                          // ends lookups

	mu      sync.Mutex
	known   map[string][]string
	lookups map[string]*lookup // that have not ended
}

// lookup is one question to the name server.
type lookup struct {
	since  time.Time
	done   chan struct{} // closed when answer and err are set
	answer []string
	err    error
}

// lookUp is the resolver of package net. Unlike LookupHost, LookupNetIP returns as soon as ctx is canceled.
func lookUp(ctx context.Context, host string) (ips []string, err error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, ip := range found {
		ips = append(ips, ip.Unmap().String())
	}
	return ips, err
}

func newNames(life context.Context, resolve func(context.Context, string) ([]string, error)) *names {
	return &names{resolve: resolve, life: life, known: map[string][]string{}, lookups: map[string]*lookup{}}
}

// plain reports whether a host is dialled as it is.
func (n *names) plain(host string) bool { return n.resolve == nil || hostport.IsAddress(host) }

// ask looks up a name, or joins the lookup that is under way. known is the last answer, nil if there was none.
func (n *names) ask(host string) (known []string, l *lookup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l = n.lookups[host]; l == nil {
		l = &lookup{since: time.Now(), done: make(chan struct{})}
		n.lookups[host] = l
		go n.run(host, l)
	}
	return n.known[host], l
}

func (n *names) run(host string, l *lookup) {
	ctx, cancel := context.WithTimeout(n.life, lookupMax)
	defer cancel()
	l.answer, l.err = n.resolve(ctx, host)
	if l.err == nil && len(l.answer) == 0 {
		l.err = errors.New("no address")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.err == nil {
		n.known[host] = l.answer
	}
	delete(n.lookups, host)
	close(l.done)
}

// find returns the addresses of a name, in random order.
func (n *names) find(
	ctx context.Context, host string, patience time.Duration,
) (ips []string, open *lookup, err error) {
	ips, open, err = n.latest(ctx, host, patience)
	rand.Shuffle(len(ips), func(i, j int) { ips[i], ips[j] = ips[j], ips[i] })
	return ips, open, err
}

// latest returns the answer of the name server for a name. If the lookup fails, or takes longer than answerWait, that
// is the last known answer, and open is the lookup if it has not ended. Without a known answer latest waits as long as
// patience and ctx allow.
func (n *names) latest(
	ctx context.Context, host string, patience time.Duration,
) (ips []string, open *lookup, err error) {
	known, l := n.ask(host)
	if len(known) > 0 {
		patience = answerWait - time.Since(l.since)
	}
	select {
	case <-l.done:
	case <-time.After(patience):
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	select {
	case <-l.done:
		ips, err = l.answer, l.err
	default:
		open, err = l, errors.New("the name server does not answer")
	}
	switch {
	case err == nil:
	case len(known) > 0:
		ips = known
	default:
		return nil, nil, fmt.Errorf("client: resolve %s: %w", host, err)
	}
	return slices.Clone(ips), open, nil
}

// abandon calls give when l ends with an answer that does not have addr, unless ctx ends before.
func (l *lookup) abandon(ctx context.Context, addr string, give func()) {
	select {
	case <-l.done:
		if ip, _, _ := net.SplitHostPort(addr); l.err == nil && !slices.Contains(l.answer, ip) {
			give()
		}
	case <-ctx.Done():
	}
}

// refresh looks up the names of all servers, so that their addresses are known when the name server is not there.
func (n *names) refresh(servers []string) {
	for _, server := range servers {
		if host, _, _ := net.SplitHostPort(server); !n.plain(host) {
			n.ask(host)
		}
	}
}
