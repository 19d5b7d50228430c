package serve

import (
	"net"
	"net/netip"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Connect opens a connection within the process and returns the client's end. The server's end is a client connection
// like any other: limits, ACLs, quotas, watches and the audit log hold for it. It has exactly the given identities,
// which the caller has proved, and not the one of its address: behind a proxy that would be the proxy's.
func (s *Front) Connect(remote netip.AddrPort, ids []auth.Identity) (net.Conn, error) {
	if !s.IsServing() {
		return nil, errNotServing
	}
	client, server := net.Pipe()
	c := NewConn(s, insideConn{server, net.TCPAddrFromAddrPort(remote)})
	c.ids.Store(&ids)
	reserved, err := s.Conns.Add(c, false)
	switch {
	case err == nil && reserved:
		err = ErrTooMany
	case err == nil && !s.Spawn("reader", c.serve):
		err = errNotServing
	}
	if err != nil {
		s.Conns.Remove(c)
		_ = server.Close()
		return nil, err
	}
	return client, nil
}

// insideConn is the server's end of a connection within the process.
type insideConn struct {
	net.Conn
	remote net.Addr // of the browser or program for which the connection was made
}

// RemoteAddr returns the address for logs and limits.
func (c insideConn) RemoteAddr() net.Addr { return c.remote }

// Suffices reports whether a client with these identities may ask for anything: it has one of an enforced scheme, if
// a scheme is enforced.
func (s *Front) Suffices(ids []auth.Identity) bool {
	if len(s.enforced) == 0 {
		return true
	}
	return hasScheme(ids, s.enforced)
}

// WatchedPaths returns how many paths a connection watches.
func (s *Front) WatchedPaths(c *Conn) int {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	s.Watchers.Mu.Lock()
	defer s.Watchers.Mu.Unlock()
	n, _ := s.Watchers.Registry.Use(c.watcher)
	return n
}

// HasWatch reports whether a connection has a watch of a type on exactly a path.
func (s *Front) HasWatch(c *Conn, t proto.WatcherType, path string) bool {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	s.Watchers.Mu.Lock()
	defer s.Watchers.Mu.Unlock()
	return s.Watchers.Registry.Has(c.watcher, t, []byte(path))
}

// WatchMemory returns how many bytes all watches take.
func (s *Front) WatchMemory() uint64 {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	s.Watchers.Mu.Lock()
	defer s.Watchers.Mu.Unlock()
	return s.Watchers.Registry.Held()
}

// SessionIDsOpen reports whether a client that knows the id of a session can take the session over.
func (s *Front) SessionIDsOpen() bool { return s.Security.secrets.Guessable() }

// Label names a session so that the name opens it to no reader: by its id if nothing can be done with that, else by
// a name that holds until the restart of the server.
func (s *Front) Label(id proto.SessionID) string {
	if !s.SessionIDsOpen() {
		return id.String()
	}
	return s.Labels.Text(id)
}

// Password returns the password of a session.
func (s *Front) Password(id proto.SessionID) [proto.PasswordSize]byte {
	return s.Security.secrets.Password(id)
}

// CountWatches returns how many watches there are. REQUIRES: Store.Mu, at least for reading.
func (s *Front) CountWatches() int {
	s.Watchers.Mu.Lock()
	defer s.Watchers.Mu.Unlock()
	_, _, n := s.Watchers.Registry.Count()
	return n
}
