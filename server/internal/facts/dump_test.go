package facts

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/test/must"
)

// A dump of many ephemerals must not keep the txns of clients from being applied.
func TestDumpLetsTxnsBeApplied(t *testing.T) {
	const sessions = 20_000
	f := &Facts{Env: &env.Env{Store: env.NewStore(datatree.NewState(datatree.Config{}))}}
	zxid := proto.Zxid(0)
	apply := func(op proto.OpCode, session proto.SessionID, body interface{ AppendTo([]byte) []byte }) {
		zxid++
		h := proto.TxnHeader{ClientID: session, Zxid: zxid, Type: op}
		must.Do2(f.Store.State.Apply(body.AppendTo(h.AppendTo(nil)), nil, nil, false))(t)
	}
	for id := proto.SessionID(1); id <= sessions; id++ {
		apply(proto.OpCreateSession, id, &proto.CreateSessionTxn{TimeOut: 1000})
		apply(proto.OpCreate, id, &proto.CreateTxn{Path: proto.Text("/" + id.String()), Ephemeral: true})
	}
	var applied, ended atomic.Int64
	written := make(chan struct{})
	go func() {
		defer close(written)
		for ended.Load() == 0 {
			f.Store.Mu.Lock()
			applied.Add(1)
			f.Store.Mu.Unlock()
		}
	}()
	for applied.Load() == 0 {
	}
	var owners []Owner
	began := time.Now()
	for within := int64(0); within <= 100; { // on a busy machine the other goroutine may not run during one dump
		require.Less(t, time.Since(began), time.Minute)
		before := applied.Load()
		owners = f.Ephemerals()
		within = applied.Load() - before
	}
	ended.Store(1)
	<-written
	require.Len(t, owners, sessions)
	require.Equal(t, Owner{1, []string{"/0x1"}}, owners[0])
}
