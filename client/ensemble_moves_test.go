package client

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

	"github.com/seed94657493/warren/server/embed"
)

const (
	movers   = 24                    // clients whose connections are cut
	stayTime = 40 * time.Millisecond // of a client at a server, on average
)

// movesWanted is how many moves there are at least.
func movesWanted() int64 {
	if raceEnabled {
		return 200
	}
	return 2000
}

// mover is a client that is cut off again and again, and what its watches have told.
type mover struct {
	*testing.T
	c     *Client
	path  string
	kinds map[string]*seen
	once  []firing
	moves atomic.Int64
	all   sync.WaitGroup // those who follow
	ended sync.WaitGroup // the one-shot watches

	mu sync.Mutex
	nc net.Conn // the latest
}

// firing is one one-shot watch: the version at which it was set, and the zxid of its event, 0 if it was told after a reconnect.
type firing struct {
	version int32
	zxid    Zxid
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
	m := &mover{T: t, path: path, kinds: map[string]*seen{"persistent": {}, "recursive": {}}}
	m.c = dial(t, connect, WithSessionTimeout(30*time.Second), WithConnectTimeout(2*time.Second), WithBackoff(0, 5*time.Millisecond), WithWatchQueue(1<<16),
		WithDialer(m.dial), WithHooks(Hooks{State: func(st StateChange) {
			if st.State == Connected {
				m.moves.Add(1)
			}
		}}))
	require.NoError(t, Retry(ctx, func(ctx context.Context) error { return m.c.Sync(ctx, path) }))
	for name, s := range m.kinds {
		mode, at := WatchNode, path
		if name == "recursive" {
			mode, at = WatchSubtree, parentOf(path)
		}
		var w *Watch
		require.NoError(t, Retry(ctx, func(context.Context) (err error) {
			w, err = m.c.Watch(ctx, at, mode)
			return err
		}))
		m.all.Go(func() { m.follow(ctx, name, w, s) })
	}
	return m
}

// follow notes the events of a persistent watch until the client is closed.
func (m *mover) follow(ctx context.Context, name string, w *Watch, s *seen) {
	for event := range w.All(ctx) {
		switch event.Type {
		case WatchRearmed:
			*s = append(*s, 0)
		case NodeDataChanged: // without a zxid if it was missed, and is told because of the one-shot watch
			*s = append(*s, max(event.Zxid, 0))
		case WatchLost: // the client is closed
		default:
			m.Errorf("%s: %v", name, event)
		}
	}
}

// rewatch sets a one-shot watch whenever the last has fired, until a version comes that is the last.
func (m *mover) rewatch(ctx context.Context, final *atomic.Int32) {
	for last := int32(-1); ; {
		var stat Stat
		var once *Watch
		err := Retry(ctx, func(ctx context.Context) (err error) {
			_, stat, once, err = m.c.GetW(ctx, m.path)
			return err
		})
		if err != nil || stat.Version <= last {
			m.Errorf("one-shot: version %d after %d: %v", stat.Version, last, err)
			return
		}
		if last = stat.Version; last == final.Load() {
			once.Close()
			return
		}
		event, ok := once.Next(ctx)
		if !ok || event.Type != NodeDataChanged {
			m.Errorf("one-shot at version %d: %v, %v", last, event, ok)
			return
		}
		m.once = append(m.once, firing{last, max(event.Zxid, 0)})
		if event, ok := once.Next(ctx); ok {
			m.Errorf("one-shot: another event %v", event)
		}
	}
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

// judge compares what was told with what has changed: one-shot watches fire for the next change, or for some change that was missed.
func (m *mover) judge(changes []Zxid) {
	for name, s := range m.kinds {
		require.NoError(m, s.judge(changes), name)
		require.Equal(m, changes[len(changes)-1], (*s)[len(*s)-1], "%s: the last event", name)
	}
	for _, f := range m.once {
		if next := int(f.version); f.zxid != 0 && (next >= len(changes) || changes[next] != f.zxid) {
			m.Fatalf("one-shot watch of version %d has fired for %v, which was not the next change", f.version, f.zxid)
		}
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

// Many clients are cut off thousands of times, each time to go on at any of the servers, some of which are replaced meanwhile. Watches of
// every kind tell of every change exactly once, but for those in between, which persistent watches say they may have missed, and of
// which one-shot watches tell one.
func TestWatchesAreExactOverThousandsOfMoves(t *testing.T) {
	r := seeded(t)
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: 300 * time.Millisecond}) // so that a busy machine sends no clients away
	ctx := within(t, *ensembleTime+2*time.Minute)
	w := &rewriter{T: t, c: dial(t, e.ConnectString(), WithSessionTimeout(30*time.Second), WithConnectTimeout(2*time.Second)), path: "/dir/n"}
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
	over, limit := time.Now().Add(*ensembleTime), time.Now().Add(*ensembleTime+time.Minute)
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
		require.NoError(t, Retry(ctx, func(ctx context.Context) error { return m.c.Sync(ctx, "/") }))
	}
	final.Store(w.version + 1)
	w.write(ctx)
	told, fired, gaps := 0, 0, 0
	for _, m := range all {
		require.NoError(t, Retry(ctx, func(ctx context.Context) error { return m.c.Sync(ctx, "/") }))
		m.ended.Wait()
	}
	for _, m := range all {
		require.NoError(t, m.c.Close())
		m.all.Wait()
		m.judge(w.changes)
		fired += len(m.once)
		for _, s := range m.kinds {
			told += len(*s)
			gaps += len(slices.DeleteFunc(slices.Clone(*s), func(z Zxid) bool { return z != 0 }))
		}
	}
	t.Logf("%d changes, %d moves, %d servers replaced; persistent watches told of %d changes and %d gaps, one-shot watches fired %d times", len(w.changes),
		moves(), faults, told-gaps, gaps, fired)
	require.GreaterOrEqual(t, moves(), movesWanted())
	require.Positive(t, fired)
	require.NoError(t, e.WaitEqual(ctx))
}
