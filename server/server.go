package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/garbage"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/outcomes"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/traces"
	"github.com/seed94657493/warren/server/internal/words"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/wal/vfs"
)

// Options are the settings of a server that are not in its configuration. The zero value is valid.
type Options struct {
	// Log receives the server's log; nil drops it.
	Log *zap.Logger
	// Recheck reads the configuration again, as the next start will, and returns what would keep the server from
	// starting; nil if nobody can. It may be called at any time while the server runs, by one goroutine.
	Recheck func() error
	// Starts are when processes of this server have begun since one of them was last stopped in an orderly way, this
	// one included, the oldest first; nil if nobody knows. Many of them in a short time are reported.
	Starts []time.Time
	// LogLevel is the level of Log, which operators may change at run time; nil if they may not. What an operator has
	// changed for a limited time is as before when the server has stopped.
	LogLevel *zap.AtomicLevel
	// Registry receives the server's metrics; nil gives the server a registry of its own. Two
	// servers of one process need different ones.
	Registry *prometheus.Registry
	// FS holds all data; nil is the file system of the operating system.
	FS vfs.FS
	// Meta keeps the server's identity and its catalogue of snapshots; nil is meta.db in the data directory. A
	// server with an FS other than the operating system's needs a Meta of its own.
	Meta meta.Store
	// Version is reported by the four-letter words.
	Version string
	// Program is what operators are told that the server is, such as "Warren 0.2.0"; empty is "Warren".
	Program string
	// Runtime is how the server tells the time, starts goroutines and waits; nil is sched.OS(). It is for
	// simulations.
	Runtime sched.Runtime
	// Applied, if it is not nil, is called with each txn after it was applied to the state, in the order of zxids,
	// and with the digest of the state at that time. It must neither block nor keep the payload. It is not called for
	// txns that are read from the log at the start. It is for simulations.
	Applied func(zxid proto.Zxid, payload []byte, digest int64)
	// WindowTxns is how many committed txns are kept in memory for learners; 0 follows commitLogCount. It is for
	// simulations.
	WindowTxns int
	// EpochTxns is how many txns an epoch can have; 0 is as many as zxids can count. It is for simulations.
	EpochTxns uint32
	// WholeProcess says that the process runs this server only, which may then tune Go's garbage collector.
	WholeProcess bool
	// ResolvePeer replaces the resolver of package net for the names of the servers of an ensemble, if it is not
	// nil. It returns IP addresses, and returns when the deadline of ctx has passed.
	ResolvePeer func(ctx context.Context, host string) ([]string, error)
	// DialPeer and ListenPeer replace the functions of package net for connections between the servers of an
	// ensemble, if they are not nil. They get addresses as the resolver returned them; with DialPeer and without
	// ResolvePeer names as in the configuration.
	DialPeer   func(ctx context.Context, network, address string) (net.Conn, error)
	ListenPeer func(network, address string) (net.Listener, error)
	// ListenClient replaces net.Listen for the plain client port, if it is not nil.
	ListenClient func(network, address string) (net.Listener, error)
}

// Server is one server. Its life is New, Start, Stop; none of them may be called twice.
type Server struct {
	*env.Env
	options Options
	disk    *durable.Disk
	front   *serve.Front
	member  *host.Host
	facts   *ensemble.Facts
	ops     *operators
	traces  *traces.Exporter // nil if there are no traces
	// configured holds committed configurations for runConfigurations.
	configured *flow.Inbox[*config.Quorum]
}

