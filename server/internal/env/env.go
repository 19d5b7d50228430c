package env

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/stages"
	"github.com/seed94657493/warren/wal/vfs"
)

// Env is shared by all parts of one server.
type Env struct {
	Config   *config.Config
	Log      *zap.Logger
	FS       vfs.FS
	Version  string // that clients are told, in ZooKeeper's form
	Program  string // that operators are told, such as "Warren 0.2.0"
	Registry *prometheus.Registry
	Metrics  *Metrics
	Stats    *figures.Server
	Digests  figures.Digests
	Runtime  sched.Runtime
	Clock    *clock
	Began    time.Time
	// WindowTxns is how many committed txns are kept in memory for learners.
	WindowTxns int
	// EpochTxns is how many txns an epoch can have; 0 is as many as zxids can count.
	EpochTxns uint32
	// Stages measures where the time of operations goes; nil if nothing is measured.
	Stages *stages.Recorder
	// OnApplied is Options.Applied; it may be nil.
	OnApplied func(zxid proto.Zxid, payload []byte, digest int64)

	Store       *Store            // from recovery on
	Tracker     *sessions.Tracker // from recovery on
	Guard       *guard            // from recovery on
	Large       *limits.LargeBudget
	RequestPool *flow.Pool[*flow.Batch]
	ApplyPool   *flow.Pool[*flow.ApplyBatch]

	// Members is the configuration of the ensemble that is in force on this server; see Membership.
	Members atomic.Pointer[config.Quorum]
	// LinesLeftOut is how many lines BoundLog has dropped.
	LinesLeftOut atomic.Int64
	// InProcess is how many requests were received and not answered, without the reads that are answered at once.
	// Back-pressure depends on it.
	InProcess atomic.Int64
	// OutstandingMax is the number of requests in process above which busy connections are not read.
	OutstandingMax atomic.Int64
	// LogStalled is when the journal began to write the present batch, ns on the server's clock; 0 while it writes
	// none.
	LogStalled atomic.Int64
	// Doors are open while clients are accepted.
	Doors *Doors
	// ReadOnly is true while a member of an ensemble without a leader serves read-only clients.
	ReadOnly atomic.Bool
	// LeaseEnd is until when clients may be answered, ns on the server's clock; for those with a long session timeout
	// see AnswersUntil. 0 is no service, and on a standalone server it never ends. See lease.go of package host.
	LeaseEnd atomic.Int64

	Stopping *sched.Gate // open when Stop begins
	Applied  *sched.Gate // open when the applier has ended
	Handed   *sched.Gate // open when the host takes part in nothing any more
	Failed   chan error  // holds the error that ended the server
	Running  *sched.Group
}

// Options are the parts of an Env that come from outside. Each field may be nil or empty; see server.Options.
type Options struct {
	Log      *zap.Logger
	Registry *prometheus.Registry
	FS       vfs.FS
	Version  string
	Program  string
	Runtime  sched.Runtime
	Applied  func(zxid proto.Zxid, payload []byte, digest int64)
	// Tracer takes the operations that are traced; nil: none is.
	Tracer stages.Tracer
	// WindowTxns is Env.WindowTxns; 0 follows commitLogCount.
	WindowTxns int
	// EpochTxns is Env.EpochTxns.
	EpochTxns uint32
}

// New returns an Env without a state.
func New(cfg *config.Config, o Options) *Env {
	rt := o.Runtime
	if rt == nil {
		rt = sched.OS()
	}
	e := &Env{
		Runtime: rt, Config: cfg, Log: o.Log, FS: o.FS, Version: strings.TrimSpace(o.Version), Registry: o.Registry,
		Clock: newClock(rt), Began: rt.Now(), OnApplied: o.Applied, Stats: figures.NewServer(),
		Large:       limits.NewLargeBudget(cfg.LargeRequestThreshold, cfg.LargeRequestMaxBytes),
		RequestPool: flow.NewPool(func() *flow.Batch { return new(flow.Batch) }),
		ApplyPool:   flow.NewPool(func() *flow.ApplyBatch { return new(flow.ApplyBatch) }),
		Stopping:    sched.NewGate(rt), Applied: sched.NewGate(rt), Handed: sched.NewGate(rt),
		Failed: make(chan error, 1), Running: sched.NewGroup(rt), Doors: newDoors(rt),
	}
	e.LeaseEnd.Store(math.MaxInt64)
	e.Log = cmp.Or(e.Log, zap.NewNop())
	e.Log = BoundLog(e.Log, e.Clock.Now, &e.LinesLeftOut)
	e.FS = cmp.Or(e.FS, vfs.OS())
	if e.Version == "" {
		e.Version = "0.0.0"
	}
	e.Program = cmp.Or(o.Program, "Warren")
	e.Registry = cmp.Or(e.Registry, prometheus.NewRegistry())
	e.EpochTxns = o.EpochTxns
	if e.WindowTxns = o.WindowTxns; e.WindowTxns == 0 {
		e.WindowTxns = max(flow.WindowTxns, cfg.CommitLogCount)
	}
	e.Members.Store(&cfg.Quorum)
	e.OutstandingMax.Store(int64(cfg.GlobalOutstandingLimit))
	if cfg.Distributed() {
		e.OutstandingMax.Store(int64(OutstandingPerServer(cfg.GlobalOutstandingLimit, cfg.Voters())))
	}
	e.Metrics = newMetrics(e)
	e.Stages = stages.New(stages.Options{Runtime: rt, Log: e.Log, Registry: e.Registry, Slow: cfg.Trace.Slow,
		Traced: cfg.Trace.Ratio, Tracer: o.Tracer, Observed: func(spent [stages.Number]int64) {
			e.Stats.Staged(spent[stages.Queue], spent[stages.Prepare],
				spent[stages.Forward]+spent[stages.Sync]+spent[stages.Quorum], spent[stages.Apply])
		}})
	return e
}

