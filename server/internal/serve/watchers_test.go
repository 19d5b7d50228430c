package serve

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// A list of many watches must not keep the txns of clients from being applied.
func TestListOfWatchesLetsTxnsBeApplied(t *testing.T) {
	const all = 200_000
	e := &env.Env{Config: config.Default(), Store: env.NewStore(datatree.NewState(datatree.Config{}))}
	ws, c := newWatchers(e), &Conn{}
	c.Session.Store(&sessions.Session{ID: 7})
	for i := range all {
		require.True(t, ws.watch(c, watch.Data, []byte("/"+strconv.Itoa(i))))
	}
	var applied, ended atomic.Int64
	written := make(chan struct{})
	go func() {
		defer close(written)
		for ended.Load() == 0 {
			e.Store.Mu.Lock()
			applied.Add(1)
			e.Store.Mu.Unlock()
		}
	}()
	for applied.Load() == 0 {
	}
	listed, began := 0, time.Now()
	for within := int64(0); within <= 100; { // on a busy machine the other goroutine may not run during one list
		require.Less(t, time.Since(began), time.Minute)
		before := applied.Load()
		listed = 0
		ws.EachDataWatch(func(id proto.SessionID, _ []byte) {
			require.Equal(t, proto.SessionID(7), id)
			listed++
		})
		within = applied.Load() - before
	}
	ended.Store(1)
	<-written
	require.Equal(t, all, listed)
}
