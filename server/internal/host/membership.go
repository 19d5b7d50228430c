package host

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Who is in the ensemble. With reconfigEnabled=false that is what zoo.cfg says. Else it is the committed configuration, which meta.db
// has and the agreement changes; the files that zoo.cfg names are written after it, and count at a start only if theirs is newer.
// Source: quorum-protocol 11, operations 1.6.

// configurations returns the configuration that was committed last, for all that this server knows, and the one behind it in its
// history, of which it is not known whether it was committed; nil if there is none.
func (s *Host) configurations() (active, next *zab.Ensemble, err error) {
	active, err = ensembleOf(&s.Config.Quorum)
	if err != nil || !s.Config.ReconfigEnabled {
		return active, nil, err
	}
	kept, known := s.Disk.Meta.Config()
	if known && kept.Version >= active.Version {
		q, err := config.ParseMembers([]byte(kept.Text))
		if err != nil {
			return nil, nil, fmt.Errorf("server: the configuration in meta.db: %w", err)
		}
		q.ConfigVersion = int64(kept.Version)
		if q.Text() != s.Config.Quorum.Text() {
			s.Log.Warn("the servers named in the files are not those of the ensemble, and do not count", zap.Stringer("version", kept.Version),
				zap.Strings("ensemble", q.Lines()), zap.Strings("files", s.Config.Lines()))
		}
		if active, err = ensembleOf(q); err != nil {
			return nil, nil, err
		}
	} else if active.Version > 0 {
		if err := s.Disk.KeepConfiguration(active); err != nil {
			return nil, nil, err
		}
	}
	// Nothing is logged before the configuration that it was agreed by is kept. So without one the state comes from elsewhere, such as
	// a backup of another ensemble, and says nothing about this one.
	if next = newestConfiguration(s.Store.State); next != nil && (!known || next.Version <= active.Version) {
		next = nil
	}
	return active, next, nil
}

// QuorumWith is the configuration of this server with the members of an ensemble. Its text was made by ensembleOf.
func (s *Host) QuorumWith(e *zab.Ensemble) *config.Quorum {
	q, err := config.ParseMembers(e.Text)
	if err != nil {
		panic(fmt.Sprintf("server: configuration %v: %v", e.Version, err))
	}
	q.ConfigVersion = int64(e.Version)
	return s.Config.Quorum.With(q)
}

// followConfigurations takes up what has changed of the configurations. REQUIRES: turn.
func (m *Host) followConfigurations() {
	active, next := m.core.Ensembles()
	if active == m.Active && next == m.next {
		return
	}
	s := m
	if active != m.Active {
		q := s.QuorumWith(active)
		s.Members.Store(q)
		s.OutstandingMax.Store(int64(env.OutstandingPerServer(s.Config.GlobalOutstandingLimit, q.Voters())))
		s.Log.Info("configuration", zap.Stringer("version", active.Version), zap.Strings("members", q.Lines()))
		m.published = m.published.Add(-viewEvery)
		if s.Config.ReconfigEnabled {
			s.configured(q)
		}
	}
	m.Active, m.next = active, next
	if err := m.peers.SetMembers(m.neighbours()); err != nil {
		s.Log.Error("connecting to the servers of the configuration", zap.Error(err))
	}
}

// decides reports whether the given servers hold a quorum of every configuration.
func (m *Host) decides(ids ...proto.ServerID) bool {
	return m.Active.Quorum.Decides(ids...) && (m.next == nil || m.next.Quorum.Decides(ids...))
}

// neighbours are the servers of both configurations, and this one. One whose addresses change has all of them.
func (m *Host) neighbours() []peers.Member {
	s := m
	all := []peers.Member{}
	add := func(line *config.Member) {
		i := slices.IndexFunc(all, func(p peers.Member) bool { return p.ID == proto.ServerID(line.ID) })
		if i < 0 {
			i = len(all)
			all = append(all, peers.Member{ID: proto.ServerID(line.ID), Observer: true})
		}
		p := &all[i]
		p.Observer = p.Observer && line.Role == config.Observer
		for _, a := range line.Addresses {
			p.Election = appendNew(p.Election, net.JoinHostPort(a.Host, strconv.Itoa(a.ElectionPort)))
			p.Quorum = appendNew(p.Quorum, net.JoinHostPort(a.Host, strconv.Itoa(a.QuorumPort)))
		}
	}
	own := false
	for _, e := range []*zab.Ensemble{m.Active, m.next} {
		if e == nil {
			continue
		}
		q := s.QuorumWith(e)
		for i := range q.Members {
			own = own || q.Members[i].ID == s.Config.ServerID
			add(&q.Members[i])
		}
	}
	if line := s.Config.Quorum.Member(s.Config.ServerID); !own && line != nil {
		add(line)
	}
	return all
}

