package facts

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Dump is the answer of dump. Expiry is in ms since an arbitrary moment.
type Dump struct {
	Expiry     map[int64][]int64  `json:"expiry_time_to_session_ids"`
	Ephemerals map[int64][]string `json:"session_id_to_ephemeral_paths"`
}

// Dump returns the sessions that dump prints; its maps are not nil.
func (f *Facts) Dump() Dump {
	d := Dump{Expiry: map[int64][]int64{}, Ephemerals: map[int64][]string{}}
	for at, ids := range f.Tracker.Expiries(func(*sessions.Session) bool { return true }) {
		ms := figures.Ms(at)
		for _, id := range ids {
			d.Expiry[ms] = append(d.Expiry[ms], int64(id))
		}
	}
	for _, o := range f.Ephemerals() {
		d.Ephemerals[int64(o.Session)] = o.Paths
	}
	return d
}

// Owner is a session with its ephemeral znodes, of which there is one at least.
type Owner struct {
	Session proto.SessionID
	Paths   []string
}

// Ephemerals returns the sessions that own znodes, in the order of the state. The lock of the tree is held for one
// session at a time: all of them together may own very many.
func (f *Facts) Ephemerals() (all []Owner) {
	for _, one := range f.GlobalSessions() {
		if paths := f.ephemeralsOf(one.ID); paths != nil {
			all = append(all, Owner{one.ID, paths})
		}
	}
	return all
}

func (f *Facts) ephemeralsOf(id proto.SessionID) (paths []string) {
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	state := f.Store.State
	state.EachEphemeral(id, func(n datatree.NodeID) { paths = append(paths, string(state.AppendPath(nil, n))) })
	return paths
}

// GlobalSession is a session of the ensemble.
type GlobalSession struct {
	ID        proto.SessionID
	TimeoutMs int32
}

// GlobalSessions returns the sessions of the ensemble, in the order of the state.
func (f *Facts) GlobalSessions() (all []GlobalSession) {
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	f.Store.State.EachSession(func(id proto.SessionID, timeoutMs int32) {
		all = append(all, GlobalSession{id, timeoutMs})
	})
	return all
}
