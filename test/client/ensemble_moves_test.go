package client_test

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/cluster"
)

const (
	movers   = 24                    // clients whose connections are cut
	stayTime = 40 * time.Millisecond // of a client at a server, on average
)

// movesWanted is how many moves there are at least.
func movesWanted() int64 {
	if cluster.RaceEnabled() {
		return 200
	}
	return 2000
}

// mover is a client that is cut off again and again, and what its watches have told.
type mover struct {
	*watcher
	moves atomic.Int64

	mu sync.Mutex
	nc net.Conn // the latest
}

// dial keeps the connection, so that it can be cut.
func (m *mover) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		m.mu.Lock()
		m.nc = nc
		m.mu.Unlock()
	}
	return nc, err
}

// startMover connects a client and sets a persistent and a recursive watch.
func startMover(ctx context.Context, t *testing.T, connect, path string) *mover {
	m := &mover{}
	m.watcher = newWatcher(t, path, dial(t, connect, client.WithSessionTimeout(30*time.Second),
		client.WithConnectTimeout(2*time.Second), client.WithBackoff(0, 5*time.Millisecond),
		client.WithWatchQueue(1<<16), client.WithDialer(m.dial),
		client.WithHooks(client.Hooks{State: func(st client.StateChange) {
			if st.State == client.Connected {
				m.moves.Add(1)
			}
		}})))
	m.begin(ctx)
	return m
}

// cut ends the connection again and again, until ctx ends.
func (m *mover) cut(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		timer := time.NewTimer(time.Duration(r.Int64N(int64(2 * stayTime))))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		m.mu.Lock()
		_ = m.nc.Close()
		m.mu.Unlock()
	}
}

// replace stops and kills servers now and then, until ctx ends.
func replace(ctx context.Context, t *testing.T, e *embed.Ensemble, r *rand.Rand) (faults int) {
	for {
		timer := time.NewTimer(1500 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return faults
		}
		id := 1 + r.IntN(3)
		if leader, err := e.Leader(ctx); err == nil && r.IntN(2) == 0 {
			id = leader
		}
		if r.IntN(2) == 0 {
			e.Kill(id)
		} else {
			e.Stop(id)
		}
		if err := e.Start(id); err != nil {
			t.Error(err)
		}
		faults++
		_ = e.WaitServing(ctx)
	}
}

// Many clients are cut off thousands of times, each time to go on at any of the servers, some of which are replaced
// meanwhile. Watches of every kind tell of every change exactly once, but for those in between, which persistent
// watches say they may have missed, and of which one-shot watches tell one.
func TestWatchesAreExactOverThousandsOfMoves(t *testing.T) {
	r := seeded(t)
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: steadyTick})
	ctx := within(t, *ensembleTime+5*time.Minute)
	writer := dial(t, e.ConnectString(), client.WithSessionTimeout(30*time.Second),
		client.WithConnectTimeout(2*time.Second))
	w := &rewriter{T: t, c: writer, path: "/dir/n"}
	require.NoError(t, w.c.CreateAll(ctx, w.path))
	var final atomic.Int32 // the last version, once it is known
	final.Store(-2)
	all := make([]*mover, movers)
	moves := func() (n int64) {
		for _, m := range all {
			n += m.moves.Load() - 1
		}
		return n
	}
	for i := range all {
		all[i] = startMover(ctx, t, e.ConnectString(), w.path)
		all[i].ended.Go(func() { all[i].rewatch(ctx, &final) })
	}
	trouble, calm := context.WithCancel(ctx)
	defer calm()
	var nemesis sync.WaitGroup
	for i, m := range all {
		random := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
		nemesis.Go(func() { m.cut(trouble, random) })
	}
	faults := 0
	random := rand.New(rand.NewPCG(r.Uint64(), movers))
	nemesis.Go(func() { faults = replace(trouble, t, e, random) })
	over, limit := time.Now().Add(*ensembleTime), time.Now().Add(*ensembleTime+3*time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		if now.After(over) && moves() >= movesWanted() || now.After(limit) {
			break
		}
		w.write(ctx)
	}
	calm()
	nemesis.Wait()
	for _, id := range e.IDs() {
		require.NoError(t, e.Start(id))
	}
	require.NoError(t, e.WaitServing(ctx, e.IDs()...))
	for _, m := range all { // its watches are set, and the last change finds them so
		require.NoError(t, client.Retry(ctx, func(ctx context.Context) error { return m.c.Sync(ctx, "/") }))
	}
	final.Store(w.version + 1)
	w.write(ctx)
	told, fired, gaps := 0, 0, 0
	for _, m := range all {
		require.NoError(t, client.Retry(ctx, func(ctx context.Context) error { return m.c.Sync(ctx, "/") }))
		m.ended.Wait()
	}
	for _, m := range all {
		require.NoError(t, m.c.Close())
		m.all.Wait()
		m.judge(w.changes)
		fired += len(m.once)
		for _, s := range m.kinds {
			told += len(*s)
			gaps += len(slices.DeleteFunc(slices.Clone(*s), func(z client.Zxid) bool { return z != 0 }))
		}
	}
	t.Logf("%d changes, %d moves, %d servers replaced; persistent watches told of %d changes and %d gaps, one-shot "+
		"watches fired %d times", len(w.changes),
		moves(), faults, told-gaps, gaps, fired)
	require.GreaterOrEqual(t, moves(), movesWanted())
	require.Positive(t, fired)
	require.NoError(t, e.WaitEqual(ctx))
}
