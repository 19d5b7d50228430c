package words

import (
	"fmt"
	"net"
	"strconv"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/zab"
)

// ensemble is the ensemble in the form of the admin commands.
func (s *Reporter) ensemble(r *host.QuorumRole) *admin.Ensemble {
	q := s.Membership()
	e := &admin.Ensemble{Leader: admin.Leader{IsLeader: r.Leading, ID: int64(r.Leader)},
		Voters: map[string]admin.Member{}}
	if leader := q.Member(int64(r.Leader)); leader != nil {
		e.Leader.IP = leader.Addresses[0].Host
	}
	for i := range q.Members {
		if member := &q.Members[i]; member.Role == config.Participant {
			e.Voters[strconv.FormatInt(member.ID, 10)] = describeMember(member)
		}
	}
	last := s.Store.LastZxid()
	self := s.OwnLine()
	id := describeMember(self)
	plain, secure := s.front.PortNumbers()
	e.Zab = admin.ZabState{Voting: votes(q, int64(s.host.ID)), Phase: r.Phase, ZabMember: &admin.ZabMember{
		ID: int64(s.host.ID), IsLeader: r.Leading, QuorumAddress: admin.Addresses{All: id.ServerAddresses},
		ElectionAddress: admin.Addresses{All: id.ElectionAddresses}, ClientAddress: id.ClientAddress,
		LastZxid: fmt.Sprintf("0x%x", int64(last)), Epoch: last.Epoch(), Counter: int64(last.Counter()),
		ClientPort: plain, SecurePort: secure,
	}}
	for _, o := range r.Observers {
		e.Observers.Synced++
		e.Observers.Observers = append(e.Observers.Observers, admin.Observer{
			Remote: o.Link.Addr, ID: int64(o.Learner.Peer), Established: o.Link.Since.UnixMilli(),
			QueuedBytes: int64(o.Link.QueueBytes),
			Received:    int64(o.Link.PacketsIn), Sent: int64(o.Link.PacketsOut),
			LastProposedZxid: int64(o.Learner.Sent),
		})
	}
	describeDifferences(r.Outside, r.Strangers, e.Zab.ZabMember)
	s.describeSearch(r.Search, e.Zab.ZabMember)
	return e
}

// votes reports whether a server is a voter of a configuration.
func votes(q *config.Quorum, id int64) bool {
	line := q.Member(id)
	return line != nil && line.Role == config.Participant
}

// describeMember is a server line in the form of the admin commands.
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

// describeDifferences adds histories that differ to the answer of zabstate.
func describeDifferences(outside *zab.Outside, strangers []zab.Stranger, z *admin.ZabMember) {
	if z.Outside = outside != nil; z.Outside {
		z.ZabOutside = &admin.ZabOutside{Leader: int64(outside.Leader), Reason: outside.Reason, Own: outside.Own,
			Theirs: outside.Theirs}
	}
	for _, s := range strangers {
		z.Strangers = append(z.Strangers, admin.ZabStranger{ID: int64(s.ID), Reason: s.Reason, History: s.Theirs})
	}
}

// describeSearch adds the promises of this server and its search for a leader to the answer of zabstate.
func (s *Reporter) describeSearch(search *host.Search, z *admin.ZabMember) {
	epochs := s.disk.Meta.Epochs()
	z.AcceptedEpoch, z.CurrentEpoch, z.Blank = epochs.Accepted, epochs.Current, s.disk.Meta.Blank()
	if id := s.disk.EnsembleIdentity(); id != 0 {
		z.Ensemble = fmt.Sprintf("%016x", id)
	}
	if search == nil {
		return
	}
	z.ZabSearch = &admin.ZabSearch{WaitsFor: search.Reason, Stuck: search.Stuck, WayOut: search.WayOut,
		BlankVoters: numbers(search.Blank), EmptyVoters: numbers(search.Empty), SilentVoters: numbers(search.Silent)}
}

func numbers(servers []proto.ServerID) []int64 {
	all := make([]int64, len(servers))
	for i, id := range servers {
		all[i] = int64(id)
	}
	return all
}
