package server

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// ensembleView is what a member knows of the others at one moment. The node goroutine makes a new one now and then; anybody may
// read it.
type ensembleView struct {
	learners []zab.Learner
	syncs    int // of clients, that are not answered
	// strangers are the members whose history is known to differ from that of this server.
	strangers []zab.Stranger
}

// viewEvery is how often the figures of learners are renewed.
const viewEvery = 250 * time.Millisecond

// publish renews the figures, and what the leader knows of room.
func (m *member) publish(now time.Time) {
	if now.Sub(m.published) < viewEvery {
		return
	}
	m.published = now
	v := &ensembleView{learners: m.core.Learners(nil), strangers: m.core.Strangers()}
	m.warnOutside(now)
	m.warnStrangers(now, v.strangers)
	if lead, ok := m.role.(*leading); ok {
		v.syncs = len(lead.syncs)
		lead.takeStock(now)
	}
	m.others.Store(v)
}

// roleNow is quorumRole; ok is false for a standalone server, and before other servers hear of this one.
func (m *member) roleNow() (r quorumRole, ok bool) {
	if !m.joined.Load() {
		return r, false
	}
	return m.quorumRole(), true
}

// quorumRole is the role as the metrics, the words and the admin commands show it.
func (m *member) quorumRole() quorumRole {
	v := m.view.Load()
	r := quorumRole{Mode: m.mode(), Peer: peerState(v), Size: m.membership().Voters(), Outside: v.Outside}
	if o := m.others.Load(); o != nil {
		r.Strangers = o.strangers
	}
	if m.readOnly.Load() {
		return r
	}
	switch v.State {
	case zab.Leading:
		r.Leading = true
		r.LeaderUptime = m.clock.steady().Sub(v.Since)
	case zab.Following:
		r.Following = true
	case zab.Observing:
		r.Observing, r.ObserverMaster = true, int64(v.Master)
	}
	if o := m.others.Load(); o != nil && (r.Leading || r.Following) {
		r.PendingSyncs = o.syncs
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
	r.Ensemble = m.ensemble(v)
	return r
}

// peerState spells the role as zk_peer_state does. Source: operations 2.3.
func peerState(v *roleView) string {
	role := map[zab.State]string{zab.Leading: "leading", zab.Following: "following", zab.Observing: "observing"}[v.State]
	if role == "" {
		return "looking"
	}
	return role + " - " + phaseWord(v.Phase)
}

// phaseWord spells a phase in small letters.
func phaseWord(p zab.Phase) string {
	return [...]string{zab.Election: "election", zab.Discovery: "discovery", zab.Synchronization: "synchronization",
		zab.Broadcast: "broadcast"}[p]
}

// ensemble is what the admin commands tell; nil while there is no leader.
func (m *member) ensemble(v *roleView) *admin.Ensemble {
	q := m.membership()
	e := &admin.Ensemble{Leader: admin.Leader{IsLeader: v.State == zab.Leading, ID: int64(v.Leader)}, Voters: map[string]admin.Member{}}
	if leader := q.Member(int64(v.Leader)); leader != nil {
		e.Leader.IP = leader.Addresses[0].Host
	}
	for i := range q.Members {
		if member := &q.Members[i]; member.Role == config.Participant {
			e.Voters[strconv.FormatInt(member.ID, 10)] = describeMember(member)
		}
	}
	last := m.store.lastZxid()
	self := m.ownLine()
	id := describeMember(self)
	plain, secure := m.clients.portNumbers()
	e.Zab = admin.ZabState{Voting: votes(q, int64(m.id)), Phase: phaseWord(v.Phase), ZabMember: &admin.ZabMember{
		ID: int64(m.id), IsLeader: v.State == zab.Leading, QuorumAddress: admin.Addresses{All: id.ServerAddresses},
		ElectionAddress: admin.Addresses{All: id.ElectionAddresses}, ClientAddress: id.ClientAddress,
		LastZxid: fmt.Sprintf("0x%x", int64(last)), Epoch: last.Epoch(), Counter: int64(last.Counter()),
		ClientPort: plain, SecurePort: secure,
	}}
	var strangers []zab.Stranger
	if o := m.others.Load(); o != nil {
		strangers = o.strangers
		if v.State == zab.Leading || v.State == zab.Following {
			m.observers(o, &e.Observers)
		}
	}
	describeDifferences(v.Outside, strangers, e.Zab.ZabMember)
	return e
}

// votes reports whether a server is a voter of a configuration.
func votes(q *config.Quorum, id int64) bool {
	line := q.Member(id)
	return line != nil && line.Role == config.Participant
}

// observers lists the observers that learn from this server.
func (m *member) observers(o *ensembleView, out *admin.Observers) {
	links := map[zab.LinkID]peers.LinkStats{}
	for _, l := range m.peers.Stats().Links {
		links[l.ID] = l
	}
	for _, l := range o.learners {
		st, open := links[l.Link]
		if !l.Observer || !l.Synced || !open {
			continue
		}
		out.Synced++
		out.Observers = append(out.Observers, admin.Observer{
			Remote: st.Addr, ID: int64(l.Peer), Established: st.Since.UnixMilli(), QueuedBytes: int64(st.QueueBytes),
			Received: int64(st.PacketsIn), Sent: int64(st.PacketsOut), LastProposedZxid: int64(l.Sent),
		})
	}
}

// describeMember is a server line as the admin commands show it.
func describeMember(member *config.Member) admin.Member {
	d := admin.Member{LearnerType: member.Role.String()}
	for _, a := range member.Addresses {
		d.ServerAddresses = append(d.ServerAddresses, net.JoinHostPort(a.Host, strconv.Itoa(a.QuorumPort)))
		d.ElectionAddresses = append(d.ElectionAddresses, net.JoinHostPort(a.Host, strconv.Itoa(a.ElectionPort)))
	}
	if member.Client.Port != config.PortUnset {
		d.ClientAddress = member.Client.String()
	}
	return d
}

// arrival keeps the figures of a run of packets from the leader, of which p is the last.
func (m *member) arrival(p *peers.Packet, n int) {
	q := m.metrics.quorum
	now := m.clock.wallMs()
	switch p.Type {
	case proto.PacketProposal:
		q.LearnerProposals.Add(int64(n))
		q.ProposalDelay.Observe(max(now-txnTime(p.Data), 0))
	case proto.PacketInform:
		q.LearnerCommits.Add(int64(n))
		q.CommitDelay.Observe(max(now-txnTime(p.Data), 0))
	case proto.PacketCommit:
		q.LearnerCommits.Add(int64(n))
	}
}

// txnTime is the time in the header of a txn, ms since 1970.
func txnTime(payload []byte) int64 {
	r := proto.NewReader(payload)
	var h proto.TxnHeader
	h.Decode(&r)
	return h.Time
}
