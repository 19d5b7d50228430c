package facts

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/test/must"
)

// The lock of the tree is not held for each of very many znodes of the quota tree, also if these have no quota.
func TestQuotasReadAreBounded(t *testing.T) {
	state := datatree.NewState(datatree.Config{SkipACL: true})
	f := &Facts{Env: &env.Env{Store: env.NewStore(state)}}
	zxid := proto.Zxid(0)
	create := func(path string) {
		zxid++
		h := proto.TxnHeader{Zxid: zxid, Type: proto.OpCreate}
		txn := proto.CreateTxn{Path: proto.Text(path), Data: []byte("count=1,bytes=1")}
		must.Do2(state.Apply(txn.AppendTo(h.AppendTo(nil)), nil, nil, false))(t)
	}
	for _, end := range []string{"first", "last"} {
		create(quota.Root + "/" + end)
		create(quota.Root + "/" + end + "/" + quota.StatsName)
	}
	require.Len(t, f.quotas(), 4, "two gauges each")
	for i := range quotasMax {
		create(fmt.Sprintf("%s/%d", quota.Root, i))
	}
	create(quota.Root + "/end")
	create(quota.Root + "/end/" + quota.StatsName)
	require.LessOrEqual(t, len(f.quotas()), 4, "the first ones or the last one")
}
