package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/garbage"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Options is what a server needs from outside besides its configuration. The zero value will do.
type Options struct {
	// Log receives the server's log; nil drops it.
	Log *zap.Logger
	// Registry receives the server's metrics; nil gives the server a registry of its own. Two
	// servers of one process need different ones.
	Registry *prometheus.Registry
	// FS is where all data lives; nil is the operating system's.
	FS vfs.FS
	// Meta keeps the server's identity and its catalogue of snapshots; nil is meta.db in the data
	// directory. A server on another FS than the operating system's needs one of its own.
	Meta meta.Store
	// Version is reported by the four-letter words.
	Version string
	// Runtime is how the server tells the time, starts goroutines and waits; nil is sched.OS(). It is for simulations.
	Runtime sched.Runtime
	// WholeProcess says that the process is there for this server alone, which may then tune Go's garbage collector.
	WholeProcess bool
	// DialPeer and ListenPeer replace those of package net between the servers of an ensemble, if they are not nil.
	DialPeer   func(ctx context.Context, network, address string) (net.Conn, error)
	ListenPeer func(network, address string) (net.Listener, error)
	// ListenClient replaces net.Listen for the plain client port, if it is not nil.
	ListenClient func(network, address string) (net.Listener, error)
}

// Server is one node. Its life is New, Start, Stop; none of them may be called twice.
type Server struct {
	cfg      *config.Config
	options  Options
	log      *zap.Logger
	fs       vfs.FS
	version  string
	registry *prometheus.Registry
	metrics  *metrics
	stats    *figures.Server
	rt       sched.Runtime
	clock    *clock
	began    time.Time
	enforced []string // schemes of which a connection must have authenticated one

	locks    []io.Closer
	meta     meta.Store
	snaps    *snapshot.Store
	wal      *wal.Log
	replayed int              // txns replayed by recover
	missing  bool             // the database of a member was not there: it may be new, or was lost
	blank    bool             // a member that does not count: zab.Config.Blank
	origin   uint64           // the ensemble that the newest snapshot comes from; 0 if it does not say
	recent   *flow.RecentTxns // nil at a standalone server
	store    *store

	tracker      *sessions.Tracker
	conns        *connSet
	throttle     *limits.Tokens
	large        *limits.LargeBudget
	budget       limits.WriteBudget
	turns        limits.Turns
	security     clientSecurity   // TLS, SASL and the audit log of the client ports
	quorum       *security.Quorum // nil at a standalone server
	guard        *guard
	member       *member                       // from Start on
	members      atomic.Pointer[config.Quorum] // see membership
	configured   *flow.Inbox[*config.Quorum]   // configurations that were committed, for runConfigurations
	snapshotter  *snapshotter
	digests      figures.Digests
	traceMask    atomic.Int64 // of stmk; it has no effect
	batches      *flow.Pool[*flow.Batch]
	applyBatches *flow.Pool[*flow.ApplyBatch]

	// linesLeftOut is how many lines the log has not been given.
	linesLeftOut atomic.Int64

	// inProcess is how many requests were received and not answered, but for reads that are
	// answered at once. It drives back-pressure.
	inProcess atomic.Int64
	// undelivered is how many bytes wait for clients that take less than they are sent; see undeliveredMax.
	undelivered atomic.Int64
	// outstandingMax is how many of them there may be before busy connections are not read from.
	outstandingMax atomic.Int64
	// logStalled is when the journal began to write the present batch, 0 while it writes none.
	logStalled atomic.Int64
	// serving is true from the end of Start to the beginning of Stop.
	serving atomic.Bool
	// readOnly is true while a member without a leader serves read-only clients.
	readOnly atomic.Bool
	// lease is until when clients may be answered, ns on the server's clock: for ever at a standalone server. See lease.
	lease atomic.Int64

	ports     clientPorts
	metricsLn net.Listener
	admin     *admin.Server // nil if there is none
	adminAddr net.Addr      // where it listens
	web       *http.Server  // serves metricsLn
	stopping  *sched.Gate   // open when Stop begins
	applied   *sched.Gate   // open when the applier has ended
	handed    *sched.Gate   // open when a member takes part in nothing any more
	failed    chan error    // holds the error that ended the node
	running   struct {
		sync.Mutex
		goroutines int
		stopped    bool
		ended      *sched.Gate // open when there are none, after stopped
	}
}

