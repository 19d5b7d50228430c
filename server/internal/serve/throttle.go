package serve

import (
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
)

// Throttled reports whether so many requests are in the pipeline, or so many lines wait for the audit log, that no
// further request is taken from a socket. Source: server-semantics 6.3.
func (s *Front) Throttled() bool {
	limit := s.Config.RequestThrottle.MaxRequests
	return limit > 0 && int(s.InProcess.Load()) >= limit || s.Security.Audit.Full()
}

// waitThrottle waits until requests are taken again. It returns false when the server stops.
func (s *Front) waitThrottle() bool {
	if !s.Throttled() {
		return true
	}
	s.Metrics.ThrottleWaits.Inc()
	began := s.Clock.Now()
	defer func() { s.Metrics.ThrottleTime.Observe(figures.Ms(s.Clock.Now() - began)) }()
	for s.Throttled() {
		if s.Stopping.WaitFor(max(s.Config.RequestThrottle.StallTime/10, time.Millisecond)) {
			return false
		}
	}
	return true
}