// OutstandingPerServer is how many requests may be in process on one server of an ensemble: the leader has to bear
// the requests of all servers.
func OutstandingPerServer(limit, voters int) int {
	if voters > 2 {
		return max(limit/(voters-1), 1)
	}
	return limit
}

// Spawn runs fn in a goroutine that Stop waits for. It returns false, and does not run fn, if the server has
// stopped. Profiles show the name of the goroutine.
func (e *Env) Spawn(name string, fn func()) bool { return e.Running.Go(name, fn) }

// NewBatch returns a batch with one request, received at a time in ns on the server's clock.
func (e *Env) NewBatch(received int64, r flow.Request, body []byte) *flow.Batch {
	b := e.RequestPool.Get()
	b.Received = received
	b.Add(r, body)
	return b
}

// ErrDurability is returned by Run when data could not be made durable. The content of the disk is then unknown. A
// restart recovers everything that was acknowledged.
var ErrDurability = errors.New("server: durability is gone")

// Fatal ends the server because of an error after which it may acknowledge nothing.
func (e *Env) Fatal(doing string, err error) {
	e.Doors.Bar()
	e.Log.Error("ending: "+doing, zap.Error(err))
	e.Metrics.unrecoverable.Inc()
	e.Fail(fmt.Errorf("%w: %s: %w", ErrDurability, doing, err))
}

// Fail ends the server: server.Wait returns err.
func (e *Env) Fail(err error) {
	select {
	case e.Failed <- err:
	default:
	}
}

// SnapDir is the directory of the snapshots and of meta.db.
func (e *Env) SnapDir() string { return filepath.Join(e.Config.DataDir, Format) }

// LogDir is the directory of the log.
func (e *Env) LogDir() string { return filepath.Join(e.Config.DataLogDir, Format) }

// Dirs are the directories with data, each once.
func (e *Env) Dirs() []string {
	if e.SnapDir() == e.LogDir() {
		return []string{e.SnapDir()}
	}
	return []string{e.SnapDir(), e.LogDir()}
}

// Allows reports whether acl gives one of perms to one of ids. REQUIRES: Store.Mu, at least for reading.
func (e *Env) Allows(acl datatree.ACLID, perms int32, ids []auth.Identity) bool {
	return e.Config.SkipACL || e.Store.State.ACLs().Allows(acl, perms, ids)
}

// Membership is the configuration of the ensemble that is in force on this server. Any goroutine may call it. The
// result does not change.
func (e *Env) Membership() *config.Quorum { return e.Members.Load() }

// OwnLine is the server line of this server. If the ensemble does not contain this server, it is the line with
// which this server was started.
func (e *Env) OwnLine() *config.Member {
	if m := e.Membership().Member(e.Config.ServerID); m != nil {
		return m
	}
	return e.Config.Quorum.Member(e.Config.ServerID)
}

// MayAnswer reports whether clients may be answered now.
func (e *Env) MayAnswer() bool { return e.Clock.Now() <= e.LeaseEnd.Load() }

// AnswersUntil is until when the client of a session with a timeout may be answered, if it is connected, ns on the
// server's clock.
func (e *Env) AnswersUntil(timeout time.Duration) int64 {
	end := e.LeaseEnd.Load()
	if end == 0 || end == math.MaxInt64 {
		return end
	}
	return end + int64(e.Config.LeaseOf(timeout)-e.Config.LeaseTime())
}

// IsServing reports whether clients are accepted now.
func (e *Env) IsServing() bool { return e.Doors.IsOpen() && e.MayAnswer() }

// InService reports whether what the server knows may be told now: it accepts clients, or leads and leaves them to the
// other servers.
func (e *Env) InService() bool { return e.Doors.InService() && e.MayAnswer() }

// Format is the folder of a data directory that holds the files of this format generation.
const Format = "version-2"

// ShutTimeout is how long Stop waits until clients have taken their last replies.
const ShutTimeout = 500 * time.Millisecond
