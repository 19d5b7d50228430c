package serve

import (
	"net"
	"net/netip"

	"github.com/seed94657493/warren/datatree/auth"
)

// Connect opens a connection within the process and returns the client's end. The server's end is a client connection
// like any other: limits, ACLs, quotas, watches and the audit log hold for it. It has exactly the given identities,
// which the caller has proved, and not the one of its address: behind a proxy that would be the proxy's.
func (s *Front) Connect(remote netip.AddrPort, ids []auth.Identity) (net.Conn, error) {
	if !s.InService() {
		return nil, errNotServing
	}
	client, server := net.Pipe()
	c := newConn(s, insideConn{server, net.TCPAddrFromAddrPort(remote)})
	c.ids.Store(&ids)
	reserved, err := s.Conns.add(c, false)
	switch {
	case err == nil && reserved:
		err = errTooMany
	case err == nil && !s.Spawn("reader", newReader(c).serve):
		err = errNotServing
	}
	if err != nil {
		s.Conns.remove(c)
		_ = server.Close()
		return nil, err
	}
	return client, nil
}