func appendNew(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// reconfigure decides a reconfiguration: it returns the configuration that is to have the version zxid, as the znode holds it. The
// errors are those of ZooKeeper, in its order. Source: quorum-protocol 11.4 steps 2 to 6.
func (l *leading) reconfigure(r *proto.ReconfigRequest, zxid proto.Zxid) ([]byte, proto.ErrCode) {
	active, next := l.m.core.Ensembles()
	switch {
	case next != nil || l.reconfig > active.Version:
		return nil, proto.ErrReconfigInProgress
	case r.CurConfigID != -1 && proto.Zxid(r.CurConfigID) != active.Version:
		return nil, proto.ErrBadVersion
	}
	s := l.m
	refuse := func(err error) ([]byte, proto.ErrCode) {
		s.Log.Warn("refusing a reconfiguration", zap.Error(err))
		return nil, proto.ErrBadArguments
	}
	q, err := s.configurationOf(r)
	if err != nil {
		return refuse(err)
	}
	q.ConfigVersion = int64(zxid)
	text := ConfigText(q)
	e, err := (roster{}).Parse(text) // as everybody will read it
	if err != nil {
		return refuse(err)
	}
	if !l.m.core.Ready(e) {
		s.Log.Warn("refusing a reconfiguration: no quorum of its voters is connected and up to date", zap.Strings("members", q.Lines()))
		return nil, proto.ErrNewConfigNoQuorum
	}
	return text, proto.OK
}

// configurationOf returns the configuration that a reconfiguration asks for.
func (s *Host) configurationOf(r *proto.ReconfigRequest) (q *config.Quorum, err error) {
	if r.NewMembers != nil {
		q, err = config.Replaced(r.NewMembers.String())
	} else {
		q, err = s.Membership().Changed(r.JoiningServers.String(), r.LeavingServers.String())
	}
	if err == nil {
		err = s.Config.Quorum.Permits(q)
	}
	return q, err
}

// portion is what is proposed next: nothing is behind a reconfiguration, because the agreement takes nothing more until that is committed.
func (l *leading) portion() []zab.Txn {
	n := min(len(l.txns), proposeMax)
	if i := int64(l.reconfig) - int64(l.txns[0].Zxid); i >= 0 && i < int64(n) {
		n = int(i) + 1
	}
	return l.txns[:n]
}

// roster reads configurations for the agreement.
type roster struct{}

var _ zab.Roster = roster{}

// Parse implements zab.Roster.
func (roster) Parse(text []byte) (*zab.Ensemble, error) {
	q, err := config.ParseMembers(text)
	if err != nil {
		return nil, err
	}
	return ensembleOf(q)
}

// Proposed implements zab.Roster: a reconfiguration is a setData of the znode that holds the configuration, of a type of its own. Source:
// quorum-protocol 11.4.
func (r roster) Proposed(t zab.Txn) (*zab.Ensemble, error) {
	text, err := reconfigured(t.Payload)
	if text == nil || err != nil {
		return nil, err
	}
	return r.Parse(text)
}

// reconfigured returns the configuration in the payload of a reconfiguration; nil for any other txn.
func reconfigured(payload []byte) ([]byte, error) {
	r := proto.NewReader(payload)
	var h proto.TxnHeader
	h.Decode(&r)
	if h.Type != proto.OpReconfig {
		return nil, r.Err()
	}
	var body proto.SetDataTxn
	body.Decode(&r)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("server: reconfiguration %v: %w", h.Zxid, err)
	}
	return append([]byte{}, body.Data...), nil
}

// ensembleOf is a configuration as the agreement knows it.
func ensembleOf(q *config.Quorum) (*zab.Ensemble, error) {
	quorum, observers, err := quorumOf(q)
	if err != nil {
		return nil, err
	}
	return &zab.Ensemble{Version: proto.Zxid(q.ConfigVersion), Quorum: quorum, Observers: observers, Text: []byte(q.Text())}, nil
}

// quorumOf is who decides. A server that has no vote and stands in a group does not count there.
func quorumOf(q *config.Quorum) (*zab.Quorum, []proto.ServerID, error) {
	var voters, observers []proto.ServerID
	weights := map[proto.ServerID]int64{}
	for _, m := range q.Members {
		id := proto.ServerID(m.ID)
		if m.Role == config.Observer {
			observers = append(observers, id)
			continue
		}
		voters = append(voters, id)
		weights[id] = m.Weight
	}
	if !q.Hierarchical {
		quorum, err := zab.Majority(voters...)
		return quorum, observers, err
	}
	groups := map[int64][]proto.ServerID{}
	for _, g := range q.Groups {
		for _, member := range g.Members {
			if _, votes := weights[proto.ServerID(member)]; votes {
				groups[g.ID] = append(groups[g.ID], proto.ServerID(member))
			}
		}
	}
	quorum, err := zab.Hierarchical(groups, weights)
	return quorum, observers, err
}

// newestConfiguration returns the last configuration in the history that a state is made of, if it was written there by the
// servers themselves and can be read; else nil. Who may write the znode can put anything there, but not with that version.
func newestConfiguration(s *datatree.State) *zab.Ensemble {
	id := s.Lookup([]byte(datatree.ConfigPath))
	if id == 0 {
		return nil
	}
	node := s.Node(id)
	e, err := roster{}.Parse(s.Data(id))
	if err != nil || node.Version != -1 || e.Version != node.Mzxid {
		return nil
	}
	return e
}
