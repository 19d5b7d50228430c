package zk

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto/hostport"
)

// DefaultPort is the port of a server without a port.
const DefaultPort = 2181

const lookupTimeout = 3 * time.Second

// HostProvider chooses the servers to dial.
type HostProvider interface {
	// Init is called first, with the servers of Connect, shuffled and with their ports. Its error is that of Connect.
	Init(servers []string) error
	// Len returns how many servers there are.
	Len() int
	// Next returns the address to dial. retryStart is true if all servers have been returned since Init or
	// Connected.
	Next() (server string, retryStart bool)
	// Connected is called when a server has accepted the session.
	Connected()
}

// FormatServers returns the servers with a port each, DefaultPort for those that have none.
func FormatServers(servers []string) []string {
	formatted := make([]string, len(servers))
	for i, s := range servers {
		formatted[i] = s // Init says what is wrong with it
		if complete, err := hostport.Complete(s, strconv.Itoa(DefaultPort)); err == nil {
			formatted[i] = complete
		}
	}
	return formatted
}

// DNSHostProviderOption changes how a DNSHostProvider works.
type DNSHostProviderOption interface {
	apply(*DNSHostProvider)
}

type lookupTimeoutOption time.Duration

func (o lookupTimeoutOption) apply(p *DNSHostProvider) { p.timeout = time.Duration(o) }

// WithLookupTimeout bounds one lookup of all names, overriding the default 3 s.
func WithLookupTimeout(timeout time.Duration) DNSHostProviderOption {
	return lookupTimeoutOption(timeout)
}

// DNSHostProvider walks through all addresses of all servers in a random order. Its zero value is ready for use.
// Names are looked up by Init, and again whenever a walk begins: when the Conn looks for a server after a lost
// connection, and when all addresses were tried without success. A name whose lookup fails keeps its old addresses.
// The methods may be called concurrently.
type DNSHostProvider struct {
	timeout time.Duration
	lookup  func(ctx context.Context, host string) ([]string, error) // nil for net.DefaultResolver

	mu      sync.Mutex
	servers []string            // the argument of Init
	known   map[string][]string // addresses of servers with a name, by the last lookup that succeeded
	addrs   []string            // at least one after Init
	last    int                 // the address that Next has last returned, -1 at first
	tried   int                 // how many addresses Next has returned since Init or Connected
	isNamed bool                // the name of a server may be looked up again
}

// NewDNSHostProvider returns a provider for WithHostProvider. A Conn without that option makes its own.
func NewDNSHostProvider(options ...DNSHostProviderOption) *DNSHostProvider {
	p := &DNSHostProvider{}
	for _, o := range options {
		o.apply(p)
	}
	return p
}

// Init looks up the servers. An error means that one of them cannot be found.
func (hp *DNSHostProvider) Init(servers []string) error {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.servers = slices.Clone(servers)
	hp.known, hp.addrs, hp.last, hp.tried = map[string][]string{}, nil, -1, 0
	return hp.resolve(context.Background())
}

// resolve looks up all servers and replaces the addresses if they have changed. REQUIRES: mu.
func (hp *DNSHostProvider) resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(hp.timeout, lookupTimeout))
	defer cancel()
	lookup := hp.lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	var found []string
	hp.isNamed = false
	for _, s := range hp.servers {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			return fmt.Errorf("zk: server %q: %w", s, err)
		}
		if hostport.IsAddress(host) {
			found = append(found, s)
			continue
		}
		hp.isNamed = true
		switch addrs, err := lookup(ctx, host); {
		case err == nil:
			hp.known[s] = nil
			for _, a := range addrs {
				hp.known[s] = append(hp.known[s], net.JoinHostPort(a, port))
			}
		case len(hp.known[s]) == 0:
			return fmt.Errorf("zk: look up server %q: %w", s, err)
		}
		found = append(found, hp.known[s]...)
	}
	if len(found) == 0 {
		return fmt.Errorf("zk: no addresses are known of the servers %q", hp.servers)
	}
	if slices.Equal(slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(hp.addrs))) {
		return nil
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	hp.addrs, hp.last = found, -1
	return nil
}

// Len returns how many addresses there are.
func (hp *DNSHostProvider) Len() int {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	return len(hp.addrs)
}

// Next returns the next address. It may look up names, which takes no longer than the timeout of
// WithLookupTimeout.
func (hp *DNSHostProvider) Next() (server string, retryStart bool) {
	return hp.next(context.Background())
}

// next is Next whose lookup ends with ctx.
func (hp *DNSHostProvider) next(ctx context.Context) (server string, retryStart bool) {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	retryStart = hp.tried >= len(hp.addrs)
	if isAgain := hp.last >= 0; isAgain && hp.isNamed && (retryStart || hp.tried == 0) {
		_ = hp.resolve(ctx)
	}
	if retryStart {
		hp.tried = 0
	}
	hp.tried++
	hp.last = (hp.last + 1) % len(hp.addrs)
	return hp.addrs[hp.last], retryStart
}

// Connected begins a new walk.
func (hp *DNSHostProvider) Connected() {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.tried = 0
}
