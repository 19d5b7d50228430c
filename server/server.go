package server

import (
	"context"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/garbage"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/meta"
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

// Server is one server. Its life is New, Start, Stop; none of them may be called twice.
type Server struct {
	*env
	options Options
	disk    *disk
	front   *front
	member  *member
	words   *monitor
	// configured holds configurations that were committed, for runConfigurations.
	configured *flow.Inbox[*config.Quorum]
}

// New returns a server that does nothing yet. It does not touch the disk.
func New(cfg *config.Config, o Options) *Server {
	e := newEnv(cfg, o)
	s := &Server{env: e, options: o, disk: newDisk(e, o.Meta), front: newFront(e, o.ListenClient)}
	s.configured = flow.NewInbox[*config.Quorum](e.rt.Parker())
	s.member = newMember(e, s.disk, s.front, o)
	s.member.configured = s.configured.Put
	s.front.host = s.member
	s.words = newMonitor(e, s.disk, s.front, s.member)
	s.front.words = s.words
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
	if err := s.words.startAdmin(); err != nil {
		return err
	}
	if err := s.recover(); err != nil {
		return err
	}
	if err := s.front.listen(); err != nil {
		return err
	}
	if err := s.startMember(); err != nil {
		return err
	}
	s.start("clock", s.runClock)
	s.start("snapshotter", s.disk.snapshotter.run)
	s.start("reaper", s.runReaper)
	s.start("guard", s.guard.run)
	if s.options.WholeProcess {
		s.start("garbage", func() { garbage.Tune(s.stopping.Done(), s.treeSize) })
	}
	s.front.acceptAll()
	s.words.serveMetrics()
	s.front.startSecurity()
	s.member.watchKeys()
	s.words.warnOpenRoot()
	return nil
}

// recover rebuilds the state from the disk.
func (s *Server) recover() error {
	if err := s.disk.recover(); err != nil {
		return err
	}
	s.tracker = sessions.New(s.cfg.TickTime, proto.ServerID(max(s.cfg.ServerID, 1)), s.clock.wallMs())
	return nil
}

// startMember starts what takes the requests of clients. A member of an ensemble looks for a leader from now on, and serves when it has
// one. A standalone server serves when startMember returns.
func (s *Server) startMember() error {
	m := s.member
	if err := m.prepare(newApplyQueue(s.front, &m.queued)); err != nil {
		return err
	}
	if s.cfg.Distributed() && s.cfg.ReconfigEnabled {
		s.start("configurations", s.runConfigurations)
	}
	m.startGoroutines()
	if !s.cfg.Distributed() {
		m.served.Wait()
	}
	return nil
}

// treeSize returns how many znodes there are, and the bytes of their paths and data.
func (s *Server) treeSize() (znodes int, bytes int64) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return s.store.state.NumNodes(), s.store.state.DataSize()
}

// Run serves until ctx is done and then stops. It returns the error that ended the server otherwise.
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
func (s *Server) Addr() net.Addr { return s.front.addr() }

// SecureAddr is the address of the TLS client port, or nil if there is none.
func (s *Server) SecureAddr() net.Addr { return s.front.secureAddr() }

// AdminAddr is where the admin server listens, or nil if there is none.
func (s *Server) AdminAddr() net.Addr { return s.words.adminAddr }

// MetricsAddr is the address of the metrics exporter, or nil if there is none.
func (s *Server) MetricsAddr() net.Addr { return s.words.metricsAddr() }

// Serving reports whether clients are accepted now.
func (s *Server) Serving() bool { return s.isServing() }

// Stop ends the server: what was received is finished and answered, then every connection is
// closed. Sessions live on in the data.
func (s *Server) Stop() {
	s.member.finish()
	s.end()
}

// end is Stop without the hand-over.
func (s *Server) end() {
	s.serving.Store(false)
	s.stopping.Open()
	s.disk.stop()
	s.configured.Signal()
	s.front.closeClientPorts()
	s.words.stopExporter()
	s.member.end()
	s.applied.Wait()
	if s.member.peers != nil {
		s.member.peers.Stop()
	}
	s.front.conns.each(func(c *conn) { c.shut() })
	s.startNoMore()
	s.front.waitForConns(shutTimeout)
	s.front.conns.each(func(c *conn) { c.Abort() })
	s.words.stopAdmin()
	s.running.ended.Wait()
	s.release()
	s.log.Info("stopped", zap.Stringer("zxid", s.store.lastZxid()))
}

// shutTimeout is how long Stop waits for clients to take their last replies.
const shutTimeout = 500 * time.Millisecond

// release gives back what recover took.
func (s *Server) release() {
	s.words.stopAdmin()
	s.front.closeClientPorts()
	s.disk.release()
}

// Wait blocks until the server has ended by itself, and returns why, or until ctx is done, and
// returns nil. The caller stops the server afterwards.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return err
	}
}
