package client

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto/hostport"
)

const defaultPort = "2181"

// hosts walks the servers of a connect string in an order that differs between clients. A name is resolved each
// time before its server is tried; the SRV records of a service are, before each pass and when a connection was lost.
// Owned by the session goroutine.
type hosts struct {
	servers  []string // host:port, in the order of the walk; the elements are never written
	service  string   // whose SRV records are the servers, "" if the connect string names them
	records  *names   // of service
	next     int      // index in servers
	names    *names
	patience time.Duration                                      // for the first answer for a name
	addrs    []string                                           // addresses of current that have not been tried
	tried    []string                                           // those that have
	open     *lookup                                            // of the name of current, if it had not ended
	current  string                                             // host:port whose addresses these are
	front    string                                             // a server to try before all others, "" if none
	source   func(ctx context.Context) (addr string, err error) // WithServerSource; replaces the walk
}

// endpoint is an address to dial, and the host name that its certificate must have.
type endpoint struct {
	addr, host string
	open       *lookup // may tell that the server is elsewhere; nil if the address is sure
}

// target is what a connect string names: servers (host:port) or a service, and a chroot, "" if there is none.
type target struct {
	servers []string
	service string
	chroot  string
}

// parseConnect reads a connect string, "host:port,host:port/chroot" or "dns-srv://service/chroot".
func parseConnect(s string) (t target, err error) {
	list, isService := strings.CutPrefix(s, srvPrefix)
	if i := strings.IndexByte(list, '/'); i >= 0 {
		list, t.chroot = list[:i], list[i:]
		if t.chroot == "/" {
			t.chroot = ""
		} else if err := checkPath(t.chroot, false); err != nil {
			return target{}, fmt.Errorf("client: chroot of connect string %q: %w", s, err)
		}
	}
	if isService {
		if list == "" || strings.ContainsAny(list, ",:[] \t") {
			return target{}, fmt.Errorf("client: connect string %q must be %sNAME/chroot, with one name and without "+
				"a port", s, srvPrefix)
		}
		t.service = list
		return t, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		host, port, err := hostport.Split(name)
		if err == nil && host == "" {
			err = fmt.Errorf("%q has no host", name)
		}
		if err != nil {
			return target{}, fmt.Errorf("client: connect string: %w", err)
		}
		t.servers = append(t.servers, net.JoinHostPort(host, cmp.Or(port, defaultPort)))
	}
	if len(t.servers) == 0 {
		return target{}, fmt.Errorf("client: connect string %q names no server", s)
	}
	return t, nil
}

func newHosts(servers []string, names *names, patience time.Duration) *hosts {
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	return &hosts{servers: servers, names: names, patience: patience}
}

// begin begins a search. The addresses of a name, and the servers of a service, may be others than when the last one
// ended.
func (h *hosts) begin() {
	h.addrs, h.open = nil, nil
	if h.service != "" {
		h.next = 0
	}
}

// list asks for the servers of the service. The server that was tried last is not the first of the list.
func (h *hosts) list(ctx context.Context) error {
	found, _, err := h.records.latest(ctx, h.service, h.patience)
	if err != nil {
		return err
	}
	if len(found) > 1 && found[0] == h.current {
		found[0], found[1] = found[1], found[0]
	}
	h.servers = found
	return nil
}

// pick returns the next endpoint to dial; isLast is true when every server has been tried since the pass began.
func (h *hosts) pick(ctx context.Context) (e endpoint, isLast bool, err error) {
	if h.source != nil && h.front == "" {
		addr, err := h.source(ctx)
		if err != nil {
			return endpoint{}, true, fmt.Errorf("client: find a server: %w", err)
		}
		host, _, _ := net.SplitHostPort(addr)
		return endpoint{addr: addr, host: host}, false, nil
	}
	front := h.front != ""
	if h.corrected(); front || len(h.addrs) == 0 {
		if front {
			h.current, h.front = h.front, ""
		} else {
			if h.service != "" && h.next == 0 {
				if err := h.list(ctx); err != nil {
					return endpoint{}, true, err
				}
			}
			h.current = h.servers[h.next]
			h.next = (h.next + 1) % len(h.servers)
		}
		if err := h.lookup(ctx); err != nil {
			return endpoint{}, !front && h.next == 0, err
		}
	}
	e.host, _, _ = net.SplitHostPort(h.current)
	e.host = strings.TrimSuffix(e.host, ".") // of the target of an SRV record
	e.addr, e.open, h.addrs = h.addrs[0], h.open, h.addrs[1:]
	h.tried = append(h.tried, e.addr)
	return e, !front && len(h.addrs) == 0 && h.next == 0, nil
}

// corrected takes the answer of the name server in place of the last known addresses, if it has come meanwhile.
func (h *hosts) corrected() {
	if h.open == nil {
		return
	}
	select {
	case <-h.open.done:
		if h.open.err == nil {
			h.addrs = slices.DeleteFunc(h.join(h.open.answer),
				func(addr string) bool { return slices.Contains(h.tried, addr) })
		}
		h.open = nil
	default:
	}
}

// lookup finds the addresses of current. The one that was tried last is not the first of them.
func (h *hosts) lookup(ctx context.Context) error {
	tried := h.tried
	h.addrs, h.tried, h.open = nil, nil, nil
	host, _, _ := net.SplitHostPort(h.current)
	if h.names.plain(host) {
		h.addrs = []string{h.current}
		return nil
	}
	ips, open, err := h.names.find(ctx, host, h.patience)
	if err != nil {
		return err
	}
	h.addrs, h.open = h.join(ips), open
	if n := len(tried); n > 0 && len(h.addrs) > 1 && h.addrs[0] == tried[n-1] {
		h.addrs[0], h.addrs[1] = h.addrs[1], h.addrs[0]
	}
	return nil
}

// join returns IP addresses with the port of current.
func (h *hosts) join(ips []string) (addrs []string) {
	_, port, _ := net.SplitHostPort(h.current)
	for _, ip := range ips {
		addrs = append(addrs, net.JoinHostPort(ip, port))
	}
	return addrs
}
