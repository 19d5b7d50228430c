package kerberos

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

// replays remembers authenticators for at least a period: twice the allowed difference of the clocks, which is how
// long an authenticator can be valid. It has two sets, of which the older one is dropped after each period.
//
// A copy of a whole exchange is worth nothing if the client asked the service to prove itself: then the service has
// answered with a new key, without which the rest cannot be signed. Other exchanges are protected by this memory
// alone, so when it is full it refuses those, and only those.
type replays struct {
	period time.Duration

	mu           sync.Mutex
	began        time.Time // of the newer set
	newer, older map[[16]byte]struct{}
}

// replaysMax bounds a set: more than 800 exchanges a second for ten minutes.
const replaysMax = 1 << 19

var errFull = errors.New("kerberos: too many clients have authenticated in the last minutes")

// add remembers an encrypted authenticator. It returns an error if it was seen before, or if it must be remembered
// and cannot be.
func (r *replays) add(now time.Time, cipher []byte, isMutual bool) error {
	hash := sha256.Sum256(cipher)
	key := [16]byte(hash[:16])
	r.mu.Lock()
	defer r.mu.Unlock()
	age := now.Sub(r.began)
	if age >= 2*r.period {
		r.newer = nil // nothing was seen for a whole period
	}
	if age >= r.period || age < 0 || r.newer == nil {
		r.older, r.newer, r.began = r.newer, map[[16]byte]struct{}{}, now
	}
	_, isOld := r.older[key]
	_, isNew := r.newer[key]
	switch {
	case isOld || isNew:
		return errReplay
	case len(r.newer) < replaysMax:
		r.newer[key] = struct{}{}
	case !isMutual:
		return errFull
	}
	return nil
}
