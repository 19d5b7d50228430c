package recipes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
)

// Times of an ensemble. A server that is cut off sends its clients away after a third of embed's ten ticks; sessions
// must be so much longer than that as client.WhileHeld says.
const (
	tick            = 50 * time.Millisecond
	sessionTimeout3 = 1000 * time.Millisecond
)

// trouble is an ensemble to whose servers things happen.
type trouble struct {
	*testing.T
	*embed.Ensemble
	rand   *rand.Rand
	done   sync.WaitGroup
	end    context.CancelFunc
	faults map[string]int // how often each was done
}

// startTrouble starts an ensemble of three, and what happens to it until calm is called. Every new leader gives all
// sessions their whole timeout again, so that the locks of clients that died are granted to others only if pauses, of
// up to so many ms, are long enough.
func startTrouble(t *testing.T, seed uint64, pauseMs int) *trouble {
	n := &trouble{T: t, Ensemble: embed.Start(t, embed.Options{Servers: 3, TickTime: tick, Seed: seed}),
		rand: rand.New(rand.NewPCG(seed, 0)), faults: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	n.end = cancel
	n.done.Go(func() {
		for ctx.Err() == nil {
			n.fault(ctx)
			n.linger(ctx, pauseMs)
		}
	})
	t.Cleanup(n.calm)
	return n
}

// calm ends the trouble and waits until all servers serve.
func (n *trouble) calm() {
	n.end()
	n.done.Wait()
	n.Heal()
	for _, id := range n.IDs() {
		require.NoError(n, n.Start(id))
	}
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	require.NoError(n, n.WaitServing(ctx, n.IDs()...))
}

// fault does one bad thing and makes it good again. Two servers are well at any time, though not always the same two.
func (n *trouble) fault(ctx context.Context) {
	id := 1 + n.rand.IntN(3)
	if leader, err := n.Leader(ctx); err == nil && n.rand.IntN(2) == 0 {
		id = leader
	}
	other := id%3 + 1
	down := func(end func(int)) func() {
		return func() {
			end(id)
			n.linger(ctx, 300)
			n.start(id)
		}
	}
	cut := func(cut func()) func() {
		return func() {
			cut()
			n.linger(ctx, 2000)
			n.Heal()
		}
	}
	faults := []struct {
		name string
		do   func()
	}{
		{"kill", down(n.Kill)},
		{"power loss", down(n.PowerLoss)},
		{"stop", down(n.Stop)},
		{"isolate", cut(func() { n.Isolate(id) })},
		{"one way", cut(func() { n.OneWay(id, other) })},
		{"deaf", cut(func() { n.OneWay(other, id); n.OneWay(other%3+1, id) })},
		{"mute", cut(func() { n.OneWay(id, other); n.OneWay(id, other%3+1) })},
		{"cut clients", func() { n.CutClients(id) }},
		{"refuse clients", cut(func() { n.RefuseClients(id) })},
		{"slow", cut(func() { n.Delay(id, other, 30*time.Millisecond); n.Delay(other, id, 30*time.Millisecond) })},
		{"lost alone", func() { n.Isolate(id); n.linger(ctx, 400); down(n.PowerLoss)(); n.Heal() }},
	}
	f := faults[n.rand.IntN(len(faults))]
	n.faults[f.name]++
	f.do()
	if n.rand.IntN(3) > 0 {
		_ = n.WaitServing(ctx, n.IDs()...)
	}
}

// start brings a server back.
func (n *trouble) start(id int) {
	if err := n.Start(id); err != nil {
		n.Errorf("server %d: %v", id, err)
	}
}

// linger lets time pass, up to so many ms.
func (n *trouble) linger(ctx context.Context, ms int) {
	timer := time.NewTimer(time.Duration(n.rand.IntN(ms*1000)) * time.Microsecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// arena is where contests take place.
func (n *trouble) arena() *arena {
	a := &arena{timeout: sessionTimeout3}
	for _, id := range n.IDs() {
		a.servers = append(a.servers, n.Addr(id))
	}
	a.expire = func(ctx context.Context, session client.Resume) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = n.ExpireSession(ctx, session.SessionID)
	}
	return a
}

// ensembleContests is contests at an ensemble in trouble.
func ensembleContests(t *testing.T, forced bool) {
	seed := seedOf(t)
	n := startTrouble(t, seed, 1000)
	contests(t, n.arena(), forced, seed)
	n.calm()
	t.Log("faults: " + fmt.Sprint(n.faults))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, n.WaitEqual(ctx))
}

// No client is granted a lock while another may trust its own, whatever happens to the servers and between them.
func TestHoldsExcludeOnAnEnsemble(t *testing.T) { ensembleContests(t, false) }

// Sessions are ended by the leader as well, as if their clients had been silent. Tokens are then what protects.
func TestTokensFenceOffOnAnEnsemble(t *testing.T) { ensembleContests(t, true) }
