package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/zab"
)

// Lists: in an ensemble that cannot be reconfigured each server goes by the server lines of its own zoo.cfg, and an
// operator changes the ensemble by restarting one server after the other with a new list. Until that has ended the
// servers have two lists.
//
// The invariant: any quorum of one of the lists has a server in common with any quorum of the other. Then no two
// leaders can be established at a time, and a leader knows what a quorum of the other list has acknowledged. It holds
// for lists that differ by one voter. No server can see to it, because a server without the others' lists has to be
// able to start. But notifications carry the list of their sender, so a difference is reported.

// listsEvery is how often the log repeats a warning about lists.
const listsEvery = time.Minute

// listsMax bounds the servers whose lists are kept.
const listsMax = 64

// lists is what other servers have said of their lists. Owned by the host goroutine.
type lists struct {
	of     map[proto.ServerID]string // the last text
	warned time.Time
}

// hearsList reports a notification whose sender has another list than this server.
func (m *Host) hearsList(msg *zab.Message, now time.Time) {
	if m.Config.ReconfigEnabled || len(msg.Config) == 0 {
		return
	}
	old, known := m.lists.of[msg.From]
	isNew := old != string(msg.Config)
	if !isNew && now.Sub(m.lists.warned) < listsEvery {
		return
	}
	if m.lists.of == nil || !known && len(m.lists.of) >= listsMax {
		m.lists.of = map[proto.ServerID]string{}
	}
	m.lists.of[msg.From] = string(msg.Config)
	q, err := config.ParseMembers(msg.Config)
	if err != nil || q.ConfigVersion != 0 {
		return
	}
	e, err := ensembleOf(q)
	if err != nil {
		return
	}
	own := m.Membership()
	switch {
	case !m.Active.Quorum.Overlaps(e.Quorum):
		m.lists.warned = now
		m.Log.Warn("another server has a list that allows a second leader beside one of this server's list: "+
			"restart all servers with one list, and change it by one voter at a time",
			zap.Int64("peer_id", int64(msg.From)), zap.Strings("own", own.Lines()), zap.Strings("theirs", q.Lines()))
	case isNew && !m.Active.SameVoters(e):
		m.Log.Info("another server has another list of servers", zap.Int64("peer_id", int64(msg.From)),
			zap.Bool("votes_here", m.Active.Votes(msg.From)), zap.Strings("own", own.Lines()),
			zap.Strings("theirs", q.Lines()))
	}
}
