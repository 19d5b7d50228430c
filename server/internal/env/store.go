package env

import (
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// Store is the replicated state, and the locks that guard it. See the package doc for which goroutine may take
// which lock.
type Store struct {
	Mu    sync.RWMutex
	State *datatree.State // guarded by Mu

	// Long is held by a goroutine that will hold Mu for reading for long, and by the applier before it asks for Mu.
	// So the applier waits for a long reader in Long and not in Mu, where short readers would have to wait behind
	// it.
	Long sync.Mutex

	// Listings is held by a goroutine that reads very many children; see listing.go of package serve.
	Listings sync.Mutex

	// applied and Wide are copies of State.LastZxid and State.Wide, to be read without a lock.
	applied atomic.Int64
	Wide    atomic.Int64

	// Logged is a zxid: the log has every txn that was applied after it, unless it was purged.
	Logged atomic.Int64
}

func NewStore(state *datatree.State) *Store {
	st := &Store{State: state}
	st.Publish()
	return st
}

// Publish updates the copies that are read without a lock. REQUIRES: Mu, or that no other goroutine has the store.
func (st *Store) Publish() {
	st.applied.Store(int64(st.State.LastZxid()))
	if wide := int64(st.State.Wide()); wide != st.Wide.Load() {
		st.Wide.Store(wide)
	}
}

// Rest lets the applier apply its txns in between, if it waits. REQUIRES: Mu for reading, and not Long.
func (st *Store) Rest() {
	st.Mu.RUnlock()
	st.Mu.RLock()
}

// LastZxid is the zxid of the newest txn that is applied.
func (st *Store) LastZxid() proto.Zxid { return proto.Zxid(st.applied.Load()) }

// LockedZxid is LastZxid, read as the applier would: when no goroutine holds the locks. REQUIRES: neither lock.
func (st *Store) LockedZxid() proto.Zxid {
	st.Long.Lock()
	defer st.Long.Unlock()
	st.Mu.Lock()
	defer st.Mu.Unlock()
	return st.State.LastZxid()
}
