package recipes

import (
	"errors"
	"sync"

	"github.com/seed94657493/warren/client"
)

// ErrFenced is returned by a Register for a token that is smaller than one that it has seen.
var ErrFenced = errors.New("recipes: token is old")

// Register is what a lock protects: a number that refuses old tokens. Reads count as well as writes: a client that
// reads announces that it will write, and no client with an older token may come in between.
type Register struct {
	mu      sync.Mutex
	largest client.Zxid
	value   int
	refused int
}

func (r *Register) check(token client.Zxid) error {
	if token < r.largest {
		r.refused++
		return ErrFenced
	}
	r.largest = token
	return nil
}

// Read returns the number.
func (r *Register) Read(token client.Zxid) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.check(token)
}

// Write replaces the number.
func (r *Register) Write(token client.Zxid, value int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.check(token)
	if err == nil {
		r.value = value
	}
	return err
}

// Final returns the number, and how often a client was refused.
func (r *Register) Final() (value, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.refused
}
