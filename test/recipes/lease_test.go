package recipes

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// Times of TestHoldsEndBeforeTheirSessions. A server that is cut off serves for a third of embed's ten ticks, and its
// leader may count the timeout from a third of it before; a session must be longer than twice the first.
const (
	leaseTick    = 100 * time.Millisecond
	leaseTimeout = 900 * time.Millisecond
)

// A server that is cut off sends its clients away before their sessions may be expired, whichever direction is cut
// and whichever server leads next. The holder knows no other server, so its session does expire; when another is
// granted the lock the Hold has ended.
func TestHoldsEndBeforeTheirSessions(t *testing.T) {
	for _, run := range []struct {
		name    string
		servers int
		leads   bool // the holder is served by the leader
		cut     func(e *embed.Ensemble, leader, at int)
	}{
		{"a follower that is cut off", 3, false, func(e *embed.Ensemble, _, at int) { e.Isolate(at) }},
		{"a follower that is not heard", 3, false, func(e *embed.Ensemble, leader, at int) { e.OneWay(at, leader) }},
		{"a follower that does not hear", 3, false, func(e *embed.Ensemble, leader, at int) { e.OneWay(leader, at) }},
		{"a leader that is cut off", 3, true, func(e *embed.Ensemble, leader, _ int) { e.Isolate(leader) }},
		{"a leader that is cut off from those who elect at once", 3, true, func(e *embed.Ensemble, leader, _ int) {
			e.Isolate(leader)
			restart(t, e, leader)
		}},
		{"a leader that hears nobody", 3, true, func(e *embed.Ensemble, leader, _ int) {
			for _, id := range e.IDs() {
				if id != leader {
					e.OneWay(id, leader)
				}
			}
			restart(t, e, leader)
		}},
		{"a leader and a follower that are cut off from those who elect at once", 5, false,
			func(e *embed.Ensemble, leader, at int) {
				e.Partition([]int{leader, at}, without(e.IDs(), leader, at))
				restart(t, e, leader, at)
			}},
	} {
		t.Run(run.name, func(t *testing.T) {
			t.Parallel()
			e := embed.Start(t, embed.Options{Servers: run.servers, TickTime: leaseTick})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			for {
				require.NoError(t, e.WaitServing(ctx, e.IDs()...))
				leader := must.Do(e.Leader(ctx))(t)
				at := leader
				if !run.leads {
					at = leader%run.servers + 1
				}
				if endsInTime(ctx, t, e, at, func() { run.cut(e, leader, at) }) {
					return
				}
				require.NoError(t, ctx.Err(), "this program is stopped again and again")
			}
		})
	}
}

// without returns ids but those given.
func without(ids []int, but ...int) []int {
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return slices.Contains(but, id) })
}

// restart ends all but the given servers and starts them again.
func restart(t *testing.T, e *embed.Ensemble, but ...int) {
	for _, id := range without(e.IDs(), but...) {
		e.Kill(id)
	}
	for _, id := range e.IDs() {
		require.NoError(t, e.Start(id))
	}
}

// endsInTime takes the lock at a server, cuts, and waits until the lock is granted elsewhere. It returns false if
// this program was stopped meanwhile, so that nothing can be said.
func endsInTime(ctx context.Context, t *testing.T, e *embed.Ensemble, at int, cut func()) bool {
	pulse := NewPulse(leaseTick / 2)
	defer pulse.Close()
	began := time.Now()
	open := func(ids ...int) *client.Client {
		return must.Do(client.Dial(ctx, e.ConnectString(ids...), client.WithSessionTimeout(leaseTimeout),
			client.WithBackoff(time.Millisecond, 50*time.Millisecond)))(t)
	}
	holder := open(at)
	defer holder.Close()
	others := without(e.IDs(), at)
	h, err := recipes.NewMutex(holder, "/lock").Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, h.Context().Err())
	next := open(others...)
	defer func() { _ = next.Close() }() // whichever it is in the end
	cut()
	defer e.Heal()
	var granted *recipes.Hold
	for granted == nil {
		if granted, err = recipes.NewMutex(next, "/lock").Lock(ctx); err != nil {
			require.NoError(t, ctx.Err())
			if next.State().State == client.Expired { // the next server was cut off, too
				_ = next.Close()
				next = open(others...)
			}
		}
	}
	isHeld, after := h.Context().Err() == nil, time.Since(began)
	require.Greater(t, granted.Token(), h.Token())
	require.NoError(t, granted.Release(ctx))
	if !pulse.WasSteady(time.Since(began)) {
		return false
	}
	require.False(t, isHeld, "the lock was granted to another after %v", after)
	return true
}
