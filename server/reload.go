package server

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/wal/vfs"
)

// AwaitKeys waits while key stores that a server of this configuration needs are being replaced, so that its start
// does not fail for a file that is half written. It returns within a second if the stores can be loaded, or if they
// have not changed for a while. Start reports what is wrong with them.
func AwaitKeys(ctx context.Context, cfg *config.Config, log *zap.Logger) {
	fsys := vfs.OS()
	if cfg.SecureClientPort != config.PortUnset || cfg.ClientPortUnification {
		keystore.Settle(ctx, fsys, &cfg.TLS, log)
	}
	if cfg.SSLQuorum || cfg.PortUnification || cfg.Admin.ForceHTTPS || cfg.Admin.PortUnification {
		keystore.Settle(ctx, fsys, &cfg.QuorumTLS, log)
	}
	if cfg.Metrics.ClassName == config.PrometheusProvider && cfg.Metrics.HTTPSPort != config.PortUnset {
		keystore.Settle(ctx, fsys, exporterTLS(&cfg.Metrics), log)
	}
}

// ReloadCertificates reads the certificates of all ports with TLS again: for clients, between servers, of the admin
// server and of the metrics exporter. Existing connections are not affected. After an error the old certificates stay
// in use. Without TLS it does nothing. Any goroutine may call it after Start.
func (s *Server) ReloadCertificates() error {
	var failures []error
	for _, keys := range []*keystore.Keys{s.front.Keys(), s.member.Keys(),
		s.ops.keys.admin.Load(), s.ops.keys.exporter.Load()} {
		if keys != nil {
			failures = append(failures, keys.Reload())
		}
	}
	return errors.Join(failures...)
}
