package host

import (
	"net"
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

// listsMax bounds the servers whose lists are kept, and the lists that are compared in listsEvery: for quorums with
// groups that takes up to 50 ms, and any program that reaches the election port can send lists.
const listsMax = 64

// lists is what other servers have said of their lists. Owned by the host goroutine.
type lists struct {
	of     map[proto.ServerID]theirList
	own    *zab.Ensemble // the configuration of this server that the lists were compared with
	warned time.Time
	since  time.Time // count is how many lists were compared since then
	count  int
}

// theirList is the list of another server, and what came of the comparison with the own list.
type theirList struct {
	text   string
	unsafe *config.Quorum // the list if it allows a second leader, else nil
	// elsewhere is the host of that server by its own list, if the own list has the server at another one
	elsewhere string
}

// elsewhere returns the host of a server that gives the addresses there as its own, if the list of this server has it
// at others, and "" otherwise. here may be nil. The election port identifies a server at a host; an unspecified
// address may be any.
func elsewhere(here *config.Member, there []config.PeerAddress) string {
	if here == nil || len(there) == 0 {
		return ""
	}
	for _, a := range there {
		if ip := net.ParseIP(a.Host); ip != nil && ip.IsUnspecified() {
			return ""
		}
		for _, known := range here.Addresses {
			if known.Host == a.Host && known.ElectionPort == a.ElectionPort {
				return ""
			}
		}
	}
	return there[0].Host
}

// hearsList reports a notification whose sender has another list than this server. A list is compared once: servers
// repeat their notifications, and to compare takes as many steps as there are pairs of quorums.
func (n *notices) hearsList(msg *zab.Message, active *zab.Ensemble, now time.Time) {
	if n.Config.ReconfigEnabled || len(msg.Config) == 0 {
		return
	}
	k := &n.lists
	theirs, known := k.of[msg.From]
	if k.of == nil || k.own != active || !known && len(k.of) >= listsMax {
		k.of, k.own, known = map[proto.ServerID]theirList{}, active, false
	}
	isNew := !known || theirs.text != string(msg.Config)
	if isNew {
		if now.Sub(k.since) >= listsEvery {
			k.since, k.count = now, 0
		}
		if k.count++; k.count > listsMax {
			return
		}
		theirs = n.compareList(msg, active)
		k.of[msg.From] = theirs
	}
	if theirs.elsewhere != "" && msg.State == zab.Looking {
		n.hear(msg.From, theirs.elsewhere, false, now)
	}
	if theirs.unsafe != nil && (isNew || now.Sub(k.warned) >= listsEvery) {
		k.warned = now
		n.Log.Warn("the list of another server allows it to elect a second leader: "+
			"restart all servers with the same list, and change it by one voter at a time",
			zap.Int64("peer_id", int64(msg.From)), zap.Strings("own", n.Membership().Lines()),
			zap.Strings("theirs", theirs.unsafe.Lines()))
	}
}

// compareList compares the list of a notification with the own list. A difference that allows no second leader is
// logged.
func (n *notices) compareList(msg *zab.Message, active *zab.Ensemble) theirList {
	theirs := theirList{text: string(msg.Config)}
	q, err := config.ParseMembers(msg.Config)
	if err != nil || q.ConfigVersion != 0 {
		return theirs
	}
	e, err := ensembleOf(q)
	if err != nil {
		return theirs
	}
	if there := q.Member(int64(msg.From)); there != nil {
		theirs.elsewhere = elsewhere(n.Membership().Member(int64(msg.From)), there.Addresses)
	}
	switch {
	case !active.Quorum.Overlaps(e.Quorum):
		theirs.unsafe = q
	case !active.Quorum.Equal(e.Quorum):
		n.Log.Info("another server has a different list of servers", zap.Int64("peer_id", int64(msg.From)),
			zap.Bool("votes_here", active.Votes(msg.From)), zap.Strings("own", n.Membership().Lines()),
			zap.Strings("theirs", q.Lines()))
	}
	return theirs
}
