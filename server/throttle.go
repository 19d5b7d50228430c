package server

import (
	"sync"
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
}

func newTokenBucket(cfg config.ConnectionThrottle) *tokenBucket {
	b := &tokenBucket{cfg: cfg, max: cfg.Tokens, fill: cfg.FillCount, create: 1, renew: 1, random: randomFloat}
	if cfg.WeightEnabled {
		b.create, b.renew = cfg.GlobalSessionWeight, cfg.RenewSessionWeight
		b.max *= cfg.GlobalSessionWeight
		b.fill *= cfg.GlobalSessionWeight
	}
	b.mu.tokens = b.max
	b.mu.filled = time.Now()
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
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if gone := now.Sub(b.mu.filled); b.cfg.FillTime > 0 && gone > b.cfg.FillTime {
		// A long silence fills the bucket to the brim; it must not overflow.
		fills := int64(gone / b.cfg.FillTime)
		if fills > int64(b.max) {
			fills = int64(b.max)
		}
		b.mu.tokens = min(b.max, b.mu.tokens+int(fills)*b.fill)
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
		case b.mu.tokens == 0:
			b.mu.drop = min(1, b.mu.drop+b.cfg.DropIncrease)
			b.mu.frozen = now
		case float64(used) <= b.cfg.DecreaseRatio*float64(b.max):
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
