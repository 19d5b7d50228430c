package embed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

var (
	chaosSeed  = flag.Uint64("embed.seed", 0, "seed of the first chaos run; 0 draws one")
	chaosSeeds = flag.Int("embed.seeds", 3, "chaos runs, each with the seed after the one before")
	chaosTime  = flag.Duration("embed.time", 1500*time.Millisecond, "how long faults go on in each run")
)

// TestChaos lets clients move between servers that are killed, robbed and parted, and judges what they saw. A
// seed decides what is tried, not how goroutines interleave: a run that fails may need to be repeated.
func TestChaos(t *testing.T) { runChaos(t, newChaos) }

// runChaos is one run for each seed.
func runChaos(t *testing.T, prepare func(*testing.T, uint64) *chaos) {
	first := *chaosSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for i := range *chaosSeeds {
		seed := first + uint64(i)
		fmt.Printf("SEED=%d (go test ./server/embed -run %s$ -embed.seeds=1 -embed.time=%v -embed.seed=%d)\n", seed,
			t.Name(), *chaosTime, seed)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { prepare(t, seed).run() }) {
			return
		}
	}
}

// chaos is one run.
type chaos struct {
	*testing.T
	seed     uint64
	rand     *rand.Rand
	e        *Ensemble
	recorder *history.Recorder
	log      cluster.Output
	over     context.Context // ends with the faults
	finish   context.Context // ends when even a client that waits for a server must give up
	wiping   sync.Mutex      // held while a server has lost its disk: one may, two may not
	changes  bool            // the ensemble is reconfigured; then no disk is lost, since there may be one voter only

	mu      sync.Mutex
	faults  []string // what was done, for the report
	clients []*chaosClient
	numbers int                      // of clients so far
	expired []proto.SessionID        // that were expired on purpose
	hunted  map[proto.SessionID]bool // the same
	broken  []string                 // breaches that a client has seen itself
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{T: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1))}
	o := Options{Servers: 3, Observers: c.rand.IntN(2), ObserverMasters: seed%2 == 1}
	if c.rand.IntN(4) == 0 {
		o.Servers = 5
	}
	return c.start(o)
}

// start starts the ensemble.
func (c *chaos) start(o Options) *chaos {
	c.recorder, c.hunted = history.NewRecorder(), map[proto.SessionID]bool{}
	o.Seed, o.TickTime, o.Log = c.seed, 50*time.Millisecond, logger(&c.log)
	snapCount := 50 + c.rand.IntN(1000)
	snapshots := c.rand.IntN(4) == 0
	o.Configure = func(_ int, cfg *config.Config) {
		cfg.SnapCount, cfg.ForceSnapshotSync = snapCount, snapshots
		cfg.Autopurge.PurgeInterval = 20 * time.Millisecond
		cfg.ReconfigEnabled, cfg.SkipACL = c.changes, c.changes
	}
	c.e = Start(c, o)
	return c
}

const (
	chaosClients   = 8
	chaosRegisters = 24
	judgeTimeout   = 2 * time.Minute
)

func (c *chaos) run() {
	defer func() {
		if c.Failed() {
			c.keep()
		}
	}()
	for tries := 0; !c.setUp(); tries++ {
		require.Less(c, tries, 100)
	}
	var cancel, end context.CancelFunc
	c.over, cancel = context.WithTimeout(context.Background(), *chaosTime)
	defer cancel()
	c.finish, end = context.WithTimeout(context.Background(), *chaosTime+2*time.Minute)
	defer end()
	var wg sync.WaitGroup
	for i := range chaosClients {
		k := &chaosClient{chaos: c,
			Load: history.Load{Rand: rand.New(rand.NewPCG(c.seed, uint64(100+i))), Registers: chaosRegisters}}
		c.clients = append(c.clients, k)
		wg.Go(k.run)
	}
	counters := c.startCounters(&wg)
	var faults sync.WaitGroup
	for i := range 1 + c.rand.IntN(2) {
		h := &havoc{chaos: c, rand: rand.New(rand.NewPCG(c.seed, uint64(2+i)))}
		faults.Go(func() {
			for c.over.Err() == nil {
				h.fault()
			}
		})
	}
	if c.changes {
		a := &administrator{chaos: c, rand: rand.New(rand.NewPCG(c.seed, 50))}
		faults.Go(a.run)
	}
	faults.Wait()
	c.heal()
	wg.Wait()
	counters.judge()
	c.lastLook()
	require.NoError(c, c.e.WaitEqual(c.finish), "%s", c.describe())
	for _, id := range c.e.IDs() {
		require.Equal(c, c.e.Server(1).Status().Config, c.e.Server(id).Status().Config, "%s", c.describe())
	}
	h := c.recorder.History()
	breaches := append(c.broken, history.CheckSessions(h)...)
	breaches = append(breaches, history.CheckWatches(h)...)
	breaches = append(breaches, history.CheckEphemerals(h, c.expired...)...)
	breaches = append(breaches, history.CheckRegisters(performed(h), judgeTimeout)...)
	if len(breaches) > 0 {
		c.Errorf("%d breaches:\n%s", len(breaches), strings.Join(breaches[:min(len(breaches), 20)], "\n"))
	}
	c.Logf("%d operations on %d connections, %d faults", len(h.Operations()), len(h.Connections), len(c.faults))
}

