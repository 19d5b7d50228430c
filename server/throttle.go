package server

import (
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
)

// throttled reports whether so many requests are in the pipeline, or so many lines wait for the audit log, that no
// further request is taken from a socket. Source: server-semantics 6.3.
func (s *front) throttled() bool {
	limit := s.cfg.RequestThrottle.MaxRequests
	return limit > 0 && int(s.inProcess.Load()) >= limit || s.security.audit.Full()
}

// waitThrottle waits until requests are taken again. It returns false when the server stops.
func (s *front) waitThrottle() bool {
	if !s.throttled() {
		return true
	}
	s.metrics.throttleWaits.Inc()
	began := s.clock.now()
	defer func() { s.metrics.throttleTime.Observe(figures.Ms(s.clock.now() - began)) }()
	for s.throttled() {
		if s.stopping.WaitFor(max(s.cfg.RequestThrottle.StallTime/10, time.Millisecond)) {
			return false
		}
	}
	return true
}
