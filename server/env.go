package server

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/wal/vfs"
)

// env is what all parts of one server share.
type env struct {
	cfg      *config.Config
	log      *zap.Logger
	fs       vfs.FS
	version  string
	registry *prometheus.Registry
	metrics  *metrics
	stats    *figures.Server
	digests  figures.Digests
	rt       sched.Runtime
	clock    *clock
	began    time.Time

	store       *store            // from recovery on
	tracker     *sessions.Tracker // from recovery on
	guard       *guard            // from recovery on
	large       *limits.LargeBudget
	requestPool *flow.Pool[*flow.Batch]
	applyPool   *flow.Pool[*flow.ApplyBatch]

	// members is the configuration of the ensemble that is in force here; see membership.
	members atomic.Pointer[config.Quorum]
	// linesLeftOut is how many lines the log has not been given.
	linesLeftOut atomic.Int64
	// inProcess is how many requests were received and not answered, except for reads that are answered at once. It drives
	// back-pressure.
	inProcess atomic.Int64
	// outstandingMax is how many of them there may be before busy connections are not read from.
	outstandingMax atomic.Int64
	// logStalled is when the journal began to write the present batch, 0 while it writes none.
	logStalled atomic.Int64
	// serving is true while clients are accepted.
	serving atomic.Bool
	// readOnly is true while a member without a leader serves read-only clients.
	readOnly atomic.Bool
	// leaseEnd is until when clients may be answered, ns on the server's clock: for ever at a standalone server. See lease.
	leaseEnd atomic.Int64

	stopping *sched.Gate // open when Stop begins
	applied  *sched.Gate // open when the applier has ended
	handed   *sched.Gate // open when a member takes part in nothing any more
	failed   chan error  // holds the error that ended the server
	running  struct {
		sync.Mutex
		goroutines int
		stopped    bool
		ended      *sched.Gate // open when there are none, after stopped
	}
}

// newEnv returns what the parts of a server share before it has a state.
func newEnv(cfg *config.Config, o Options) *env {
	rt := o.Runtime
	if rt == nil {
		rt = sched.OS()
	}
	e := &env{
		rt: rt, cfg: cfg, log: o.Log, fs: o.FS, version: strings.TrimSpace(o.Version), registry: o.Registry,
		clock: newClock(rt), began: rt.Now(), stats: figures.NewServer(),
		large:       limits.NewLargeBudget(cfg.LargeRequestThreshold, cfg.LargeRequestMaxBytes),
		requestPool: flow.NewPool(func() *flow.Batch { return new(flow.Batch) }),
		applyPool:   flow.NewPool(func() *flow.ApplyBatch { return new(flow.ApplyBatch) }),
		stopping:    sched.NewGate(rt), applied: sched.NewGate(rt), handed: sched.NewGate(rt),
		failed: make(chan error, 1),
	}
	e.running.ended = sched.NewGate(rt)
	e.leaseEnd.Store(math.MaxInt64)
	if e.log == nil {
		e.log = zap.NewNop()
	}
	e.log = boundLog(e.log, &e.linesLeftOut)
	if e.fs == nil {
		e.fs = vfs.OS()
	}
	if e.version == "" {
		e.version = "0.0.0"
	}
	if e.registry == nil {
		e.registry = prometheus.NewRegistry()
	}
	e.members.Store(&cfg.Quorum)
	e.outstandingMax.Store(int64(cfg.GlobalOutstandingLimit))
	if cfg.Distributed() {
		e.outstandingMax.Store(int64(outstandingPerServer(cfg.GlobalOutstandingLimit, cfg.Voters())))
	}
	e.metrics = newMetrics(e)
	return e
}

// outstandingPerServer is how many requests may be in process here: a leader has to bear those of all.
func outstandingPerServer(limit, voters int) int {
	if voters > 2 {
		return max(limit/(voters-1), 1)
	}
	return limit
}

// start runs fn in a goroutine that Stop waits for. It returns false, and does not run fn, when
// the server has stopped. The name is what profiles call the goroutine.
func (e *env) start(name string, fn func()) bool {
	e.running.Lock()
	defer e.running.Unlock()
	if e.running.stopped {
		return false
	}
	e.running.goroutines++
	e.rt.Go(name, func() {
		defer e.goroutineEnds()
		fn()
	})
	return true
}

// goroutineEnds counts the end of a goroutine that start has started.
func (e *env) goroutineEnds() {
	e.running.Lock()
	defer e.running.Unlock()
	if e.running.goroutines--; e.running.goroutines == 0 && e.running.stopped {
		e.running.ended.Open()
	}
}

// startNoMore lets start fail from now on. running.ended opens when every goroutine that it has started has ended.
func (e *env) startNoMore() {
	e.running.Lock()
	e.running.stopped = true
	if e.running.goroutines == 0 {
		e.running.ended.Open()
	}
	e.running.Unlock()
}

// ErrDurability is returned by Run when data could not be made durable. The state of the disk is then unknown; a
// restart recovers what was acknowledged.
var ErrDurability = errors.New("server: durability is gone")

// fatal ends the server because of an error after which nothing may be acknowledged any more.
func (e *env) fatal(doing string, err error) {
	e.serving.Store(false)
	e.log.Error("ending: "+doing, zap.Error(err))
	e.metrics.unrecoverable.Inc()
	e.fail(fmt.Errorf("%w: %s: %w", ErrDurability, doing, err))
}

// fail ends the server: Wait returns err.
func (e *env) fail(err error) {
	select {
	case e.failed <- err:
	default:
	}
}

// snapDir is the directory of the snapshots and of meta.db.
func (e *env) snapDir() string { return filepath.Join(e.cfg.DataDir, format) }

// logDir is the directory of the log.
func (e *env) logDir() string { return filepath.Join(e.cfg.DataLogDir, format) }

// dirs is the directories with data, each once.
func (e *env) dirs() []string {
	if e.snapDir() == e.logDir() {
		return []string{e.snapDir()}
	}
	return []string{e.snapDir(), e.logDir()}
}

// allows reports whether one of ids has one of perms. REQUIRES: store.mu, at least for reading.
func (e *env) allows(acl datatree.ACLID, perms int32, ids []auth.Identity) bool {
	return e.cfg.SkipACL || e.store.state.ACLs().Allows(acl, perms, ids)
}

// membership is the configuration of the ensemble that is in force here. Any goroutine may call it; what it returns does not change.
func (e *env) membership() *config.Quorum { return e.members.Load() }

// ownLine is the server line of this server: if the ensemble does not have it any more, or not yet, that with which it was started.
func (e *env) ownLine() *config.Member {
	if m := e.membership().Member(e.cfg.ServerID); m != nil {
		return m
	}
	return e.cfg.Quorum.Member(e.cfg.ServerID)
}

// mayAnswer reports whether clients may be answered now.
func (e *env) mayAnswer() bool { return e.clock.now() <= e.leaseEnd.Load() }

// isServing reports whether clients are accepted now.
func (e *env) isServing() bool { return e.serving.Load() && e.mayAnswer() }
