package server

import (
	"errors"

	"github.com/seed94657493/warren/server/internal/keystore"
)

// ReloadCertificates reads the certificates of the client ports and of the ports between servers again. Connections that exist
// stay as they are; on an error what there was stays in use. Without TLS it does nothing. Any goroutine may call it
// after Start.
func (s *Server) ReloadCertificates() error {
	var failures []error
	for _, keys := range []*keystore.Keys{s.front.Keys(), s.member.Keys()} {
		if keys != nil {
			failures = append(failures, keys.Reload())
		}
	}
	return errors.Join(failures...)
}
