package admin

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/seed94657493/warren/server/internal/facts"
)

// errNoCredentials is ZooKeeper's text for a request without the header Authorization.
//
//lint:ignore ST1005 the text is ZooKeeper's
var errNoCredentials = errors.New("Auth info is missing for the command")

// authorize checks the header Authorization, which is "<scheme> <auth>" with the auth in plain text, and
// returns the status of a refusal. Source: operations 3.3.
func (s *Server) authorize(r *http.Request) (status int, err error) {
	header := strings.TrimSpace(r.Header.Get("Authorization"))
	if header == "" {
		return http.StatusUnauthorized, errNoCredentials
	}
	scheme, auth, _ := strings.Cut(header, " ")
	c := facts.Credentials{Scheme: scheme, Auth: strings.TrimSpace(auth), Remote: s.remote(r)}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		c.Certificate = r.TLS.PeerCertificates[0]
	}
	err = s.o.Node.Authorize(c)
	switch {
	case err == nil:
		return http.StatusOK, nil
	case errors.Is(err, facts.ErrNotAuthorized):
		return http.StatusForbidden, facts.ErrNotAuthorized
	case errors.Is(err, facts.ErrTooManyGuesses):
		return http.StatusTooManyRequests, err
	}
	return http.StatusUnauthorized, facts.ErrNotAuthenticated
}

// remote is Remote by the setting of this server.
func (s *Server) remote(r *http.Request) netip.Addr { return Remote(r, s.o.ForwardedFor) }

// Remote returns the address of the client, or the one that a proxy names if proxies are trusted. It is the zero
// Addr if that is no address.
func Remote(r *http.Request, forwarded bool) netip.Addr {
	if by := r.Header.Get("X-Forwarded-For"); by != "" && forwarded {
		first, _, _ := strings.Cut(by, ",")
		addr, _ := netip.ParseAddr(strings.TrimSpace(first))
		return addr.Unmap()
	}
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	return addr.Addr().Unmap()
}
