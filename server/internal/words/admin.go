package words

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/internal/env"
)

// AdminError is returned by Start when the admin server cannot start. Its exit code is 4, as ZooKeeper's.
type AdminError struct {
	Addr string
	Err  error
}

// Error names the address and the reason.
func (e *AdminError) Error() string {
	return "server: admin server cannot start on " + e.Addr + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *AdminError) Unwrap() error { return e.Err }

// ExitCode is the process exit code.
func (e *AdminError) ExitCode() int { return 4 }

var (
	errAdminTLS  = errors.New("admin.needClientAuth needs admin.forceHttps or admin.portUnification")
	errAdminKeys = errors.New("admin.forceHttps and admin.portUnification need ssl.quorum.keyStore.location")
)

// StartAdmin opens the port of the admin server, if it is enabled. It runs before the data is loaded, so that
// /readyz can say that the server is not ready yet. If the default port is in use there is no admin server; if a
// configured port is in use that is an error.
func (s *Reporter) StartAdmin() error {
	addr := s.Config.AdminAddress()
	if addr == "" {
		return nil
	}
	secure, err := s.adminTLS()
	if err != nil {
		return &AdminError{addr, err}
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		if s.Config.Given("admin.serverPort") {
			return &AdminError{addr, err}
		}
		s.Log.Error("there is no admin server; set admin.serverPort, or admin.enableServer=false",
			zap.String("addr", addr), zap.Error(err))
		return nil
	}
	s.admin = admin.New(admin.Options{
		Node: AdminNode{s}, Log: s.Log, CommandURL: s.Config.Admin.CommandURL, IdleTimeout: s.Config.Admin.IdleTimeout,
		Metrics: s.metricsHandler(), PProf: s.Config.Admin.PProf,
		SnapshotEnabled: s.Config.Admin.SnapshotEnabled, SnapshotLacksZxid: !s.Config.SerializeLastProcessedZxid,
		SnapshotInterval: s.Config.Admin.RateLimiterInterval,
		RestoreEnabled:   s.Config.Admin.RestoreEnabled, TLS: secure, Plain: !s.Config.Admin.ForceHTTPS,
		ForwardedFor: s.Config.IPUseXForwardedFor,
	})
	s.AdminAt = ln.Addr()
	s.Log.Info("listening for admin commands", zap.Stringer("addr", ln.Addr()),
		zap.String("url", s.Config.Admin.CommandURL))
	s.Spawn("admin", func() {
		if err := s.admin.Serve(ln); err != nil {
			s.Log.Error("the admin server has ended", zap.Error(err))
		}
	})
	return nil
}

// AdminAddr is the address of the admin server, or nil if there is none.
func (s *Reporter) AdminAddr() net.Addr { return s.AdminAt }

// StopAdmin ends the admin server. It may be called more than once.
func (s *Reporter) StopAdmin() {
	if s.admin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), env.ShutTimeout)
	defer cancel()
	s.admin.Close(ctx)
}

// WarnOpenRoot warns if every client that reaches the admin port may use the commands snapshot and restore: these
// ask only for permissions on the root. A member of an ensemble has no restore. Source: operations 3.3.
func (s *Reporter) WarnOpenRoot() {
	if s.admin == nil {
		return
	}
	if tcp, ok := s.AdminAt.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return
	}
	var open, keys []string
	if s.Config.Admin.SnapshotEnabled {
		open, keys = append(open, "fetch the tree"), append(keys, "admin.snapshot.enabled=false")
	}
	if s.Config.Admin.RestoreEnabled && !s.Config.Distributed() {
		open, keys = append(open, "replace the tree"), append(keys, "admin.restore.enabled=false")
	}
	if len(open) > 0 && s.ownsRoot([]auth.Identity{}) {
		s.Log.Warn("the root's ACL is open, so everybody who reaches the admin port can "+
			strings.Join(open, " and ")+": set an ACL on /, "+
			"bind admin.serverAddress to a loopback address, or set "+strings.Join(keys, " and "),
			zap.Stringer("addr", s.AdminAt))
	}
}

// ownsRoot reports whether ids together have every permission on the root.
func (s *Reporter) ownsRoot(ids []auth.Identity) bool {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	acl := s.Store.State.Node(datatree.Root).ACL
	for _, perm := range EveryPerm {
		if !s.Allows(acl, perm, ids) {
			return false
		}
	}
	return true
}

// identities returns the identities that the credentials of an admin command prove.
func (s *Reporter) identities(c admin.Credentials) ([]auth.Identity, bool) {
	switch {
	case c.Scheme == auth.SchemeX509:
		return s.certified(c)
	case c.Scheme == auth.SchemeIP && (c.Auth != "" || c.Remote == netip.Addr{}):
		return nil, false
	case c.Scheme == auth.SchemeDigest && !isUserAndPassword(c.Auth):
		return nil, false
	}
	return s.front.Authenticate(c.Remote, c.Scheme, []byte(c.Auth))
}
