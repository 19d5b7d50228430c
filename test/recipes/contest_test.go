package recipes

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/relay"
)

const sessions = 5 // that want one lock

// arena is the servers that contests take place at.
type arena struct {
	servers []string
	timeout time.Duration // of the sessions
	expire  func(ctx context.Context, session client.Resume)
}

// contest is one lock and the clients that want it.
type contest struct {
	*testing.T
	*arena
	kind
	name    string
	history *History
	pulse   *Pulse
	path    string
	shared  Register
	grants  atomic.Int64
	written atomic.Int64 // updates of shared that were accepted
	skipped atomic.Int64 // uses that do not count, because this program was stopped
	forced  bool         // sessions are ended by force too
}

// trusts reports whether contexts are to end in time.
func (k *contest) trusts() bool { return !k.forced && (!k.outlive || len(k.servers) == 1) }

// seedOf is the seed of a test, which it tells.
func seedOf(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./test/recipes -run '^%s$' -recipes.seed=%d -recipes.duration=%v", t.Name(), seed, *duration)
	return seed
}

// contests lets sessions compete for every kind of lock at once.
func contests(t *testing.T, a *arena, forced bool, seed uint64) {
	pulse := NewPulse(a.timeout / 8)
	defer pulse.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var contests []*contest
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := &contest{T: t, arena: a, kind: kinds[name], name: name, history: NewHistory(), pulse: pulse,
			path: "/" + t.Name() + "/" + name, forced: forced}
		contests = append(contests, k)
		for i := range sessions {
			r := rand.New(rand.NewPCG(seed, uint64(len(contests)*sessions+i)))
			all.Go(func() { k.compete(ctx, i, r) })
		}
	}
	awaitGrants(t, contests)
	cancel()
	all.Wait()
	for _, k := range contests {
		k.judge()
	}
}

// awaitGrants waits for the given time, and on a slow machine until there was something to see.
func awaitGrants(t *testing.T, contests []*contest) {
	t.Helper()
	over, limit := time.Now().Add(*duration), time.Now().Add(*duration+time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		unseen := slices.IndexFunc(contests, func(k *contest) bool { return k.grants.Load() < 2 })
		if now.After(over) && unseen < 0 {
			return
		}
		if now.After(limit) {
			t.Errorf("%s was granted to nobody, or only once", contests[unseen].name)
			return
		}
	}
}

// compete is the life of one session after the other that wants the lock.
func (k *contest) compete(ctx context.Context, i int, r *rand.Rand) {
	path, err := relay.New(k.servers...)
	if err != nil {
		k.Error(err)
		return
	}
	defer path.Close()
	stop := context.AfterFunc(ctx, path.Go)
	defer stop()
	for ctx.Err() == nil {
		first, err := client.Dial(ctx, k.servers[r.IntN(len(k.servers))], client.WithSessionTimeout(k.timeout))
		if err != nil {
			continue // ctx has ended
		}
		session := first.Detach() // known to the goroutine that is to end it
		c, err := client.New(path.Addr(), client.WithResume(session), client.WithSessionTimeout(k.timeout),
			client.WithBackoff(time.Millisecond, 50*time.Millisecond))
		if err != nil {
			k.Error(err)
			return
		}
		k.session(ctx, i, r, path, session, k.open(c, k.path, r))
		path.Go()
		_ = c.Close()
	}
}

// session takes the lock again and again, until the session is over.
func (k *contest) session(ctx context.Context, i int, r *rand.Rand, path *relay.Relay, session client.Resume,
	take lock) {
	for ctx.Err() == nil {
		k.disturb(r, path)
		call := k.history.Now()
		h, err := take(ctx)
		path.Go()
		switch {
		case err == nil:
			granted := k.history.Now()
			k.grants.Add(1)
			_, isShared := h.(shares)
			k.history.Add(Operation{Grant, i, h.Token(), call, granted, isShared})
			(&holder{k, h, i, isShared, granted}).hold(ctx, r, path, session)
			path.Go()
			if err := h.Release(ctx); err != nil && ctx.Err() == nil {
				k.Errorf("%s: release: %v", k.name, err)
			}
		case errors.Is(err, client.ErrSessionExpired):
			return
		case ctx.Err() == nil && !errors.Is(err, recipes.ErrLost) && !errors.Is(err, client.ErrConnectionLoss):
			k.Errorf("%s: lock: %v", k.name, err)
			return
		}
	}
}

