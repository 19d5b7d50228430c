package facts

import (
	"fmt"
	"net"
	"strconv"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/zab"
)

// Quorum is a member's place in its ensemble.
type Quorum struct {
	Leader    Leader
	Voters    map[string]ServerLine // by server id
	Observers Observers
	Zab       ZabState
}

// Leader is the answer of leader.
type Leader struct {
	IsLeader bool   `json:"is_leader"`
	ID       int64  `json:"leader_id"`
	IP       string `json:"leader_ip"`
}

// ServerLine is one server of the configuration.
type ServerLine struct {
	ServerAddresses   []string `json:"server_addresses"`
	ElectionAddresses []string `json:"election_addresses"`
	ClientAddress     string   `json:"client_address"`
	LearnerType       string   `json:"learner_type"`
}

// Observers is the answer of observers.
type Observers struct {
	Synced    int        `json:"synced_observers"`
	Observers []Observer `json:"observers"`
}

// Observer is one observer that learns from this server.
type Observer struct {
	Remote           string `json:"remote_socket_address"`
	ID               int64  `json:"sid"`
	Established      int64  `json:"established"`
	QueuedPackets    int    `json:"queued_packets"`
	QueuedBytes      int64  `json:"queued_packets_size"`
	Received         int64  `json:"packets_received"`
	Sent             int64  `json:"packets_sent"`
	Requests         int64  `json:"requests"`
	LastProposedZxid int64  `json:"last_zxid"`
}

// ZabState is the answer of zabstate.
type ZabState struct {
	*ZabMember
	Voting bool `json:"voting"`
	// Phase is election, discovery, synchronization or broadcast; empty for a standalone server.
	Phase string `json:"zabstate"`
}

// Addresses is the addresses of one server for one purpose.
type Addresses struct {
	All []string `json:"all_addresses"`
}

// ZabMember is the additional part of zabstate for a member of an ensemble.
type ZabMember struct {
	ID              int64     `json:"myid"`
	IsLeader        bool      `json:"is_leader"`
	QuorumAddress   Addresses `json:"quorum_address"`
	ElectionAddress Addresses `json:"election_address"`
	ClientAddress   string    `json:"client_address"`
	LastZxid        string    `json:"last_zxid"`
	Epoch           int64     `json:"zab_epoch"`
	Counter         int64     `json:"zab_counter"`

	// The following keys are Warren's own: they tell the servers of one host apart.
	ClientPort int `json:"client_port"`
	SecurePort int `json:"secure_client_port"`
	// Known differences of histories. Outside says that the ensemble has a leader which this server cannot
	// follow.
	Outside bool `json:"outside"`
	*ZabOutside
	Strangers []ZabStranger `json:"strangers,omitempty"`

	// Ensemble is the identity of the history, 16 hexadecimal digits; empty if it is not known for certain.
	Ensemble      string `json:"ensemble"`
	AcceptedEpoch int64  `json:"accepted_epoch"`
	CurrentEpoch  int64  `json:"current_epoch"`
	// Blank: the database was missing, and the server does not vote until a leader has synchronized it.
	Blank bool `json:"blank"`
	*ZabSearch
}

// ZabSearch is the additional part of zabstate for a server that looks for a leader.
type ZabSearch struct {
	WaitsFor string `json:"waits_for"`
	// Stuck: no leader can be elected, because the voters that have a database do not form a quorum.
	Stuck        bool    `json:"stuck"`
	WayOut       string  `json:"way_out"`
	BlankVoters  []int64 `json:"blank_voters"`  // without a database
	EmptyVoters  []int64 `json:"empty_voters"`  // that vote with an empty tree
	SilentVoters []int64 `json:"silent_voters"` // not heard of
}

// ZabOutside is the additional part of zabstate for a server that stays outside the ensemble.
type ZabOutside struct {
	Leader int64  `json:"outside_leader"`
	Reason string `json:"outside_reason"`
	Own    string `json:"own_history"`
	Theirs string `json:"their_history"` // of the leader; empty if the leader does not send it
}

// ZabStranger is a member whose history is known to differ from that of this server.
type ZabStranger struct {
	ID      int64  `json:"myid"`
	Reason  string `json:"reason"`
	History string `json:"history"`
}

