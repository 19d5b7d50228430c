package server

// ReloadCertificates reads the certificates of the client ports again. Connections that exist stay as they are; on an
// error what there was stays in use. Without TLS it does nothing. Any goroutine may call it after Start.
func (s *Server) ReloadCertificates() error {
	if s.security.keys == nil {
		return nil
	}
	return s.security.keys.Reload()
}
