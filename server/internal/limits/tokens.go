package limits

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed94657493/warren/server/config"
)

// Tokens limits how fast sessions are begun and resumed. Without configured tokens it limits nothing. Source:
// server-semantics 11.2. Any goroutine may use it; the settings do not change.
type Tokens struct {
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

// NewTokens returns a full bucket; local says that new sessions are local ones.
func NewTokens(cfg config.ConnectionThrottle, local bool) *Tokens {
	b := &Tokens{cfg: cfg, max: cfg.Tokens, fill: cfg.FillCount, create: 1, renew: 1, random: rand.Float64}
	if cfg.WeightEnabled {
		b.create = max(cfg.GlobalSessionWeight, cfg.LocalSessionWeight)
		b.renew = max(cfg.RenewSessionWeight, cfg.LocalSessionWeight)
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

// Take takes the tokens of a new or resumed session, and reports false if it must be refused.
func (b *Tokens) Take(isNew bool) bool {
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
		// After a long silence the bucket is full: the bound avoids an overflow.
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
func (b *Tokens) survives(now time.Time) bool {
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

// DropProbability returns the share of sessions that are refused at random, for the metrics.
func (b *Tokens) DropProbability() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.drop
}

// Deficit returns how many tokens are missing.
func (b *Tokens) Deficit() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.max - b.mu.tokens)
}