// New returns a server that does nothing yet. It does not touch the disk.
func New(cfg *config.Config, o Options) *Server {
	rt := o.Runtime
	if rt == nil {
		rt = sched.OS()
	}
	s := &Server{
		rt: rt, cfg: cfg, options: o, log: o.Log, fs: o.FS, meta: o.Meta, version: o.Version, registry: o.Registry,
		clock: newClock(rt), turns: limits.NewTurns(), began: rt.Now(), stats: figures.NewServer(),
		conns:        newConnSet(cfg.MaxClientCnxns, cfg.MaxCnxns),
		throttle:     limits.NewTokens(cfg.ConnectionThrottle, cfg.LocalSessionsEnabled),
		large:        limits.NewLargeBudget(cfg.LargeRequestThreshold, cfg.LargeRequestMaxBytes),
		batches:      flow.NewPool(func() *flow.Batch { return new(flow.Batch) }),
		applyBatches: flow.NewPool(func() *flow.ApplyBatch { return new(flow.ApplyBatch) }),
		configured:   flow.NewInbox[*config.Quorum](rt.Parker()),
		stopping:     sched.NewGate(rt), applied: sched.NewGate(rt), handed: sched.NewGate(rt),
		failed: make(chan error, 1),
	}
	s.running.ended = sched.NewGate(rt)
	s.traceMask.Store(traceMaskDefault)
	s.lease.Store(math.MaxInt64)
	if s.log == nil {
		s.log = zap.NewNop()
	}
	s.log = boundLog(s.log, &s.linesLeftOut)
	if s.fs == nil {
		s.fs = vfs.OS()
	}
	if s.version == "" {
		s.version = "0.0.0"
	}
	if s.registry == nil {
		s.registry = prometheus.NewRegistry()
	}
	s.members.Store(&cfg.Quorum)
	s.outstandingMax.Store(int64(cfg.GlobalOutstandingLimit))
	if cfg.Distributed() {
		s.recent = new(flow.RecentTxns)
		s.outstandingMax.Store(int64(outstandingPerServer(cfg.GlobalOutstandingLimit, cfg.Voters())))
	}
	if cfg.EnforceAuth.Enabled {
		s.enforced = cfg.EnforceAuth.Schemes
	}
	return s
}

// Start recovers the state from the disk and begins to serve. When it returns without an error,
// clients can connect. When it returns an error, nothing runs any more.
func (s *Server) Start() (err error) {
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	s.metrics = newMetrics(s)
	s.exportDifferences()
	s.exportRuntime()
	if err := s.startAdmin(); err != nil {
		return err
	}
	if err := s.recover(); err != nil {
		return err
	}
	s.guard = newGuard(s)
	s.snapshotter = newSnapshotter(s)
	s.tracker = sessions.New(s.cfg.TickTime, proto.ServerID(max(s.cfg.ServerID, 1)), s.clock.wallMs())
	if err := s.listen(); err != nil {
		return err
	}
	if err := s.startMember(); err != nil {
		return err
	}
	s.start("clock", s.runClock)
	s.start("snapshotter", s.snapshotter.run)
	s.start("reaper", s.runReaper)
	s.start("guard", s.guard.run)
	if s.options.WholeProcess {
		s.start("garbage", func() { garbage.Tune(s.stopping.Done(), s.treeSize) })
	}
	for _, ln := range s.clientListeners() {
		s.start("accept", func() { s.accept(ln) })
	}
	s.serveMetrics()
	s.startSecurity()
	s.warnOpenRoot()
	return nil
}

// treeSize returns how many znodes there are, and the bytes of their paths and data.
func (s *Server) treeSize() (znodes int, bytes int64) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return s.store.state.NumNodes(), s.store.state.DataSize()
}

// submit hands requests to the node goroutine and reports false if it takes none any more.
func (s *Server) submit(b *flow.Batch) bool { return s.member.submit(b) }

// prepareConfig is what of the configuration decides about txns.
func (s *Server) prepareConfig() prepare.Config {
	return prepare.Config{
		Digest:                  s.cfg.DigestEnabled,
		EmptyClose:              !s.cfg.CloseSessionTxn,
		EnforceQuota:            s.cfg.EnforceQuota,
		MaxTxnBytes:             s.cfg.JuteMaxBuffer + s.cfg.JuteMaxBufferExtra,
		ExtendedTypes:           s.cfg.ExtendedTypes,
		MaxContainerNeverUsedMs: s.cfg.Container.MaxNeverUsed.Milliseconds(),
		Providers:               security.Providers(s.cfg),
		ReconfigEnabled:         s.cfg.ReconfigEnabled,
		Events:                  prepareEvents{s},
		Rest:                    s.store.rest,
	}
}

