package server

import (
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

func randomFloat() float64 { return rand.Float64() }

// runClock expires sessions. A server that was itself unable to listen, because it was suspended
// or its disk stood still, does not hold the silence against its clients: that time does not count but
// for a tick, and nothing expires before there was time to look at what has arrived meanwhile. On a machine so
// busy that this happens again and again sessions end later, but they do.
func (s *Server) runClock() {
	tick := s.cfg.TickTime
	step := tick / 4
	ticker := time.NewTicker(max(step, time.Millisecond))
	defer ticker.Stop()
	last, waited := s.clock.now(), false
	for {
		select {
		case <-s.stopping:
			return
		case <-ticker.C:
		}
		now := s.clock.now()
		stalled := s.logStalled.Load()
		passed := now - last
		last = now
		switch {
		case stalled != 0 && now-stalled > int64(tick):
			s.tracker.postpone(passed, now)
		case passed > int64(tick):
			s.tracker.postpone(passed-int64(tick), now)
			if waited = !waited; waited {
				continue
			}
		default:
			waited = false
		}
		for _, e := range s.tracker.sweep(now) {
			s.log.Info("expiring session", zap.Stringer("session_id", e.id), zap.Duration("timeout", e.timeout()))
			s.metrics.staleSessions.Inc()
			s.closeSession(e)
		}
	}
}

// closeSession ends a session by a txn, as for a client that is gone.
func (s *Server) closeSession(e *session) {
	b := s.batches.get()
	b.received = s.clock.now()
	b.add(request{session: e, op: proto.OpCloseSession}, nil)
	s.submit(b)
}

// reaperSlice is how many candidates are looked up under one hold of the read lock.
const reaperSlice = 1024

// runReaper deletes containers that have lost their last child and TTL znodes that were left
// alone. Source: server-semantics section 5.10.
func (s *Server) runReaper() {
	ticker := time.NewTicker(max(s.cfg.Container.CheckInterval, time.Millisecond))
	defer ticker.Stop()
	pace := time.Minute / time.Duration(max(s.cfg.Container.MaxPerMinute, 1))
	for {
		select {
		case <-s.stopping:
			return
		case <-ticker.C:
		}
		if !s.decides() {
			continue
		}
		for _, path := range s.due() {
			s.deleteContainer(path)
			select {
			case <-s.stopping:
				return
			case <-time.After(pace):
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
	b := s.batches.get()
	b.received = s.clock.now()
	req := proto.PathRequest{Path: path}
	b.add(request{op: proto.OpDeleteContainer, ids: []datatree.Identity{datatree.SuperIdentity("")}}, req.AppendTo(nil))
	s.submit(b)
	s.metrics.containersDeleted.Inc()
}
