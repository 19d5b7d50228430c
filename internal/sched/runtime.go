package sched

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"time"
)

// Runtime is the surroundings in which the goroutines of one server run.
type Runtime interface {
	// Now is the wall clock, which may jump.
	Now() time.Time
	// Elapsed is the time since a moment that does not change while the process runs. It never goes back, and does
	// not follow the wall clock. The time in which the machine was suspended counts.
	Elapsed() time.Duration
	// Go runs fn in a goroutine of its own. The name tells readers of profiles and traces what it does.
	Go(name string, fn func())
	// After runs fn when d has passed, unless cancel is called before. fn must not wait. cancel may be called more
	// than once.
	After(d time.Duration, fn func()) (cancel func())
	// Parker returns a new Parker without a token.
	Parker() Parker
	// Uint64 is a random number.
	Uint64() uint64
}

// Parker lets one goroutine wait for others. It holds at most one token.
type Parker interface {
	// Park takes the token, and waits until there is one. One goroutine at a time may call it.
	Park()
	// Unpark puts a token, if there is none.
	Unpark()
}

// OS is the Runtime of production: Go's clock, scheduler and random numbers.
func OS() Runtime { return goRuntime{} }

type goRuntime struct{}

func (goRuntime) Now() time.Time { return time.Now() }

func (goRuntime) Elapsed() time.Duration { return sinceBegan() }

// Go gives the goroutine its name as the pprof label "goroutine", by which profiles can be filtered.
func (goRuntime) Go(name string, fn func()) {
	go pprof.Do(context.Background(), pprof.Labels("goroutine", name), func(context.Context) { fn() })
}

func (goRuntime) After(d time.Duration, fn func()) (cancel func()) {
	t := time.AfterFunc(d, fn)
	return func() { t.Stop() }
}

func (goRuntime) Parker() Parker { return make(goParker, 1) }

func (goRuntime) Uint64() uint64 { return rand.Uint64() }

// goParker is a channel with room for the token.
type goParker chan struct{}

func (p goParker) Park() { <-p }

func (p goParker) Unpark() {
	select {
	case p <- struct{}{}:
	default:
	}
}
