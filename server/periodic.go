package server

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// runClock expires sessions.
func (s *Server) runClock() {
	clock := s.tracker.Clock(s.clock.now())
	for !s.stopping.WaitFor(max(s.cfg.TickTime/4, time.Millisecond)) {
		for _, e := range clock.Look(s.clock.now(), s.logStalled.Load()) {
			s.log.Info("expiring session", zap.Stringer("session_id", e.ID), zap.Duration("timeout", e.Timeout()))
			s.metrics.staleSessions.Inc()
			s.closeSession(e)
		}
	}
}

// closeSession ends a session by a txn, as for a client that is gone.
func (s *Server) closeSession(e *sessions.Session) {
	b := s.requestPool.Get()
	b.Received = s.clock.now()
	b.Add(flow.Request{Session: e, Op: proto.OpCloseSession}, nil)
	s.member.submit(b)
}

// reaperSlice is how many candidates are looked up under one hold of the read lock.
const reaperSlice = 1024

// runReaper deletes containers that have lost their last child and TTL znodes that were left
// alone. Source: server-semantics 5.10.
func (s *Server) runReaper() {
	pace := time.Minute / time.Duration(max(s.cfg.Container.MaxPerMinute, 1))
	for !s.stopping.WaitFor(max(s.cfg.Container.CheckInterval, time.Millisecond)) {
		if !s.member.rules() {
			continue
		}
		for _, path := range s.due() {
			s.deleteContainer(path)
			if s.stopping.WaitFor(pace) {
				return
			}
		}
	}
}

// due lists znodes to reap, at most reaperSlice of them: the rest is found at the next run.
func (s *Server) due() [][]byte {
	var paths [][]byte
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	s.store.state.EachDue(s.clock.wallMs(), s.cfg.Container.MaxNeverUsed.Milliseconds(), func(path []byte) bool {
		paths = append(paths, append([]byte(nil), path...))
		return len(paths) < max(s.cfg.Container.MaxPerMinute, reaperSlice)
	})
	return paths
}

func (s *Server) deleteContainer(path []byte) {
	b := s.requestPool.Get()
	b.Received = s.clock.now()
	req := proto.PathRequest{Path: path}
	b.Add(flow.Request{Op: proto.OpDeleteContainer, IDs: []auth.Identity{auth.SuperIdentity("")}}, req.AppendTo(nil))
	s.member.submit(b)
	s.metrics.containersDeleted.Inc()
}
