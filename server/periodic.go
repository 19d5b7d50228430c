package server

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/wal/vfs"
)

// runClock is the goroutine that expires sessions.
func (s *Server) runClock() {
	clock := s.Tracker.Clock(s.Clock.Now())
	every := clock.Every()
	for !s.Stopping.WaitFor(every) {
		if err := s.reserveIDs(); err != nil {
			s.Fatal("reserving ids for sessions", err)
			return
		}
		for _, e := range clock.Look(s.Clock.Now(), s.LogStalled.Load()) {
			s.Log.Info("expiring session", zap.Stringer("session_id", e.ID), zap.Duration("timeout", e.Timeout()))
			s.Metrics.StaleSessions.Inc()
			s.closeSession(e)
		}
	}
}

// reserveIDs reserves ids for new sessions when few are left. While the disk is full none are reserved. Then no
// session can be created when the ids that are reserved have been used up.
func (s *Server) reserveIDs() error {
	err := s.Tracker.Reserve(s.disk.Meta.SetSessionBase)
	if errors.Is(err, vfs.ErrNoSpace) {
		s.Log.Debug("reserving ids for sessions", zap.Error(err))
		return nil
	}
	return err
}

// closeSession ends a session by a txn, as for a client that has gone away.
func (s *Server) closeSession(e *sessions.Session) {
	s.member.Submit(s.NewBatch(s.Clock.Now(), flow.Request{Session: e, Op: proto.OpCloseSession}, nil))
}

const (
	// reaperSlice is how many candidates are looked up under one hold of the read lock.
	reaperSlice = 1024
	// reaperBytes bounds their paths, not counting the last one: each may have nearly a MiB, although what is stored
	// of it is only a short name.
	reaperBytes = 8 << 20
)

// runReaper is the goroutine that deletes containers that have lost their last child, and TTL znodes that have
// expired. Source: server-semantics 5.10.
func (s *Server) runReaper() {
	pace := time.Minute / time.Duration(max(s.Config.Container.MaxPerMinute, 1))
	for !s.Stopping.WaitFor(max(s.Config.Container.CheckInterval, time.Millisecond)) {
		if !s.member.Rules() {
			continue
		}
		for _, path := range s.due() {
			s.deleteContainer(path)
			if s.Stopping.WaitFor(pace) {
				return
			}
		}
	}
}

// due lists znodes to delete, at most reaperSlice of them, or as many as one run may delete: the next run finds the
// rest.
func (s *Server) due() [][]byte {
	var paths [][]byte
	size := 0
	s.Store.Long.Lock()
	defer s.Store.Long.Unlock()
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	s.Store.State.EachDue(s.Clock.WallMs(), s.Config.Container.MaxNeverUsed.Milliseconds(), func(path []byte) bool {
		paths = append(paths, append([]byte(nil), path...))
		size += len(path)
		return len(paths) < max(s.Config.Container.MaxPerMinute, reaperSlice) && size < reaperBytes
	})
	return paths
}

func (s *Server) deleteContainer(path []byte) {
	req := proto.PathRequest{Path: path}
	super := flow.Request{Op: proto.OpDeleteContainer, IDs: []auth.Identity{auth.SuperIdentity("")}}
	s.member.Submit(s.NewBatch(s.Clock.Now(), super, req.AppendTo(nil)))
	s.Metrics.ContainersDeleted.Inc()
}