// disturb does something to the path of a session that is about to wait.
func (k *contest) disturb(r *rand.Rand, path *relay.Relay) {
	switch r.IntN(8) {
	case 0:
		path.Cut()
	case 1, 2:
		path.LoseAnswer(1 + r.Int64N(4))
	}
}

// holder is a client that was granted the lock.
type holder struct {
	*contest
	grant
	client   int
	isShared bool
	seen     int64 // when its possession was sure the last time
}

// hold is what a holder does: it looks, reads, may be held up, looks and writes.
func (h *holder) hold(ctx context.Context, r *rand.Rand, path *relay.Relay, session client.Resume) {
	k := h.contest
	defer func() { k.history.Add(Operation{End, h.client, h.Token(), h.seen, never, h.isShared}) }()
	h.look()
	value := 0
	if !h.isShared {
		var err error
		if value, err = k.shared.Read(h.Token()); err != nil {
			return // it was held up before it had begun
		}
	}
	pause := time.Duration(1 + r.IntN(10))
	switch r.IntN(16) {
	case 0:
		path.Cut()
	case 1: // held up for so long that the session is over
		path.Stop()
		pause *= k.timeout / 6 / time.Millisecond
	case 2:
		path.Stop() // and may be back before the client has noticed
		pause *= 30
	case 3:
		if k.forced {
			k.expire(ctx, session)
		}
	case 4:
		pause *= 20 // nothing happens to its path
	}
	h.pass(pause * time.Millisecond)
	h.look()
	// without looking, as one would that was paused just before
	if !h.isShared && k.shared.Write(h.Token(), value+1) == nil {
		k.written.Add(1)
	}
}

// pass lets time pass, or less if another client asks for the lock.
func (h *holder) pass(d time.Duration) {
	var revoked <-chan struct{}
	if r, ok := h.grant.(interface{ Revoked() <-chan struct{} }); ok {
		revoked = r.Revoked()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	looks := time.NewTicker(5 * time.Millisecond)
	defer looks.Stop()
	for {
		select {
		case <-looks.C:
			h.look()
		case <-revoked:
			return
		case <-timer.C:
			return
		}
	}
}

// look records a use if the possession can be trusted.
func (h *holder) look() {
	call := h.history.Now()
	switch {
	case h.Context().Err() != nil, !h.trusts():
	case !h.pulse.WasSteady(h.timeout):
		h.skipped.Add(1)
	default:
		h.seen = h.history.Now()
		h.history.Add(Operation{Use, h.client, h.Token(), call, h.seen, h.isShared})
	}
}

// judge tells whether the lock has kept its promise.
func (k *contest) judge() {
	ops := k.history.Operations()
	uses, last := 0, int64(0)
	for _, o := range ops {
		switch o.Kind {
		case Grant:
			last = max(last, o.Return)
		case Use:
			uses++
		}
	}
	value, refused := k.shared.Final()
	k.Logf("%-12s %d grants, %d uses (%d do not count), %d updates, %d refused", k.name, k.grants.Load(), uses,
		k.skipped.Load(), value, refused)
	if k.limit > 0 {
		require.NoError(k, JudgeShared(ops, k.limit), k.name)
	} else {
		require.NoError(k, Judge(ops, time.Minute), k.name)
	}
	require.EqualValues(k, k.written.Load(), value, "%s: an update was lost", k.name)
	if patience := 20 * k.timeout; *duration > patience { // no client is in the way forever
		require.Greater(k, time.Duration(last), *duration-patience, "%s: the last grant", k.name)
	}
	if k.trusts() {
		require.Positive(k, uses+int(k.skipped.Load()), k.name)
	}
}
