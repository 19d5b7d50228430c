package server

import (
	"errors"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/zab"
)

// Status is the state of a server at one moment.
type Status struct {
	// Mode is "standalone", "leader", "follower", "observer" or "looking", as the four-letter word stat shows it.
	Mode string
	// Leader is the id of the leader that this server follows, or is; -1 if it knows none or is standalone.
	Leader proto.ServerID
	// Epoch is the leader's; 0 if there is none.
	Epoch int64
	// Serving is true while clients are accepted, and of a leader that leaves them to the others.
	Serving bool
	// WaitsFor is what a member of an ensemble without a leader waits for; empty otherwise.
	WaitsFor string
	// Zxid is the zxid of the newest applied txn, and Digest is the digest of the tree right after it. Two servers
	// with the same zxid have the same digest.
	Zxid   proto.Zxid
	Digest int64
	// Sessions is how many sessions the replicated state holds.
	Sessions int
	// Config is the version of the ensemble's configuration; 0 if only the files of the servers contain the
	// configuration.
	Config proto.Zxid
}

// Status returns the present state. Any goroutine may call it after Start and before Stop.
func (s *Server) Status() Status {
	st := Status{Mode: s.member.Mode(), Leader: -1, Serving: s.InService()}
	if s.Config.Distributed() {
		v := s.member.View.Load()
		st.Leader, st.Epoch = v.Leader, v.Epoch
		st.Config = proto.Zxid(s.Membership().ConfigVersion)
		// The doors are shut a moment after the role ends.
		st.Serving = st.Serving && (v.Serving || s.ReadOnly.Load())
		if v.State == zab.Looking {
			if r, ok := s.member.RoleNow(); ok && r.Search != nil {
				st.WaitsFor = r.Search.Reason
			}
		}
	}
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	st.Zxid, st.Digest, st.Sessions = s.Store.State.LastZxid(), s.Store.State.Digest(), s.Store.State.NumSessions()
	return st
}

// Held is what a server holds in memory for work that it has not finished. When no request is on its way, Requests,
// Longest and Queued are 0.
type Held struct {
	// Requests is how many requests of clients are received and not answered. While they are more than the share of
	// this server in globalOutstandingLimit, a connection gets no further ones taken.
	Requests int64
	// Longest is how many requests wait in the longest queue of a connection, at most 256.
	Longest int
	// Queued is how many bytes of txns wait for the log or for the tree.
	Queued int64
	// Window is how many committed txns are kept for learners, as counted up to a quarter of a second ago: at most
	// commitLogCount or 5,000, and those that are not applied or that a learner is being sent.
	Window int
}

// Held returns what the server holds now. Any goroutine may call it after Start and before Stop.
func (s *Server) Held() Held {
	h := Held{Requests: s.InProcess.Load(), Queued: s.member.Queued.Load(), Window: s.member.Window()}
	s.front.Conns.Each(func(c *serve.Conn) { h.Longest = max(h.Longest, c.View().Queued) })
	return h
}

// ErrNotLeading means that only a serving leader, or a standalone server, can do this.
var ErrNotLeading = errors.New("server: this server does not lead")

// ExpireSession ends a session as if its client had been silent for its timeout. The session has ended when the txn
// is applied. Until then ExpireSession returns nil, however often it is called. After that it returns
// proto.ErrSessionExpired, as it does for a session that never existed. It returns ErrNotLeading if this server
// does not decide about sessions.
func (s *Server) ExpireSession(id proto.SessionID) error {
	if !s.member.Rules() {
		return ErrNotLeading
	}
	e, first := s.Tracker.Expire(id)
	switch {
	case e == nil:
		return proto.ErrSessionExpired
	case first:
		s.closeSession(e)
	}
	return nil
}

// HandOver hands the leadership to a server that is named, without an election. It returns when the handover has
// begun; Status then tells how it ends, and another server leads if the named one fails in the meantime. An error says
// why it is impossible: ErrNotLeading, or what the named server lacks. Any goroutine may call it.
func (s *Server) HandOver(to proto.ServerID) error {
	err := s.member.HandOverTo(to, false)
	if errors.Is(err, zab.ErrNotLeading) {
		return ErrNotLeading
	}
	return err
}

// CutClients closes every client connection at once, as a network failure does. Sessions live on.
func (s *Server) CutClients() { s.front.Conns.Each(func(c *serve.Conn) { c.Abort() }) }

// Abort ends the server like Stop, but as abruptly as a killed process: connections are closed before their replies
// are sent, and a leader does not hand over. It is for tests of such failures.
func (s *Server) Abort() {
	s.CutClients()
	s.end()
}
