package host

import (
	"errors"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Reasons why an operator cannot end a session now.
var (
	errNoLeader   = errors.New("there is no leader to end the session: try again")
	errHandsOver  = errors.New("the leader is handing over its leadership: try again")
	errNotTracked = errors.New("the session has ended")
)

// EndSession begins the end of a session for an operator, wherever its client is connected. The leader proposes
// closeSession, as it does when a session expires; a learner forwards closeSession to its leader, which takes it from
// every server. The session has ended when the txn is applied; until then EndSession may be called again. Any
// goroutine may call it.
func (h *Host) EndSession(id proto.SessionID) error {
	var err error
	if !h.call(func() { err = h.endSession(id) }) {
		return errNoLeader
	}
	return err
}

func (h *Host) endSession(id proto.SessionID) error {
	f, learns := h.role.(*following)
	if _, leads := h.role.(*leading); !leads && !learns {
		return errNoLeader
	}
	if learns && !h.Tracker.HasLocal(id) {
		return f.endSession(id)
	}
	s, first := h.Tracker.Expire(id)
	if s == nil {
		return errNotTracked
	}
	if first {
		h.Submit(h.NewBatch(h.Clock.Now(), flow.Request{Session: s, Op: proto.OpCloseSession}, nil))
	}
	return nil
}

// endSession forwards closeSession. It makes no difference here whether a client of this server has the session: that
// client goes on until the txn comes back.
func (f *following) endSession(id proto.SessionID) error {
	switch {
	case f.link == nil:
		return errNoLeader
	case f.holding:
		return errHandsOver // the leader expects nothing behind the answer to HOLD
	}
	f.forward(&forwarded{}, &flow.Request{Session: &sessions.Session{ID: id}, Op: proto.OpCloseSession}, nil)
	return nil
}
