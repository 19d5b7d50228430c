package host

import (
	"bytes"
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
	"github.com/seed94657493/warren/zab/quorum"
)

// Membership: which servers are in the ensemble. With reconfigEnabled=false zoo.cfg decides. Otherwise the
// committed configuration decides: meta.db stores it and the agreement changes it. The files that zoo.cfg names are
// written after meta.db. At a start they count only if their configuration is newer. Source: quorum-protocol 11,
// operations 1.6.

// followConfigurations reacts to a change of the configurations in the core. REQUIRES: turn.
func (h *Host) followConfigurations() {
	if h.member == nil {
		return
	}
	active, next := h.member.Ensembles()
	if active == h.Active && next == h.next {
		return
	}
	if active != h.Active {
		q := h.QuorumWith(active)
		h.Members.Store(q)
		h.OutstandingMax.Store(int64(env.OutstandingPerServer(h.Config.GlobalOutstandingLimit, q.Voters())))
		h.Log.Info("configuration", zap.Stringer("version", active.Version), zap.Strings("members", q.Lines()))
		h.surveyed = h.surveyed.Add(-surveyEvery)
		if h.Config.ReconfigEnabled {
			h.configured(q)
		}
	}
	h.Active, h.next = active, next
	if err := h.peers.SetMembers(h.neighbours(&h.setup)); err != nil {
		h.Log.Error("cannot connect to the servers of the configuration", zap.Error(err))
	}
}

// ensembles are the configurations of the core, as the host has followed them. Owned by the host goroutine.
type ensembles struct {
	Active *zab.Ensemble // the committed one
	next   *zab.Ensemble // the pending one, nil if there is none
}

// decides reports whether the given servers are a quorum of every configuration.
func (e *ensembles) decides(ids ...proto.ServerID) bool {
	return e.Active.Quorum.Decides(ids...) && (e.next == nil || e.next.Quorum.Decides(ids...))
}

// neighbours are the servers of both configurations, and this one. A server that is in both with different
// addresses has all of them.
func (e *ensembles) neighbours(s *setup) []peers.Member {
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
	for _, one := range []*zab.Ensemble{e.Active, e.next} {
		if one == nil {
			continue
		}
		q := s.QuorumWith(one)
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

// reconfigure decides a reconfiguration: it returns the text of the configuration that gets the version zxid, as
// the znode holds it. The errors are those of ZooKeeper, in its order. Source: quorum-protocol 11.4 steps 2 to 6.
func (l *leading) reconfigure(r *proto.ReconfigRequest, zxid proto.Zxid) ([]byte, proto.ErrCode) {
	active, next := l.h.member.Ensembles()
	switch {
	case next != nil || l.reconfig > active.Version:
		return nil, proto.ErrReconfigInProgress
	case r.CurConfigID != -1 && proto.Zxid(r.CurConfigID) != active.Version:
		return nil, proto.ErrBadVersion
	}
	h := l.h
	refuse := func(err error) ([]byte, proto.ErrCode) {
		h.Log.Warn("refusing a reconfiguration", zap.Error(err))
		return nil, proto.ErrBadArguments
	}
	q, err := h.configurationOf(r)
	if err != nil {
		return refuse(err)
	}
	q.ConfigVersion = int64(zxid)
	text := ConfigText(q)
	e, err := (roster{}).Parse(text) // as every server will read it
	if err != nil {
		return refuse(err)
	}
	if !l.h.member.Ready(e) {
		h.Log.Warn("refusing a reconfiguration: no quorum of its voters is connected and up to date",
			zap.Strings("members", q.Lines()))
		return nil, proto.ErrNewConfigNoQuorum
	}
	return text, proto.OK
}

// portion is what is proposed next. It ends with a reconfiguration, because the agreement takes no more txns until
// the reconfiguration is committed.
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

// Proposed implements zab.Roster. A reconfiguration is a setData of the znode that holds the configuration, with a
// type of its own. Source: quorum-protocol 11.4.
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

// ensembleOf is a configuration in the form that the agreement needs.
func ensembleOf(q *config.Quorum) (*zab.Ensemble, error) {
	quorum, observers, err := QuorumOf(q)
	if err != nil {
		return nil, err
	}
	return &zab.Ensemble{Version: proto.Zxid(q.ConfigVersion), Quorum: quorum, Observers: observers,
		Text: []byte(q.Text())}, nil
}

// QuorumOf returns the quorum rule and the observers of a configuration. A server without a vote does not count in
// its group.
func QuorumOf(q *config.Quorum) (*quorum.System, []proto.ServerID, error) {
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
		system, err := quorum.Majority(voters...)
		return system, observers, err
	}
	groups := map[int64][]proto.ServerID{}
	for _, g := range q.Groups {
		for _, member := range g.Members {
			if _, votes := weights[proto.ServerID(member)]; votes {
				groups[g.ID] = append(groups[g.ID], proto.ServerID(member))
			}
		}
	}
	system, err := quorum.Hierarchical(groups, weights)
	return system, observers, err
}

// newestConfiguration returns the last configuration in the history of a state, if the servers themselves have
// written it there and it can be read; else nil. A client with the permission to write the znode can put any data
// there, but not with that version.
func newestConfiguration(s *datatree.State) *zab.Ensemble {
	id := s.Lookup(configPath)
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

// ConfigText is a configuration as notifications, NEWLEADER and /zookeeper/config carry it. Source: quorum-protocol
// 11.1.
func ConfigText(q *config.Quorum) []byte {
	return fmt.Appendf(nil, "%s\nversion=%x", q.Text(), q.ConfigVersion)
}

// setConfig writes a configuration into its znode, as every member does when it starts and when it has synchronized.
// What clients read at a zxid is the same at all servers: if a reconfiguration of the history has written the same
// there, or a later one, it stays; and if the txn of this one is not applied yet, that will write it. With ahead it is
// written before that if the state has no configuration at all, as ZooKeeper does: clients of a read-only server look
// for the other servers in it.
func setConfig(e *env.Env, q *config.Quorum, ahead bool) {
	e.Store.Mu.Lock()
	defer e.Store.Mu.Unlock()
	state, text := e.Store.State, ConfigText(q)
	if q.ReconfigEnabled {
		version := proto.Zxid(q.ConfigVersion)
		has := newestConfiguration(state)
		if version.Counter() != 0 && version > state.LastZxid() && (has != nil || !ahead) {
			return
		}
		if has != nil && (has.Version > version ||
			has.Version == version && bytes.Equal(state.Data(state.Lookup(configPath)), text)) {
			return
		}
	}
	state.SetConfig(text, proto.Zxid(q.ConfigVersion), e.Clock.WallMs())
}

// configPath is the znode that holds the configuration.
var configPath = []byte(datatree.ConfigPath)
