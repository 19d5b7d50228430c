package words

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/admin"
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
		return err
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
		Node: AdminNode{s}, Labels: s.front.Labels, Log: s.Log,
		CommandURL: s.Config.Admin.CommandURL, IdleTimeout: s.Config.Admin.IdleTimeout,
		Metrics: s.metricsHandler(), PProf: s.Config.Admin.PProf,
		SnapshotEnabled: s.Config.Admin.SnapshotEnabled, SnapshotLacksZxid: !s.Config.SerializeLastProcessedZxid,
		RestoreEnabled: s.Config.Admin.RestoreEnabled, RestoreInterval: s.Config.Admin.RateLimiterInterval,
		Orders: s.orders, TLS: secure, Handshakes: s.front.Handshakes, Plain: !s.Config.Admin.ForceHTTPS,
		ForwardedFor: s.Config.IPUseXForwardedFor, Console: s.consoleHandler(),
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

// StopAdmin ends the admin server. It may be called more than once.
func (s *Reporter) StopAdmin() {
	s.steered.Close()
	if s.admin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), env.ShutTimeout)
	defer cancel()
	s.admin.Close(ctx)
}

// ownsRoot reports whether ids may fetch and replace the whole tree, with the znodes that they may not read. A super
// user may, and identities to which entries of the root's ACL together give every permission. Entries for the world
// do not count, since the root of a new server is open to the world.
func (s *Reporter) ownsRoot(ids []auth.Identity) bool {
	if auth.IsSuper(ids) {
		return true
	}
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	list := s.Store.State.ACLs().List(s.Store.State.Node(datatree.Root).ACL)
	for _, perm := range everyPerm {
		if !slices.ContainsFunc(list, func(e proto.ACL) bool {
			return e.Id.Scheme.String() != auth.SchemeWorld && auth.EntryAllows(&e, perm, ids)
		}) {
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
