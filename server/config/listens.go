package config

import "fmt"

// Listen is an address on which a server listens.
type Listen struct {
	// Key is the setting that says so.
	Key string
	// Host is a name or an IP address; empty for all addresses.
	Host string
	// Port is 0 for any free port.
	Port int
}

// Listens returns where a server with this configuration listens: for clients, operators and scrapers and, in an
// ensemble, for other servers. If scrapers have an HTTPS port, they have an HTTP port only if it is configured, or if
// both numbers are equal: then it is one port, for both protocols.
func (c *Config) Listens() (all []Listen) {
	add := func(key, host string, port int) {
		if port != PortUnset {
			all = append(all, Listen{key, host, port})
		}
	}
	add("clientPort", c.ClientPortAddress, c.ClientPort)
	add("secureClientPort", c.SecureClientPortAddress, c.SecureClientPort)
	if c.Admin.Enabled {
		add("admin.serverPort", c.Admin.Address, c.Admin.Port)
	}
	if m := &c.Metrics; m.ClassName == PrometheusProvider {
		if m.HTTPSPort == PortUnset || m.HTTPSPort == m.Port || c.Given("metricsProvider.httpPort") {
			add("metricsProvider.httpPort", m.Host, m.Port)
		}
		if m.HTTPSPort != m.Port {
			add("metricsProvider.httpsPort", m.Host, m.HTTPSPort)
		}
	}
	own := c.Member(c.ServerID)
	if own == nil || !c.Distributed() {
		return all
	}
	key := fmt.Sprintf("server.%d", own.ID)
	for _, a := range own.Addresses {
		host := a.Host
		if c.QuorumListenOnAllIPs {
			host = ""
		}
		add(key, host, a.QuorumPort)
		add(key, host, a.ElectionPort)
		if c.ObserverMasterPort != 0 && own.Role != Observer {
			add("observerMasterPort", host, c.ObserverMasterPort)
		}
		if c.QuorumListenOnAllIPs && len(own.Addresses) > 1 {
			break // the ports of all addresses may be the same then
		}
	}
	return all
}

// overlaps reports whether a server cannot listen on both.
func (l *Listen) overlaps(other *Listen) bool {
	return l.Port == other.Port && l.Port != 0 && (l.Host == other.Host || isAny(l.Host) || isAny(other.Host))
}

// validateListens refuses addresses of this server that exclude each other, or that another server claims.
func (v *validation) validateListens() {
	all := v.c.Listens()
	for i := range all {
		for j := range i {
			a, b := &all[j], &all[i]
			v.failIf(a.overlaps(b), fmt.Sprintf("port %d is that of %s as well", b.Port, a.Key),
				b.Key, a.Key, "members")
		}
	}
	taken := map[string]*Member{}
	for i := range v.c.Members {
		m := &v.c.Members[i]
		for _, a := range m.ports() {
			other := taken[a]
			taken[a] = m
			if other == nil || other == m {
				continue
			}
			key, rule := fmt.Sprintf("server.%d", m.ID),
				fmt.Sprintf("%s is an address of server.%d as well", a, other.ID)
			if v.c.Distributed() && (m.ID == v.c.ServerID || other.ID == v.c.ServerID) {
				v.fail(rule, key, "members")
			} else {
				v.warn(rule, key)
			}
		}
	}
}