// Quorum returns the place of this server in its ensemble. It is nil on a standalone server, and on a read-only
// server, which has lost its ensemble.
func (f *Facts) Quorum() *Quorum {
	if r, ok := f.Role(); ok && !r.ReadOnly {
		return f.quorum(&r)
	}
	return nil
}

func (f *Facts) quorum(r *host.QuorumRole) *Quorum {
	q := f.Membership()
	e := &Quorum{Leader: Leader{IsLeader: r.Leading, ID: int64(r.Leader)},
		Voters: map[string]ServerLine{}}
	if leader := q.Member(int64(r.Leader)); leader != nil {
		e.Leader.IP = leader.Addresses[0].Host
	}
	for i := range q.Members {
		if member := &q.Members[i]; member.Role == config.Participant {
			e.Voters[strconv.FormatInt(member.ID, 10)] = LineOf(member)
		}
	}
	last := f.Store.LastZxid()
	self := f.OwnLine()
	id := LineOf(self)
	plain, secure := f.front.PortNumbers()
	e.Zab = ZabState{Voting: votes(q, int64(f.host.ID)), Phase: r.Phase, ZabMember: &ZabMember{
		ID: int64(f.host.ID), IsLeader: r.Leading, QuorumAddress: Addresses{All: id.ServerAddresses},
		ElectionAddress: Addresses{All: id.ElectionAddresses}, ClientAddress: id.ClientAddress,
		LastZxid: fmt.Sprintf("0x%x", int64(last)), Epoch: last.Epoch(), Counter: int64(last.Counter()),
		ClientPort: plain, SecurePort: secure,
	}}
	for _, o := range r.Observers {
		e.Observers.Synced++
		e.Observers.Observers = append(e.Observers.Observers, Observer{
			Remote: o.Link.Addr, ID: int64(o.Learner.Peer), Established: o.Link.Since.UnixMilli(),
			QueuedPackets: o.Link.QueuePackets, QueuedBytes: int64(o.Link.QueueBytes),
			Received: int64(o.Link.PacketsIn), Sent: int64(o.Link.PacketsOut), Requests: int64(o.Link.RequestsIn),
			LastProposedZxid: int64(o.Learner.Sent),
		})
	}
	describeDifferences(r.Outside, r.Strangers, e.Zab.ZabMember)
	f.describeSearch(r.Search, e.Zab.ZabMember)
	return e
}

// ResetObservers restarts the figures of the observers, as orst does.
func (f *Facts) ResetObservers() { f.host.ForgetPackets() }

func votes(q *config.Quorum, id int64) bool {
	line := q.Member(id)
	return line != nil && line.Role == config.Participant
}

// LineOf is a server line with its addresses as text.
func LineOf(member *config.Member) ServerLine {
	d := ServerLine{LearnerType: member.Role.String()}
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
func describeDifferences(outside *zab.Outside, strangers []zab.Stranger, z *ZabMember) {
	if z.Outside = outside != nil; z.Outside {
		z.ZabOutside = &ZabOutside{Leader: int64(outside.Leader), Reason: outside.Reason, Own: outside.Own,
			Theirs: outside.Theirs}
	}
	for _, s := range strangers {
		z.Strangers = append(z.Strangers, ZabStranger{ID: int64(s.ID), Reason: s.Reason, History: s.Theirs})
	}
}

// describeSearch adds the promises of this server and its search for a leader to the answer of zabstate.
func (f *Facts) describeSearch(search *host.Search, z *ZabMember) {
	epochs := f.disk.Meta.Epochs()
	z.AcceptedEpoch, z.CurrentEpoch, z.Blank = epochs.Accepted, epochs.Current, f.disk.Meta.Blank()
	if id := f.disk.EnsembleIdentity(); id != 0 {
		z.Ensemble = fmt.Sprintf("%016x", id)
	}
	if search == nil {
		return
	}
	z.ZabSearch = &ZabSearch{WaitsFor: search.Reason, Stuck: search.Stuck, WayOut: search.WayOut,
		BlankVoters: numbers(search.Blank), EmptyVoters: numbers(search.Empty), SilentVoters: numbers(search.Silent)}
}

func numbers(servers []proto.ServerID) []int64 {
	all := make([]int64, len(servers))
	for i, id := range servers {
		all[i] = int64(id)
	}
	return all
}
