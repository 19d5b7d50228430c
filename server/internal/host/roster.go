package host

import (
	"fmt"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/zab"
)

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
