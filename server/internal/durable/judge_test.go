package durable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// A server whose lineage does not tell how the epochs of its log follow each other takes a snapshot before the lineage
// of its leader could stop its next start.
func TestLineageProvesTheEndsOfEpochs(t *testing.T) {
	earlier := &zab.Lineage{Ensemble: 1, Reigns: []zab.Reign{{Epoch: 7}}, Settled: proto.MakeZxid(7, 0x24)}
	for name, c := range map[string]struct {
		lineage    *zab.Lineage
		base, last proto.Zxid
		proven     bool
	}{
		"nothing was written":         {&zab.Lineage{}, 0, 0, true},
		"none":                        {&zab.Lineage{}, proto.MakeZxid(7, 0x20), proto.MakeZxid(7, 0x24), false},
		"no epoch ends":               {earlier, proto.MakeZxid(8, 1), proto.MakeZxid(8, 5), true},
		"up to the last epoch":        {earlier, proto.MakeZxid(5, 3), proto.MakeZxid(7, 0x25), true},
		"an earlier one, a later log": {earlier, proto.MakeZxid(7, 0x20), proto.MakeZxid(8, 1), false},
	} {
		require.Equal(t, c.proven, proves(c.lineage, c.base, c.last), name)
	}
}
