package recipes

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/recipes"
)

// gate is a barrier and what was seen of it.
type gate struct {
	*work
	path string

	mu      sync.Mutex
	stands  []Stand
	passes  []Pass
	waiting map[int]int64 // since when a client waits
	isSet   chan struct{} // closed when the barrier has been set
}

// gate sets and removes a barrier, at which others wait.
func (k *work) gate() judge {
	g := &gate{work: k, path: "/work/gate", waiting: map[int]int64{}, isSet: make(chan struct{})}
	k.each(40, patience, g.wait)
	k.each(41, patience, g.set)
	k.until(&g.mu, func() bool {
		held, err := JudgeGate(g.stands, g.passes)
		return held > 0 || err != nil
	})
	return g.judge
}

// wait passes the barrier again and again. The last time it is down for good.
func (g *gate) wait(i int, w *worker) {
	b := recipes.NewBarrier(w.session(), g.path)
	for !g.isOver() {
		w.disturb()
		call := g.history.Now()
		g.mu.Lock()
		g.waiting[i] = call
		g.mu.Unlock()
		err := b.Wait(g.finally)
		g.mu.Lock()
		delete(g.waiting, i)
		g.passes = append(g.passes, Pass{i, call, g.history.Now()})
		g.mu.Unlock()
		if err != nil {
			g.Errorf("gate: wait: %v", err)
			return
		}
		g.pause(w)
	}
}

// pause lets time pass, and not more than until the barrier is set again: a client that comes just then may be at a
// server that has not heard of it.
func (g *gate) pause(w *worker) {
	g.mu.Lock()
	isSet := g.isSet
	g.mu.Unlock()
	timer := time.NewTimer(time.Duration(w.rand.IntN(30)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-isSet:
	case <-timer.C:
	}
}

// set is the life of the client that sets the barrier and removes it, and then sees all others pass.
func (g *gate) set(i int, w *worker) {
	if i > 0 {
		return // there is only one
	}
	b := recipes.NewBarrier(w.session(), g.path)
	for !g.isOver() {
		w.disturb()
		err := b.Set(g.during)
		s := Stand{From: g.history.Now()}
		if err == nil {
			g.mu.Lock()
			close(g.isSet)
			g.isSet = make(chan struct{})
			g.mu.Unlock()
			w.linger(g.during, 60)
			g.await(g.during, func(since []int64) bool { return len(since) > 0 })
			w.disturb()
			s.To = g.history.Now()
			g.mu.Lock()
			g.stands = append(g.stands, s)
			g.mu.Unlock()
		} else if !g.isOver() {
			g.Errorf("gate: set: %v", err)
		}
		if err := b.Remove(g.finally); err != nil {
			g.Errorf("gate: remove: %v", err)
			return
		}
		fell := g.history.Now()
		if !g.await(g.finally, func(since []int64) bool { return len(since) == 0 || since[0] > fell }) {
			g.Errorf("gate: somebody still waits, although the barrier fell at %d", fell)
			return
		}
	}
}

// await waits until something holds of the times since which clients wait, in order, and reports whether it does.
func (g *gate) await(ctx context.Context, holds func(since []int64) bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		g.mu.Lock()
		since := slices.Sorted(maps.Values(g.waiting))
		g.mu.Unlock()
		if holds(since) {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

func (g *gate) judge() {
	held, err := JudgeGate(g.stands, g.passes)
	g.Logf("gate: stood %d times, passed %d times, held back %d times", len(g.stands), len(g.passes), held)
	require.NoError(g, err)
}

// linger lets time pass, up to so many ms.
func (w *worker) linger(ctx context.Context, ms int) {
	timer := time.NewTimer(time.Duration(w.rand.IntN(ms*1000)) * time.Microsecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
