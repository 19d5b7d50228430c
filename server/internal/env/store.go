package env

import (
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// Store is the replicated state with the watches on it, and the locks that guard them. See the
// package doc for who may take which.
type Store struct {
	Mu    sync.RWMutex
	State *datatree.State // guarded by mu

	// Long is held by whoever is going to hold mu for reading for long, and by the applier before it asks for mu: so it does not wait in
	// mu, where everybody who only wants to read for a moment would wait behind it.
	Long sync.Mutex

	// Listings is held by whoever reads very many children; see listing.go.
	Listings sync.Mutex

	applied atomic.Int64 // state.LastZxid, for those who need no lock
	Wide    atomic.Int64 // state.Wide, for those who need no lock
}

func NewStore(state *datatree.State) *Store {
	st := &Store{State: state}
	st.Publish()
	return st
}

// Publish tells those who need no lock what has changed. REQUIRES: mu, or that nobody else has the store.
func (st *Store) Publish() {
	st.applied.Store(int64(st.State.LastZxid()))
	if wide := int64(st.State.Wide()); wide != st.Wide.Load() {
		st.Wide.Store(wide)
	}
}

// Rest lets the applier and its txns in between, if they wait. REQUIRES: RLock, and not long.
func (st *Store) Rest() {
	st.Mu.RUnlock()
	st.Mu.RLock()
}

// LastZxid is the zxid of the newest txn that is applied.
func (st *Store) LastZxid() proto.Zxid { return proto.Zxid(st.applied.Load()) }

// EphemeralsOf returns the paths of a session's ephemeral znodes. REQUIRES: mu or RLock.
func (st *Store) EphemeralsOf(id proto.SessionID) (paths []string) {
	st.State.EachEphemeral(id, func(node datatree.NodeID) {
		paths = append(paths, string(st.State.AppendPath(nil, node)))
	})
	return paths
}
