package host

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// RoleView is the role of this server at one moment, for other goroutines: the Status of the core without Stopped,
// Fatal, Reason and Deserted, which may change without a new RoleView.
type RoleView struct {
	zab.Status
	since time.Time // beginning of the role
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

// published is what other goroutines may know of the role and of the other servers. Any goroutine may read it.
type published struct {
	env *env.Env
	// links are the connections to other servers. Set before joined.
	links func() peers.Stats
	// View is the role. Only the host goroutine stores it.
	View atomic.Pointer[RoleView]
	// others is what this server knows of its learners. Only the host goroutine stores it.
	others atomic.Pointer[ensembleView]
	// joined is true on a member of an ensemble as soon as other servers can hear of it.
	joined atomic.Bool
	// generation is the number of the present time of service. It changes with every role. A connection remembers
	// the number under which it was accepted. Only the host goroutine stores it.
	generation atomic.Int64
}

// surveyEvery is how often survey does something.
const surveyEvery = 250 * time.Millisecond

// survey is called when ticks were due. Now and then it lets other goroutines, and the log, know what this server
// knows of the others, and lets a leader consider whether it goes on to lead.
func (h *Host) survey(now time.Time) {
	if now.Sub(h.surveyed) < surveyEvery {
		return
	}
	h.surveyed = now
	v := h.viewOthers(now)
	h.others.Store(v)
	h.notices.warnOutside(h.status.Outside, now)
	h.notices.warnStrangers(now, v.strangers)
	h.notices.warnLeaderless(now, v.search)
	if lead, ok := h.role.(*leading); ok {
		lead.consider(now, v.learners)
	}
}

// viewOthers returns what this server knows of the others.
func (h *Host) viewOthers(now time.Time) *ensembleView {
	v := &ensembleView{rivals: h.notices.present(now)}
	if c := h.member; c != nil {
		v.learners, v.strangers, v.search = c.Learners(nil), c.Strangers(), newSearch(c.Search())
		v.window, _ = c.Window()
	}
	if lead, ok := h.role.(*leading); ok {
		v.syncs = lead.syncs.Unanswered()
	}
	return v
}

// Window is how many committed txns this server kept for learners when they were last counted, which a member of an
// ensemble does every surveyEvery.
func (p *published) Window() int {
	if v := p.others.Load(); v != nil {
		return v.window
	}
	return 0
}

// RoleNow returns the present role, as the metrics, the four-letter words and the admin commands show it. ok is false
// on a standalone server, and before other servers can hear of this one.
func (p *published) RoleNow() (r QuorumRole, ok bool) {
	if !p.joined.Load() {
		return r, false
	}
	v := p.View.Load()
	r = QuorumRole{Peer: peerState(v), Size: p.env.Membership().Voters(), Leader: v.Leader, Phase: phaseWord(v.Phase),
		Outside: v.Outside, ReadOnly: p.env.ReadOnly.Load()}
	if o := p.others.Load(); o != nil {
		r.Strangers, r.Rivals = o.strangers, o.rivals
		if v.State == zab.Looking {
			r.Search = o.search
		}
	}
	if r.ReadOnly {
		return r, true
	}
	switch v.State {
	case zab.Leading:
		r.Leading = true
		r.LeaderUptime = p.env.Clock.Steady().Sub(v.since)
	case zab.Following:
		r.Following = true
	case zab.Observing:
		r.Observing, r.ObserverMaster = true, int64(v.Master)
	}
	if o := p.others.Load(); o != nil && (r.Leading || r.Following) {
		r.PendingSyncs, r.Observers, r.Others = o.syncs, p.observers(o), o.learners
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
	return r, true
}

// observers lists the observers that learn from this server.
func (p *published) observers(o *ensembleView) (all []observer) {
	links := map[zab.LinkID]peers.LinkStats{}
	for _, l := range p.links().Links {
		links[l.ID] = l
	}
	for _, l := range o.learners {
		if st, open := links[l.Link]; l.Observer && l.Synced && open {
			all = append(all, observer{Learner: l, Link: st})
		}
	}
	return all
}

// ForgetPackets restarts the counts of packets of all connections to other servers.
func (h *Host) ForgetPackets() {
	if h.joined.Load() {
		h.peers.ForgetPackets()
	}
}

// Generation is the number of the present time of service; see Host.
func (p *published) Generation() int64 { return p.generation.Load() }

// Position is the zxid up to which this server serves the history: its last txn, or the beginning of its leader's
// epoch if that epoch has no txn yet. Servers in Java report the latter to clients as if it were a txn.
func (p *published) Position() proto.Zxid {
	last := p.env.Store.LastZxid()
	if v := p.View.Load(); v.Serving {
		return max(last, proto.MakeZxid(v.Epoch, 0))
	}
	return last
}

// Rules reports whether this server decides about sessions and abandoned znodes: as the leader, or as a standalone
// server.
func (p *published) Rules() bool {
	v := p.View.Load()
	return v.State == zab.Leading && v.Serving
}

// Mode is the server's role as the four-letter words spell it.
func (p *published) Mode() string {
	if !p.env.Config.Distributed() {
		return "standalone"
	}
	if p.env.ReadOnly.Load() {
		return "read-only"
	}
	return [...]string{zab.Looking: "looking", zab.Following: "follower", zab.Leading: "leader",
		zab.Observing: "observer"}[p.View.Load().State]
}

// peerState spells the role as zk_peer_state does. Source: operations 2.3.
func peerState(v *RoleView) string {
	role := strings.ToLower(v.State.String())
	if v.State == zab.Looking {
		return role
	}
	return role + " - " + phaseWord(v.Phase)
}

// phaseWord spells a phase in small letters.
func phaseWord(p zab.Phase) string { return strings.ToLower(p.String()) }

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

// countArrived counts a run of packets from the leader. p is the last of them.
func countArrived(e *env.Env, p *peers.Packet, n int) {
	q := e.Metrics.Quorum
	now := e.Clock.WallMs()
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
