package zab

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// Ensemble is one configuration: the voters and the observers. It does not change after it was made, so it may be
// shared. Source: quorum-protocol 11.
type Ensemble struct {
	// Version is the zxid of the reconfiguration that made it, (epoch, 0) for the first configuration of an
	// ensemble that can be reconfigured, and 0 for a configuration that is only in the files of its servers.
	Version   proto.Zxid
	Quorum    *quorum.System
	Observers []proto.ServerID
	// Text is what the host knows of the configuration (addresses among others), without the version. The core
	// passes it on.
	Text []byte
}

// Wire returns the text in the form that notifications, NEWLEADER and the znode carry. Source: quorum-protocol
// 11.1.
func (e *Ensemble) Wire() []byte {
	b := append(make([]byte, 0, len(e.Text)+32), e.Text...)
	return strconv.AppendUint(append(b, "\nversion="...), uint64(e.Version), 16)
}

// Observes reports whether a server is an observer. A server that is in no configuration follows, but has no
// vote.
func (e *Ensemble) Observes(id proto.ServerID) bool { return slices.Contains(e.Observers, id) }

// Votes reports whether a server is a voter.
func (e *Ensemble) Votes(id proto.ServerID) bool { return e.Quorum.Index(id) >= 0 }

// at returns the same configuration with another version.
func (e *Ensemble) at(version proto.Zxid) *Ensemble {
	same := *e
	same.Version = version
	return &same
}

// Roster reads configurations for the core, which knows neither their text nor the contents of txns. Both methods
// depend on their argument only; the core calls them from its own goroutine.
type Roster interface {
	// Parse reads what Ensemble.Wire has written.
	Parse(text []byte) (*Ensemble, error)
	// Proposed returns the configuration that a txn makes when it is committed, and nil for a txn that makes none.
	Proposed(t Txn) (*Ensemble, error)
}

// electorate is the set of voters now: the voters of the committed configuration and, while a reconfiguration is
// pending, those of the next one. A decision needs a quorum of each. The bits of a quorum.Set are places in ids.
type electorate struct {
	ids    []proto.ServerID // voters of either, ascending
	active *quorum.System
	next   *quorum.System // nil if no reconfiguration is pending
	place  [2][]int8
}

// newElectorate returns the electorate, or an error if it has too many voters.
func newElectorate(active, next *Ensemble) (*electorate, error) {
	e := &electorate{ids: active.Quorum.Voters(), active: active.Quorum}
	if next == nil {
		return e, nil
	}
	e.next = next.Quorum
	e.ids = slices.Clone(active.Quorum.Voters())
	for _, id := range next.Quorum.Voters() {
		if active.Quorum.Index(id) < 0 {
			e.ids = append(e.ids, id)
		}
	}
	slices.Sort(e.ids)
	if len(e.ids) > quorum.VotersMax {
		return nil, fmt.Errorf("zab: %d voters in two configurations, at most %d are supported", len(e.ids),
			quorum.VotersMax)
	}
	for _, id := range e.ids {
		e.place[0] = append(e.place[0], int8(e.active.Index(id)))
		e.place[1] = append(e.place[1], int8(e.next.Index(id)))
	}
	return e, nil
}

// index returns the place of id, or -1.
func (e *electorate) index(id proto.ServerID) int {
	i, ok := slices.BinarySearch(e.ids, id)
	if !ok {
		return -1
	}
	return i
}

func (e *electorate) all() quorum.Set { return quorum.Set(1)<<(len(e.ids)-1)<<1 - 1 }

// decides reports whether s holds a quorum of every configuration.
func (e *electorate) decides(s quorum.Set) bool {
	return e.established(s) && (e.next == nil || e.next.DecidesSet(e.project(1, s)))
}

// established reports whether s holds a quorum of the committed configuration.
func (e *electorate) established(s quorum.Set) bool {
	if e.next == nil {
		return e.active.DecidesSet(s)
	}
	return e.active.DecidesSet(e.project(0, s))
}

// project returns s in the places of one of the two configurations.
func (e *electorate) project(which int, s quorum.Set) (p quorum.Set) {
	for in := uint64(s); in != 0; in &= in - 1 {
		if i := e.place[which][bits.TrailingZeros64(in)]; i >= 0 {
			p = p.With(int(i))
		}
	}
	return p
}

// moved returns a set of voters of another electorate in the places of this one.
func (e *electorate) moved(s quorum.Set, from *electorate) (to quorum.Set) {
	for i, id := range from.ids {
		if j := e.index(id); s.Has(i) && j >= 0 {
			to = to.With(j)
		}
	}
	return to
}

// votes reports whether a server has a vote by either configuration.
func (e *electorate) votes(id proto.ServerID) bool { return e.index(id) >= 0 }

// members are the configurations that this server knows, and its place among the voters.
type members struct {
	roster Roster
	active *Ensemble        // the committed configuration
	next   *Ensemble        // the configuration at the end of the history if it is newer than active, else nil
	text   []byte           // Text of active
	voters *electorate      // of active and next
	self   int              // place among the voters, -1 if this server has no vote
	peers  []proto.ServerID // voters except this server, ascending
}

// weighs reports whether a server may lead by the committed configuration: those of weight 0 may not.
func (m *members) weighs(id proto.ServerID) bool {
	i := m.active.Quorum.Index(id)
	return i >= 0 && m.active.Quorum.Weighs(i)
}

// newest returns the last configuration of the history.
func (m *members) newest() *Ensemble {
	if m.next != nil {
		return m.next
	}
	return m.active
}

// parse reads a configuration that another server has sent. It returns nil for a text that is no configuration,
// or one that is not newer than the known one.
func (m *members) parse(text []byte, than *Ensemble) *Ensemble {
	if m.roster == nil || len(text) == 0 || string(text) == string(m.text) {
		return nil
	}
	e, err := m.roster.Parse(text)
	if err != nil || e.Version <= than.Version {
		return nil
	}
	if _, err = newElectorate(m.newest(), e); err != nil {
		return nil
	}
	return e
}

// reconfigures returns the configuration that a txn makes, or nil. It is an error if that cannot be read, or has
// too many voters.
func (m *members) reconfigures(t Txn) (*Ensemble, error) {
	if m.roster == nil {
		return nil, nil
	}
	e, err := m.roster.Proposed(t)
	if e != nil && err == nil {
		_, err = newElectorate(m.newest(), e)
	}
	return e, err
}

// pendingTxn reports whether a reconfiguration waits for its quorums: one of this epoch, or one that is adopted
// with the history.
func (m *members) pendingTxn() bool { return m.next != nil && m.next.Version.Counter() != 0 }