// New returns a server that does nothing yet. It does not touch the disk.
func New(cfg *config.Config, o Options) *Server {
	exporter := traces.New(&cfg.Trace)
	e := env.New(cfg, env.Options{Log: o.Log, Registry: o.Registry, FS: o.FS, Version: o.Version, Program: o.Program,
		Runtime: o.Runtime, Applied: o.Applied, WindowTxns: o.WindowTxns, EpochTxns: o.EpochTxns,
		Tracer: exporter.Tracer()})
	s := &Server{Env: e, options: o, disk: durable.New(e, o.Meta), front: serve.New(e, o.ListenClient),
		traces: exporter}
	exporter.Attach(traces.Surroundings{Runtime: e.Runtime, Log: e.Log, Registry: e.Registry, Version: e.Version,
		Server: cfg.OwnID(), Now: e.Clock.Now, Password: s.front.Password})
	s.configured = flow.NewInbox[*config.Quorum](e.Runtime.Parker())
	network := host.Network{Resolve: o.ResolvePeer, Dial: o.DialPeer, Listen: o.ListenPeer}
	if network.Listen == nil {
		network.Listen = inuse.Listen
	}
	if o.DialPeer != nil && o.ResolvePeer == nil {
		network.Resolve = func(_ context.Context, name string) ([]string, error) { return []string{name}, nil }
	}
	s.member = host.New(e, s.disk, s.front, network)
	s.member.OnConfiguration(s.configured.Put)
	s.facts = ensemble.New(facts.New(e, s.disk, s.front, s.member), s.disk, s.front, s.member)
	s.facts.Rechecks(o.Recheck)
	s.facts.Started(o.Starts)
	s.ops = newOperators(s.facts, s.disk, s.front, s.member, o.LogLevel)
	s.front.Outcomes = outcomes.New(e)
	s.front.Attach(s.member, words.New(s.facts, s.front))
	return s
}

// Start recovers the state from the disk and begins to serve. When it returns without an error,
// clients can connect. When it returns an error, nothing runs any more.
func (s *Server) Start() error {
	err := s.start()
	if err != nil {
		s.Stopping.Open()
		s.release()
	}
	return err
}