// setUp makes what clients work on. A server that is held up sends its clients away; then it reports false.
func (c *chaos) setUp() bool {
	s, err := c.recorder.Dial(c.number(), c.e.Addr(1), wire.Options{Reply: 20 * time.Second})
	if err != nil {
		return false
	}
	defer s.Close()
	for _, call := range s.SendAll(wire.Create("/reg", nil, wire.OpenACL, 0),
		wire.Create("/eph", nil, wire.OpenACL, 0)) {
		if call.Wait() != nil {
			return false
		}
	}
	return true
}

// performed returns h without what a server refused for reasons that lie outside of the tree.
func performed(h *history.History) *history.History {
	out := &history.History{}
	for _, c := range h.Connections {
		kept := *c
		kept.Items = nil
		for _, item := range c.Items {
			if o := item.Operation; o != nil {
				switch o.Err {
				case proto.ErrSessionMoved, proto.ErrSessionExpired, proto.ErrNotReadOnly:
					continue
				}
			}
			kept.Items = append(kept.Items, item)
		}
		out.Connections = append(out.Connections, &kept)
	}
	return out
}

// number is that of a new session.
func (c *chaos) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers++
	return c.numbers
}

// heal brings everything back.
func (c *chaos) heal() {
	c.e.Heal()
	for _, id := range c.e.IDs() {
		c.mend(id)
		require.NoError(c, c.e.Start(id))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(c, c.e.WaitServing(ctx, c.e.IDs()...), "%s", c.describe())
}

// mend takes the trouble from a disk.
func (c *chaos) mend(id int) {
	c.e.Disk(id).SetCapacity(0)
	c.e.Disk(id).Hook(nil)
}

// lastLook reads everything behind a sync, at every server.
func (c *chaos) lastLook() {
	for _, id := range c.e.IDs() {
		// On a busy machine servers may lose each other at any time.
		for err := c.look(id); err != nil; err = c.look(id) {
			require.NoError(c, c.finish.Err(), "%v\n%s", err, c.describe())
		}
	}
}

// look is a session that reads everything at one server.
func (c *chaos) look(id int) error {
	s, err := c.recorder.Dial(c.number(), c.e.Addr(id), wire.Options{Reply: 20 * time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	var reqs []wire.Request
	for i := range chaosRegisters {
		reqs = append(reqs, wire.Sync("/"), wire.GetData(history.Register(i), false))
	}
	for _, k := range c.clients {
		for _, path := range k.Mine {
			reqs = append(reqs, wire.Exists(path, false))
		}
	}
	for _, call := range s.SendAll(append(reqs, wire.CloseSession())...) {
		if err := call.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// describe says how things stand.
func (c *chaos) describe() string {
	var b strings.Builder
	for _, id := range c.e.IDs() {
		if s := c.e.Server(id); s != nil {
			fmt.Fprintf(&b, "server %d: %+v\n", id, s.Status())
		} else {
			fmt.Fprintf(&b, "server %d is down\n", id)
		}
	}
	return b.String()
}

// keep leaves behind what helps to understand a failure.
func (c *chaos) keep() {
	dir, err := os.MkdirTemp("", "warren-chaos-")
	if err != nil {
		c.Log(err)
		return
	}
	c.Logf("faults:\n%s\n%sThe history and the logs are in %s", strings.Join(c.faults, "\n"), c.describe(), dir)
	c.e.Close()
	_ = os.WriteFile(filepath.Join(dir, "log"), []byte(c.log.String()), 0o600)
	_ = c.recorder.History().WriteFile(filepath.Join(dir, "history.json"))
}

// logger keeps the logs of the servers for the report of a failure.
func logger(logs *cluster.Output) *zap.Logger {
	cfg := zap.NewDevelopmentEncoderConfig()
	cfg.EncodeTime = zapcore.TimeEncoderOfLayout("05.000000")
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.AddSync(logs), zapcore.InfoLevel))
}

var errOver = errors.New("the run is over")
