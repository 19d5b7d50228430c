package recipes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

var (
	seedFlag = flag.Uint64("recipes.seed", 0, "seed of the nemesis and of the holders; 0 is a random one")
	duration = flag.Duration("recipes.duration", 3*time.Second, "how long the sessions compete, in each test")
)

const (
	sessionTimeout = time.Second
	sessions       = 5 // that want one lock
)

var address string // of the server

func TestMain(m *testing.M) { flag.Parse(); os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "recipes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir, dir
	cfg.ClientPort = 0
	cfg.PreAllocSizeKB = 0
	cfg.TickTime = 100 * time.Millisecond
	cfg.MinSessionTimeout, cfg.MaxSessionTimeout = 200*time.Millisecond, time.Minute
	cfg.MaxClientCnxns = 0
	cfg.DiskWatermark.Bytes = 0
	cfg.Admin.Enabled = false
	s := server.New(cfg, server.Options{})
	if err := s.Start(); err != nil {
		panic(err)
	}
	address = s.Addr().String()
	code := m.Run()
	s.Stop()
	if err := goleak.Find(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

type lock func(ctx context.Context) (*recipes.Hold, error)

// locks are all that one session holds at a time.
var locks = map[string]func(c *client.Client, path string) lock{
	"Mutex":       func(c *client.Client, path string) lock { return recipes.NewMutex(c, path).Lock },
	"UntilExpiry": func(c *client.Client, path string) lock { return recipes.NewMutex(c, path, recipes.UntilExpiry()).Lock },
	"SimpleMutex": func(c *client.Client, path string) lock { return recipes.NewSimpleMutex(c, path).Lock },
	"RWMutex":     func(c *client.Client, path string) lock { return recipes.NewRWMutex(c, path).Lock },
	"Semaphore":   func(c *client.Client, path string) lock { return recipes.NewSemaphore(c, path, 1).Acquire },
	"Latch":       func(c *client.Client, path string) lock { return recipes.NewLatch(c, path, "x").Campaign },
}

// contest is one lock and those who want it.
type contest struct {
	*testing.T
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

// Nobody is granted a lock while another may trust its own, whatever the network does.
func TestHoldsExclude(t *testing.T) { contests(t, false) }

// Sessions are ended by force as well, of which their holders hear when it is over. Tokens are then what protects.
func TestTokensFenceOffWhoeverWasTooLate(t *testing.T) { contests(t, true) }

func contests(t *testing.T, forced bool) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./test/recipes -run '^%s$' -recipes.seed=%d -recipes.duration=%v", t.Name(), seed, *duration)
	pulse := NewPulse(sessionTimeout / 8)
	defer pulse.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var contests []*contest
	for _, name := range slices.Sorted(maps.Keys(locks)) {
		open := locks[name]
		k := &contest{T: t, name: name, history: NewHistory(), pulse: pulse, path: "/" + t.Name() + "/" + name, forced: forced}
		contests = append(contests, k)
		for i := range sessions {
			r := rand.New(rand.NewPCG(seed, uint64(len(contests)*sessions+i)))
			all.Go(func() { k.compete(ctx, i, r, open) })
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
		isSeen := !slices.ContainsFunc(contests, func(k *contest) bool { return k.grants.Load() < 2 })
		if now.After(over) && isSeen {
			return
		}
		require.True(t, now.Before(limit), "a lock was granted to nobody")
	}
}

// compete is the life of one session after the other that wants the lock.
func (k *contest) compete(ctx context.Context, i int, r *rand.Rand, open func(*client.Client, string) lock) {
	path, err := NewPath(address)
	if err != nil {
		k.Error(err)
		return
	}
	defer path.Close()
	stop := context.AfterFunc(ctx, path.Go)
	defer stop()
	for ctx.Err() == nil {
		first, err := client.Dial(ctx, address, client.WithSessionTimeout(sessionTimeout))
		if err != nil {
			continue // ctx has ended
		}
		session := first.Detach() // known to who is to end it
		c, err := client.New(path.Addr(), client.WithResume(session), client.WithSessionTimeout(sessionTimeout),
			client.WithBackoff(time.Millisecond, 50*time.Millisecond))
		if err != nil {
			k.Error(err)
			return
		}
		k.session(ctx, i, r, path, session, open(c, k.path))
		path.Go()
		_ = c.Close()
	}
}

// session takes the lock again and again, until the session is over.
func (k *contest) session(ctx context.Context, i int, r *rand.Rand, path *Path, session client.Resume, take lock) {
	for ctx.Err() == nil {
		k.disturb(r, path)
		call := k.history.Now()
		h, err := take(ctx)
		path.Go()
		switch {
		case err == nil:
			granted := k.history.Now()
			k.grants.Add(1)
			k.history.Add(Operation{Grant, i, h.Token(), call, granted})
			(&holder{k, h, i, granted}).hold(ctx, r, path, session)
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
func (k *contest) disturb(r *rand.Rand, path *Path) {
	switch r.IntN(8) {
	case 0:
		path.Cut()
	case 1, 2:
		path.LoseReply(1 + r.Int64N(4))
	}
}

// holder is somebody who was granted the lock.
type holder struct {
	*contest
	*recipes.Hold
	client int
	seen   int64 // when its possession was sure the last time
}

// hold is what a holder does: it looks, reads, may be held up, looks and writes.
func (h *holder) hold(ctx context.Context, r *rand.Rand, path *Path, session client.Resume) {
	k := h.contest
	defer func() { k.history.Add(Operation{End, h.client, h.Token(), h.seen, never}) }()
	h.look()
	value, err := k.shared.Read(h.Token())
	if err != nil {
		return // it was held up before it had begun
	}
	pause := time.Duration(1 + r.IntN(10))
	switch r.IntN(16) {
	case 0:
		path.Cut()
	case 1: // held up for so long that the session is over
		path.Stop()
		pause *= sessionTimeout / 6 / time.Millisecond
	case 2:
		path.Stop() // and may be back before anybody has noticed
		pause *= 30
	case 3:
		if k.forced {
			end(ctx, session)
		}
	}
	timer := time.NewTimer(pause * time.Millisecond)
	defer timer.Stop()
	looks := time.NewTicker(5 * time.Millisecond)
	defer looks.Stop()
	for isPaused := true; isPaused; {
		select {
		case <-looks.C:
			h.look()
		case <-timer.C:
			isPaused = false
		}
	}
	h.look()
	if k.shared.Write(h.Token(), value+1) == nil { // without looking, as one would that was paused just before
		k.written.Add(1)
	}
}

// look records a use if the possession can be trusted.
func (h *holder) look() {
	call := h.history.Now()
	switch {
	case h.Context().Err() != nil, h.forced:
	case !h.pulse.WasSteady(sessionTimeout):
		h.skipped.Add(1)
	default:
		h.seen = h.history.Now()
		h.history.Add(Operation{Use, h.client, h.Token(), call, h.seen})
	}
}

// end ends a session by force: another takes it over and closes it.
func end(ctx context.Context, session client.Resume) {
	if other, err := client.Dial(ctx, address, client.WithResume(session)); err == nil {
		_ = other.Close()
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
	k.Logf("%-12s %d grants, %d uses (%d do not count), %d updates, %d refused", k.name, k.grants.Load(), uses, k.skipped.Load(), value, refused)
	require.NoError(k, Judge(ops, time.Minute), k.name)
	require.EqualValues(k, k.written.Load(), value, "%s: an update was lost", k.name)
	if patience := 20 * sessionTimeout; *duration > patience { // nobody is in the way for ever
		require.Greater(k, time.Duration(last), *duration-patience, "%s: the last grant", k.name)
	}
	if !k.forced {
		require.Positive(k, uses+int(k.skipped.Load()), k.name)
	}
}