func (s *Server) start() error {
	for _, step := range []func() error{
		s.ops.checkKeys,
		s.disk.CheckPermissions, // as Secure, before a port is open and data is read
		s.front.Secure,
		s.ops.startAdmin,
		s.ops.startExporter,
		s.recover,
		func() error { return s.front.Listen(s.disk.Meta.Addresses()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	s.front.PrepareStages()
	if err := s.startMember(); err != nil {
		return err
	}
	if s.options.Runtime == nil { // no simulator has what the servers of an ensemble ask each other at client ports
		s.Spawn("findings", s.facts.Keep)
	}
	s.Spawn("clock", s.runClock)
	s.startStages()
	s.Spawn("snapshotter", s.disk.Snapshotter.Run)
	s.Spawn("reaper", s.runReaper)
	s.Spawn("guard", s.Guard.Run)
	if s.options.WholeProcess {
		s.Spawn("garbage", func() { garbage.Tune(s.Stopping.Done(), s.treeSize) })
	}
	s.front.AcceptAll()
	s.ops.keepTrends()
	s.front.StartSecurity()
	s.member.WatchKeys()
	return nil
}

// recover rebuilds the state from the disk.
func (s *Server) recover() error {
	if err := s.disk.Recover(); err != nil {
		return dataError(err)
	}
	base := s.disk.Meta.SessionBase()
	s.Tracker = sessions.New(s.Config.TickTime, proto.ServerID(s.Config.OwnID()), s.Clock.WallMs(), base)
	s.Tracker.PassOver(s.Store.State.EachSession)
	if err := s.reserveIDs(); err != nil {
		return &durable.DataError{Dir: s.SnapDir(), Err: err}
	}
	return nil
}

// dataError returns an error of the disk, with the process that has the directory open if that is the reason.
func dataError(err error) error {
	var unusable *DataError
	if !errors.As(err, &unusable) {
		return err
	}
	return &DataError{Dir: unusable.Dir, Err: datadir.Locked(unusable.Dir, unusable.Err)}
}

// startMember starts the host. A member of an ensemble searches for a leader from now on, and serves when it has
// one. A standalone server serves when startMember returns.
func (s *Server) startMember() error {
	m := s.member
	if err := m.Prepare(serve.NewApplyQueue(s.front, &m.Queued, &m.Finished)); err != nil {
		return err
	}
	if s.Config.Distributed() && s.Config.ReconfigEnabled {
		s.Spawn("configurations", s.runConfigurations)
	}
	m.StartGoroutines()
	if !s.Config.Distributed() {
		m.Served.Wait()
	}
	return nil
}

// startStages starts what measures operations, and what sends traces.
func (s *Server) startStages() {
	if s.Stages == nil {
		return
	}
	s.Spawn("stages", func() {
		s.Stages.Run()
		s.traces.Close()
	})
	if s.traces != nil {
		s.Spawn("traces", s.traces.Run)
	}
}

// treeSize returns how many znodes there are, and the bytes of their paths and data, and of all watches.
func (s *Server) treeSize() (znodes int, bytes int64) {
	watches := int64(s.front.WatchMemory())
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	return s.Store.State.NumNodes(), s.Store.State.DataSize() + watches
}

// Addr is the address of the plain client port, or nil if there is none.
func (s *Server) Addr() net.Addr { return s.front.Addr() }

// SecureAddr is the address of the TLS client port, or nil if there is none.
func (s *Server) SecureAddr() net.Addr { return s.front.SecureAddr() }

// AdminAddr is where the admin server listens, or nil if there is none.
func (s *Server) AdminAddr() net.Addr { return s.ops.adminAt }

// MetricsAddr is the address of the metrics exporter, or nil if there is none.
func (s *Server) MetricsAddr() net.Addr { return s.ops.exportAt }

// Serving reports whether clients are accepted now.
func (s *Server) Serving() bool { return s.IsServing() }

// Stop ends the server: requests that were received are finished and answered, then every connection is closed.
// Sessions live on in the data.
func (s *Server) Stop() {
	s.member.Finish()
	s.end()
}

// end is Stop without the handover.
func (s *Server) end() {
	s.Doors.Bar()
	s.Stopping.Open()
	s.disk.Stop()
	s.configured.Signal()
	s.front.CloseClientPorts()
	s.ops.stopExporter()
	s.member.End()
	s.Applied.Wait()
	s.member.StopPeers()
	s.front.Conns.Each(func(c *serve.Conn) { c.Shut() })
	s.Running.Close()
	s.front.WaitForConns(env.ShutTimeout)
	s.front.Conns.Each(func(c *serve.Conn) { c.Abort() })
	s.Stages.Close()
	s.release()
	s.Log.Info("stopped", zap.Stringer("zxid", s.Store.LastZxid()))
}

// release closes what Start has opened, when every goroutine has ended. REQUIRES: Stopping is open.
func (s *Server) release() {
	s.ops.stopExporter()
	s.ops.stopAdmin()
	s.front.CloseClientPorts()
	s.Running.Close()
	s.Running.Wait()
	s.front.CloseAudit()
	s.disk.Release()
}

// Wait blocks until ctx is done, and returns nil, or until the server has ended by itself, and returns the reason.
// The caller stops the server afterwards.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.Failed:
		return s.bindError(err)
	}
}

// bindError returns an error, as a BindError if a port for other servers cannot be opened.
func (s *Server) bindError(err error) error {
	var closed *peers.BindError
	if !errors.As(err, &closed) {
		return err
	}
	key := s.Config.Named("observerMasterPort")
	switch own := s.Config.Named(fmt.Sprintf("server.%d", s.Config.OwnID())); closed.Port {
	case "election":
		key = "the election port of " + own
	case "learner":
		key = "the first port of " + own
	}
	return &BindError{Key: key, Addr: closed.Addr, Err: closed.Err}
}

// Failure returns why the server has ended by itself, and nil as long as it has not.
func (s *Server) Failure() error {
	select {
	case err := <-s.Failed:
		s.Fail(err) // for Wait
		return err
	default:
		return nil
	}
}