// Run serves until ctx is done and then stops. It returns the error that ended the node otherwise.
func Run(ctx context.Context, cfg *config.Config, o Options) error {
	o.WholeProcess = true
	s := New(cfg, o)
	if err := s.Start(); err != nil {
		return err
	}
	failure := s.Wait(ctx)
	s.Stop()
	return failure
}

// Addr is the address of the plain client port, or nil if there is none.
func (s *Server) Addr() net.Addr {
	all := s.clientListeners()
	if len(all) == 0 {
		return nil
	}
	return all[0].Addr()
}

// Stop ends the node: what was received is finished and answered, then every connection is
// closed. Sessions live on in the data.
func (s *Server) Stop() {
	s.finish()
	s.end()
}

// end is Stop without the hand-over.
func (s *Server) end() {
	s.serving.Store(false)
	s.stopping.Open()
	s.snapshotter.wake.Unpark()
	s.configured.Signal()
	_ = s.snaps.Close()
	s.closeClientPorts()
	if s.web != nil {
		_ = s.web.Close()
	}
	s.member.end()
	s.applied.Wait()
	if s.member.peers != nil {
		s.member.peers.Stop()
	}
	s.conns.each(func(c *conn) { c.shut() })
	s.running.Lock()
	s.running.stopped = true
	if s.running.goroutines == 0 {
		s.running.ended.Open()
	}
	s.running.Unlock()
	s.waitForConns(shutTimeout)
	s.conns.each(func(c *conn) { c.Abort() })
	s.stopAdmin()
	s.running.ended.Wait()
	s.release()
	s.log.Info("stopped", zap.Stringer("zxid", s.store.lastZxid()))
}

// shutTimeout is how long Stop waits for clients to take their last replies.
const shutTimeout = 500 * time.Millisecond

// release gives back what recover took.
func (s *Server) release() {
	s.stopAdmin()
	s.closeClientPorts()
	if s.wal != nil {
		if err := s.wal.Close(); err != nil {
			s.log.Warn("closing the log", zap.Error(err))
		}
	}
	if s.meta != nil {
		if err := s.meta.Close(); err != nil {
			s.log.Warn("closing meta.db", zap.Error(err))
		}
	}
	for _, l := range s.locks {
		_ = l.Close()
	}
}

// start runs fn in a goroutine that Stop waits for. It returns false, and does not run fn, when
// the server has stopped. The name is what profiles call the goroutine.
func (s *Server) start(name string, fn func()) bool {
	s.running.Lock()
	defer s.running.Unlock()
	if s.running.stopped {
		return false
	}
	s.running.goroutines++
	s.rt.Go(name, func() {
		defer s.ended()
		fn()
	})
	return true
}

// ended counts the end of a goroutine that start has started.
func (s *Server) ended() {
	s.running.Lock()
	defer s.running.Unlock()
	if s.running.goroutines--; s.running.goroutines == 0 && s.running.stopped {
		s.running.ended.Open()
	}
}

// ErrDurability is returned by Run when data could not be made durable. The state of the disk is then unknown; a
// restart recovers what was acknowledged.
var ErrDurability = errors.New("server: durability is gone")

// fatal ends the node because of an error after which nothing may be acknowledged any more.
func (s *Server) fatal(doing string, err error) {
	s.serving.Store(false)
	s.log.Error("ending: "+doing, zap.Error(err))
	s.metrics.unrecoverable.Inc()
	s.fail(fmt.Errorf("%w: %s: %w", ErrDurability, doing, err))
}

// fail ends the node: Wait returns err.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// clampTimeout negotiates a session timeout, in ms. Source: client-protocol 3.3.
func (s *Server) clampTimeout(ms int32) int32 {
	lo, hi := s.cfg.MinSessionTimeout.Milliseconds(), s.cfg.MaxSessionTimeout.Milliseconds()
	return int32(min(max(int64(ms), lo), hi))
}

// allows reports whether one of ids has one of perms. REQUIRES: store.mu, at least for reading.
func (s *Server) allows(acl datatree.ACLID, perms int32, ids []auth.Identity) bool {
	return s.cfg.SkipACL || s.store.state.ACLs().Allows(acl, perms, ids)
}

// versionLine is the version as the four-letter words spell it.
func (s *Server) versionLine() string { return strings.TrimSpace(s.version) }

// Wait blocks until the node has ended by itself, and returns why, or until ctx is done, and
// returns nil. The caller stops the server afterwards.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return err
	}
}
