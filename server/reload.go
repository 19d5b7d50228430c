package server

import (
	"errors"

	"github.com/seed94657493/warren/server/internal/keystore"
)

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
