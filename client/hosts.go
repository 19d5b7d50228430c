package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
)

const defaultPort = "2181"

// hosts walks the servers of a connect string in an order that differs between clients. A name is resolved each
// time before its server is tried. Owned by the session goroutine.
type hosts struct {
	names   []string // host:port, shuffled
	next    int      // index in names
	resolve func(ctx context.Context, host string) ([]string, error)
	addrs   []string                                           // addresses of current that have not been tried
	current string                                             // host:port whose addresses these are
	front   string                                             // a server to try before all others, "" if none
	source  func(ctx context.Context) (addr string, err error) // WithServerSource; replaces the walk
}

// endpoint is an address to dial, and the host name that its certificate must have.
type endpoint struct{ addr, host string }

// parseConnect splits a connect string, "host:port,host:port/chroot", into servers and chroot.
func parseConnect(s string) (names []string, chroot string, err error) {
	list := s
	if i := strings.IndexByte(s, '/'); i >= 0 {
		list, chroot = s[:i], s[i:]
		if chroot == "/" {
			chroot = ""
		} else if err := checkPath(chroot, false); err != nil {
			return nil, "", fmt.Errorf("client: chroot of connect string %q: %w", s, err)
		}
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			host, port = strings.Trim(name, "[]"), defaultPort
			if strings.Contains(host, ":") && net.ParseIP(host) == nil {
				return nil, "", fmt.Errorf("client: server %q of connect string: %w", name, err)
			}
		}
		if _, _, err := net.SplitHostPort(net.JoinHostPort(host, port)); err != nil || host == "" || port == "" {
			return nil, "", fmt.Errorf("client: server %q of connect string has no host or no port", name)
		}
		names = append(names, net.JoinHostPort(host, port))
	}
	if len(names) == 0 {
		return nil, "", fmt.Errorf("client: connect string %q names no server", s)
	}
	return names, chroot, nil
}

func newHosts(names []string, resolve func(context.Context, string) ([]string, error)) *hosts {
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return &hosts{names: names, resolve: resolve}
}

// pick returns the next endpoint to dial; isLast is true when every server has been tried since the pass began.
func (h *hosts) pick(ctx context.Context) (e endpoint, isLast bool, err error) {
	if h.front != "" {
		addr := h.front
		h.front = ""
		host, _, _ := net.SplitHostPort(addr)
		return endpoint{addr, host}, false, nil
	}
	if h.source != nil {
		addr, err := h.source(ctx)
		if err != nil {
			return endpoint{}, true, fmt.Errorf("client: find a server: %w", err)
		}
		host, _, _ := net.SplitHostPort(addr)
		return endpoint{addr, host}, false, nil
	}
	if len(h.addrs) == 0 {
		h.current = h.names[h.next]
		h.next = (h.next + 1) % len(h.names)
		if err := h.lookup(ctx); err != nil {
			return endpoint{}, h.next == 0, err
		}
	}
	e.host, _, _ = net.SplitHostPort(h.current)
	e.addr, h.addrs = h.addrs[0], h.addrs[1:]
	return e, len(h.addrs) == 0 && h.next == 0, nil
}

func (h *hosts) lookup(ctx context.Context) error {
	host, port, _ := net.SplitHostPort(h.current)
	if h.resolve == nil || net.ParseIP(host) != nil {
		h.addrs = []string{h.current}
		return nil
	}
	ips, err := h.resolve(ctx, host)
	if err != nil {
		return fmt.Errorf("client: resolve %s: %w", host, err)
	}
	if len(ips) == 0 {
		return fmt.Errorf("client: resolve %s: no address", host)
	}
	rand.Shuffle(len(ips), func(i, j int) { ips[i], ips[j] = ips[j], ips[i] })
	h.addrs = h.addrs[:0:0]
	for _, ip := range ips {
		h.addrs = append(h.addrs, net.JoinHostPort(ip, port))
	}
	return nil
}
