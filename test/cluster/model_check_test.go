package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// TestModel pins what the crash test takes for granted.
func TestModel(t *testing.T) {
	m := &model{root: "/w", nodes: map[string]znode{}}
	create := func(name string, mode proto.CreateMode) step {
		return step{op: proto.OpCreate, name: name, data: "d", mode: mode, version: -1}
	}
	set := func(name string, version int32) step { return step{op: proto.OpSetData, name: name, version: version} }
	del := func(name string) step { return step{op: proto.OpDelete, name: name, version: -1} }
	for _, v := range []struct {
		step step
		want string
	}{
		{create("a", 0), "OK /w/a"},
		{create("a", 0), "NodeExists"},
		{create("n-", 2), "OK /w/n-0000000001"},
		{set("a", 0), "OK version 1"},
		{set("a", 0), "BadVersion"},
		{set("b", 0), "NoNode"},
		{step{op: proto.OpMulti, parts: []step{create("b", 0), set("b", 0), del("b")}}, "OK /w/b, OK version 1, OK"},
		{step{op: proto.OpMulti, parts: []step{create("b", 0), set("a", 7), del("a")}},
			"OK, BadVersion, RuntimeInconsistency"},
		{create("e", 1), "OK /w/e"},
		{step{op: proto.OpCloseSession}, "OK"},
	} {
		require.Equal(t, v.want, m.apply(v.step), "%+v", v.step)
	}
	require.True(t, m.closed)
	require.Equal(t, "/w cversion 6\na \"\" version 1 ephemeral false\nn-0000000001 \"d\" version 0 ephemeral false\n",
		m.String())
}
