package facts

import (
	"time"

	"github.com/seed94657493/warren/proto"
)

// Tree is how large the tree is at a moment.
type Tree struct {
	At                                    time.Time
	Last                                  proto.Zxid
	Znodes, Ephemerals, Watches, Sessions int
	Bytes                                 int64
}

// Tree looks at the tree. REQUIRES: the server has recovered.
func (f *Facts) Tree() *Tree {
	t := &Tree{At: f.Runtime.Now(), Watches: f.front.CountWatches()}
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	state := f.Store.State
	t.Last, t.Znodes, t.Ephemerals, t.Bytes, t.Sessions = state.LastZxid(), state.NumNodes(), state.NumEphemerals(),
		state.DataSize(), state.NumSessions()
	return t
}
