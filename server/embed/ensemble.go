package embed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/wal/vfs"
)

// Ensemble is the servers that run in this process, with ids from 1: first the voters, then observers, then
// joiners. Methods with an id panic if there is no such server.
type Ensemble struct {
	options Options
	network *network
	members []*member
	watches sync.WaitGroup // one goroutine for each running server

	mu   sync.Mutex
	rand *rand.Rand // guarded by mu
}

// TB is the part of *testing.T or *testing.B that Start needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Context() context.Context
}

// startTimeout is how long Start waits until all servers serve, besides the time for two failed elections: an
// elected server whose voters have changed their votes gives up after initLimit ticks.
const startTimeout = 30 * time.Second

// Start runs an ensemble until the test ends. When it returns every server serves; an error fails the test.
func Start(t TB, o Options) *Ensemble {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(e.Close)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout+2*initLimit*e.options.TickTime)
	defer cancel()
	if err := e.WaitServing(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	return e
}

// New starts an ensemble and does not wait until it has a leader; see WaitServing. Close ends it.
func New(o Options) (*Ensemble, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	e := &Ensemble{options: o, network: newNetwork(o.all()), rand: rand.New(rand.NewPCG(o.Seed, 0))}
	clients := map[int]int{}
	for id := 1; id <= o.all(); id++ {
		d, err := newDoor()
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("embed: opening a client port: %w", err)
		}
		e.members = append(e.members, &member{ensemble: e, id: id, door: d})
		clients[id] = d.port()
	}
	for _, m := range e.members {
		m.prepare(clients)
	}
	if err := e.each((*member).start); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// each runs fn for all members at once.
func (e *Ensemble) each(fn func(*member) error) error {
	var wg sync.WaitGroup
	failures := make([]error, len(e.members))
	for i, m := range e.members {
		wg.Go(func() { failures[i] = fn(m) })
	}
	wg.Wait()
	return errors.Join(failures...)
}

// Close ends all servers at once, as Kill does, and releases all their resources. Data in Options.Dir stays. The
// Ensemble must not be used afterwards.
func (e *Ensemble) Close() {
	_ = e.each(func(m *member) error {
		m.kill(unsyncedAll)
		m.door.close()
		return nil
	})
	e.watches.Wait()
}

// member returns a server by its id.
func (e *Ensemble) member(id int) *member {
	if id < 1 || id > len(e.members) {
		panic(fmt.Sprintf("embed: server %d: the ids are 1 to %d", id, len(e.members)))
	}
	return e.members[id-1]
}

// IDs returns the ids of all servers, running or not.
func (e *Ensemble) IDs() []int {
	ids := make([]int, len(e.members))
	for i := range ids {
		ids[i] = i + 1
	}
	return ids
}

// Addr returns the client address of a server, host:port. It stays the same when the server is restarted.
func (e *Ensemble) Addr(id int) string { return e.member(id).door.addr() }

// ConnectString returns the client addresses of the given servers, or of all, in the form of a client's connect
// string.
func (e *Ensemble) ConnectString(ids ...int) string {
	if len(ids) == 0 {
		ids = e.IDs()
	}
	addrs := make([]string, len(ids))
	for i, id := range ids {
		addrs[i] = e.Addr(id)
	}
	return strings.Join(addrs, ",")
}

// Line returns the server line of a server as a reconfiguration that adds it needs it: server.ID=address.
func (e *Ensemble) Line(id int) string {
	m := e.member(id)
	return fmt.Sprintf("server.%d=%s", id, m.cfg.Member(int64(id)))
}

// Server returns the server that runs under an id, or nil if it is down.
func (e *Ensemble) Server(id int) *server.Server { return e.member(id).running.Load() }

// Disk returns the filesystem of a server, where a test can make it slow, full or broken, or nil with
// Options.Dir. Kill and PowerLoss replace it.
func (e *Ensemble) Disk(id int) *vfs.Mem {
	m := e.member(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disk == nil {
		return nil
	}
	return m.disk.mem
}

// pollEvery is how often poll checks its condition.
const pollEvery = time.Millisecond

// poll waits until fn reports true or fails. If ctx ends before, the error names what.
func poll(ctx context.Context, what string, fn func() (bool, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if ok, err := fn(); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("embed: waiting for %s: %w", what, ctx.Err())
		}
	}
}

// Leader waits until a server leads and serves, and returns its id; of a standalone server 1. While a network is
// partitioned an old leader may still believe that it leads for some ticks: the leader of the newest epoch is
// returned.
func (e *Ensemble) Leader(ctx context.Context) (id int, err error) {
	err = poll(ctx, "a leader", func() (bool, error) {
		id = e.leads()
		return id > 0, nil
	})
	return id, err
}

// leads returns the id of the leader, or 0.
func (e *Ensemble) leads() (id int) {
	newest := int64(-1)
	for _, m := range e.members {
		if st, up := m.status(); up && st.Serving && (st.Mode == "leader" || st.Mode == "standalone") &&
			st.Epoch > newest {
			id, newest = m.id, st.Epoch
		}
	}
	return id
}

// WaitServing waits until the given servers, or all running ones, serve under one leader.
func (e *Ensemble) WaitServing(ctx context.Context, ids ...int) error {
	return e.waitAgree(ctx, "service", ids, func(_ int, first, st *server.Status) (bool, error) {
		return st.Leader == first.Leader && st.Epoch == first.Epoch, nil
	})
}

// waitAgree waits until all of the servers serve, and agree says so of the first and each other.
func (e *Ensemble) waitAgree(ctx context.Context, what string, ids []int,
	agree func(id int, first, st *server.Status) (bool, error)) error {
	return poll(ctx, what, func() (bool, error) {
		var first *server.Status
		for _, id := range e.chosen(ids) {
			st, up := e.member(id).status()
			if !up || !st.Serving {
				return false, nil
			}
			if first == nil {
				first = &st
			}
			if ok, err := agree(id, first, &st); !ok {
				return false, err
			}
		}
		return true, nil
	})
}

// chosen returns ids, or the servers that run.
func (e *Ensemble) chosen(ids []int) []int {
	if len(ids) > 0 {
		return ids
	}
	for _, m := range e.members {
		if m.running.Load() != nil {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// ErrDiverged is returned by WaitEqual for servers that have applied the same txns and hold different trees.
var ErrDiverged = errors.New("embed: servers have diverged")

// WaitEqual waits until the given servers, or all running ones, serve and have applied the same txns. Then it
// compares the digests of their trees.
func (e *Ensemble) WaitEqual(ctx context.Context, ids ...int) error {
	return e.waitAgree(ctx, "servers to be equal", ids, func(id int, first, st *server.Status) (bool, error) {
		if st.Zxid == first.Zxid && (st.Digest != first.Digest || st.Sessions != first.Sessions) {
			return false, fmt.Errorf("%w: at %v server %d has digest %x and %d sessions, others %x and %d",
				ErrDiverged, st.Zxid, id, uint64(st.Digest), st.Sessions, uint64(first.Digest), first.Sessions)
		}
		return st.Zxid == first.Zxid, nil
	})
}
