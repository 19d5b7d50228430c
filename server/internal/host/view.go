package host

import (
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// RoleView is the role of this server at one moment, for other goroutines.
type RoleView struct {
	State  zab.State
	phase  zab.Phase
	Leader proto.ServerID // -1 if there is none
	// master is the server that this server learns from: the leader, or for an observer perhaps a follower. -1 if
	// there is none.
	master  proto.ServerID
	Epoch   int64
	Serving bool
	since   time.Time    // beginning of the role
	outside *zab.Outside // not nil while this server has to stay outside the ensemble
}

// ensembleView is what this server knows of the others at one moment. The host goroutine makes a new one now and
// then; any goroutine may read it.
type ensembleView struct {
	learners []zab.Learner
	syncs    int // syncs of clients that are not answered
	// strangers are the members with a history that is known to differ from the history of this server.
	strangers []zab.Stranger
	rivals    []Rival
	search    *Search // nil while this server does not look for a leader
	// window is how many txns are kept for learners.
	window int
}

// surveyEvery is how often survey does something.
const surveyEvery = 250 * time.Millisecond

// survey is called with every tick. Now and then it lets other goroutines, and the log, know what this server knows of
// the others, and lets a leader consider whether it goes on to lead.
func (m *Host) survey(now time.Time) {
	if now.Sub(m.surveyed) < surveyEvery {
		return
	}
	m.surveyed = now
	v := m.viewOthers(now)
	m.others.Store(v)
	m.warnOutside(now)
	m.warnStrangers(now, v.strangers)
	m.warnLeaderless(now, v.search)
	if lead, ok := m.role.(*leading); ok {
		lead.consider(now, v.learners)
	}
}

// viewOthers returns what this server knows of the others.
func (m *Host) viewOthers(now time.Time) *ensembleView {
	v := &ensembleView{rivals: m.reported.present(now)}
	if c := m.member; c != nil {
		v.learners, v.strangers, v.search = c.Learners(nil), c.Strangers(), newSearch(c.Search())
		v.window, _ = c.Window()
	}
	if lead, ok := m.role.(*leading); ok {
		v.syncs = lead.syncs.Unanswered()
	}
	return v
}

// Window is how many committed txns this server kept for learners when they were last counted, which a member of an
// ensemble does every surveyEvery.
func (m *Host) Window() int {
	if v := m.others.Load(); v != nil {
		return v.window
	}
	return 0
}

// RoleNow returns the present role. ok is false on a standalone server, and before other servers can hear of this
// one.
func (m *Host) RoleNow() (r QuorumRole, ok bool) {
	if !m.joined.Load() {
		return r, false
	}
	return m.quorumRole(), true
}

// quorumRole is the role as the metrics, the four-letter words and the admin commands show it.
func (m *Host) quorumRole() QuorumRole {
	v := m.View.Load()
	r := QuorumRole{Peer: peerState(v), Size: m.Membership().Voters(), Leader: v.Leader, Phase: phaseWord(v.phase),
		Outside: v.outside, ReadOnly: m.ReadOnly.Load()}
	if o := m.others.Load(); o != nil {
		r.Strangers, r.Rivals = o.strangers, o.rivals
		if v.State == zab.Looking {
			r.Search = o.search
		}
	}
	if r.ReadOnly {
		return r
	}
	switch v.State {
	case zab.Leading:
		r.Leading = true
		r.LeaderUptime = m.Clock.Steady().Sub(v.since)
	case zab.Following:
		r.Following = true
	case zab.Observing:
		r.Observing, r.ObserverMaster = true, int64(v.master)
	}
	if o := m.others.Load(); o != nil && (r.Leading || r.Following) {
		r.PendingSyncs, r.Observers, r.Others = o.syncs, m.observers(o), o.learners
		for _, l := range o.learners {
			r.Learners++
			switch {
			case !l.Synced:
			case l.Observer:
				r.SyncedObservers++
			case l.Voter:
				r.SyncedFollowers++
			default:
				r.NonVoting++
			}
		}
	}
	return r
}

// peerState spells the role as zk_peer_state does. Source: operations 2.3.
func peerState(v *RoleView) string {
	if v.State == zab.Looking {
		return "looking"
	}
	role := [...]string{zab.Following: "following", zab.Leading: "leading", zab.Observing: "observing"}[v.State]
	return role + " - " + phaseWord(v.phase)
}

// phaseWord spells a phase in small letters.
func phaseWord(p zab.Phase) string {
	return [...]string{zab.Election: "election", zab.Discovery: "discovery", zab.Synchronization: "synchronization",
		zab.Broadcast: "broadcast"}[p]
}

// observers lists the observers that learn from this server.
func (m *Host) observers(o *ensembleView) (all []observer) {
	links := map[zab.LinkID]peers.LinkStats{}
	for _, l := range m.peers.Stats().Links {
		links[l.ID] = l
	}
	for _, l := range o.learners {
		if st, open := links[l.Link]; l.Observer && l.Synced && open {
			all = append(all, observer{Learner: l, Link: st})
		}
	}
	return all
}

// arrival counts a run of packets from the leader. p is the last of them.
func (m *Host) arrival(p *peers.Packet, n int) {
	q := m.Metrics.Quorum
	now := m.Clock.WallMs()
	switch p.Type {
	case proto.PacketProposal:
		q.LearnerProposals.Add(int64(n))
		q.ProposalDelay.Observe(max(now-flow.TxnTime(p.Data), 0))
	case proto.PacketInform:
		q.LearnerCommits.Add(int64(n))
		q.CommitDelay.Observe(max(now-flow.TxnTime(p.Data), 0))
	case proto.PacketCommit:
		q.LearnerCommits.Add(int64(n))
	}
}

// QuorumRole is the role of a member of an ensemble at one moment.
type QuorumRole struct {
	Peer string // as zk_peer_state: "leading - broadcast"
	Size int    // voters of the current configuration

	// Of a leader only.
	Leading                                            bool
	Learners, SyncedFollowers, NonVoting, PendingSyncs int
	LeaderUptime                                       time.Duration

	// Of a leader and of a follower, which may serve observers too.
	Following       bool
	SyncedObservers int

	// Of an observer: the id of the server it learns from.
	Observing      bool
	ObserverMaster int64

	Outside   *zab.Outside   // not nil while this server has to stay outside the ensemble
	Strangers []zab.Stranger // members with another history
	Rivals    []Rival        // servers that have the id of a member
	Search    *Search        // not nil while this server looks for a leader

	ReadOnly bool           // the server serves read-only clients, because there is no leader
	Leader   proto.ServerID // -1 if there is none
	Phase    string         // in small letters
	// Observers are the observers that learn from this server and are up to date.
	Observers []observer
	// Others are the connected learners of a leader, and the observers that learn from a follower. It must not be
	// changed.
	Others []zab.Learner
}

// observer is an observer that learns from this server.
type observer struct {
	Learner zab.Learner
	Link    peers.LinkStats
}
