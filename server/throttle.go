package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/server/config"
)

// tokenBucket limits how fast sessions are begun and resumed. Off unless configured. Source:
// server-semantics section 11.2.
type tokenBucket struct {
	cfg    config.ConnectionThrottle
	max    int
	fill   int
	create int
	renew  int
	mu     struct {
		sync.Mutex
		tokens int
		filled time.Time
		drop   float64
		frozen time.Time
	}
	random func() float64
	now    func() time.Time
}

// newTokenBucket returns a full bucket; local says that new sessions are local ones.
func newTokenBucket(cfg config.ConnectionThrottle, local bool) *tokenBucket {
	b := &tokenBucket{cfg: cfg, max: cfg.Tokens, fill: cfg.FillCount, create: 1, renew: 1, random: randomFloat}
	if cfg.WeightEnabled {
		b.create, b.renew = max(cfg.GlobalSessionWeight, cfg.LocalSessionWeight), max(cfg.RenewSessionWeight, cfg.LocalSessionWeight)
		if local {
			b.create = cfg.LocalSessionWeight
		}
		b.max *= cfg.GlobalSessionWeight
		b.fill *= cfg.GlobalSessionWeight
	}
	b.mu.tokens = b.max
	b.now = time.Now
	b.mu.filled = b.now()
	return b
}

// take takes what a new or a resumed session costs, and reports false if it must be refused.
func (b *tokenBucket) take(isNew bool) bool {
	if b.max <= 0 {
		return true
	}
	need := b.renew
	if isNew {
		need = b.create
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if gone := now.Sub(b.mu.filled); b.cfg.FillTime > 0 && gone > b.cfg.FillTime {
		// A long silence fills the bucket to the brim: ZOOKEEPER-4933 is what an overflow here does.
		refill := float64(gone) * float64(b.fill) / float64(b.cfg.FillTime)
		b.mu.tokens += int(min(refill, float64(b.max-b.mu.tokens)))
		b.mu.filled = now
	}
	if b.cfg.FreezeTime >= 0 && !b.survives(now) {
		return false
	}
	if b.mu.tokens < need {
		return false
	}
	b.mu.tokens -= need
	return true
}

// survives adapts the drop probability to how full the bucket is and draws. REQUIRES: b.mu.
func (b *tokenBucket) survives(now time.Time) bool {
	if now.Sub(b.mu.frozen) >= b.cfg.FreezeTime {
		used := b.max - b.mu.tokens
		switch {
		case b.mu.tokens == 0 && b.mu.drop < 1:
			b.mu.drop = min(1, b.mu.drop+b.cfg.DropIncrease)
			b.mu.frozen = now
		case b.mu.drop > 0 && float64(used) <= b.cfg.DecreaseRatio*float64(b.max):
			b.mu.drop = max(0, b.mu.drop-b.cfg.DropDecrease)
			b.mu.frozen = now
		}
	}
	return b.mu.drop <= 0 || b.random() >= b.mu.drop
}

// dropProbability is shown by the metrics.
func (b *tokenBucket) dropProbability() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.drop
}

// deficit is how many tokens are missing.
func (b *tokenBucket) deficit() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.max - b.mu.tokens)
}

// throttled reports whether so many requests are in the pipeline that no further one is taken
// from a socket. Off unless configured. Source: server-semantics section 6.3.
func (s *Server) throttled() bool {
	limit := s.cfg.RequestThrottle.MaxRequests
	return limit > 0 && int(s.inProcess.Load()) >= limit || s.security.audit.full()
}

// waitThrottle waits until the pipeline takes requests again, and returns false when the server
// stops.
func (s *Server) waitThrottle() bool {
	if !s.throttled() {
		return true
	}
	s.metrics.throttleWaits.Inc()
	began := s.clock.now()
	defer func() { s.metrics.throttleTime.observe(nsToMs(s.clock.now() - began)) }()
	for s.throttled() {
		select {
		case <-s.stopping:
			return false
		case <-time.After(max(s.cfg.RequestThrottle.StallTime/10, time.Millisecond)):
		}
	}
	return true
}

// largeBudget bounds the bytes of large writes in flight. Off unless configured. Source:
// server-semantics section 6.3.
type largeBudget struct {
	threshold int64 // requests above it count; negative is off
	max       int64
	used      atomic.Int64
}

// reserve takes n bytes if that is a large request, and reports false if there are not so many.
func (l *largeBudget) reserve(n int) bool {
	if l.threshold < 0 || int64(n) <= l.threshold {
		return true
	}
	if l.used.Add(int64(n)) > l.max {
		l.used.Add(-int64(n))
		return false
	}
	return true
}

// release gives back what reserve took for a request of n bytes.
func (l *largeBudget) release(n int) {
	if l.threshold >= 0 && int64(n) > l.threshold {
		l.used.Add(-int64(n))
	}
}
