package datatree

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

func TestChildrenOneByOne(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/p", nil)
	p := x.s.Lookup([]byte("/p"))
	require.Zero(t, x.s.FirstChild(p))
	for _, name := range []string{"b", "a", "c"} {
		x.create("/p/"+name, nil)
	}
	var names string
	for id := x.s.FirstChild(p); id != 0; id = x.s.NextSibling(id) {
		names += string(x.s.Name(id))
	}
	require.Equal(t, "bac", names)
	require.Zero(t, x.s.NextSibling(Root))
}

func TestMentionsFindsIdentitiesInEveryList(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	user := func(i int) auth.Identity { return auth.NewDigestIdentity(fmt.Sprint("user", i), "p") }
	const n = 25
	for i := range n {
		list := one(proto.PermRead, "digest", user(i).ID)
		require.Equal(t, proto.OK, x.apply(proto.OpCreate, x.createTxn(fmt.Sprint("/n", i), nil, list, false)))
	}
	find := func(id auth.Identity) (found bool) {
		for from := 0; ; {
			if found, from = x.s.ACLs().Mentions([]auth.Identity{id}, from, 4); found || from == 0 {
				return found
			}
		}
	}
	for i := range n {
		require.True(t, find(user(i)), i)
	}
	require.False(t, find(user(n)))
	require.False(t, find(auth.Identity{Scheme: "sasl", ID: user(1).ID}))
	require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/n3")}))
	require.False(t, find(user(3)), "a list that no znode has is forgotten")
	found, next := x.s.ACLs().Mentions([]auth.Identity{user(1)}, 1000, 4)
	require.False(t, found)
	require.Zero(t, next)
}

func TestFirstEphemerals(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	for i := range 5 {
		x.ephemeral(fmt.Sprint("/e", i))
	}
	var names string
	require.Equal(t, 5, x.s.FirstEphemerals(7, 3, func(id NodeID) { names += string(x.s.Name(id)) }))
	require.Equal(t, "e0e1e2", names)
	require.Zero(t, x.s.FirstEphemerals(8, 3, func(NodeID) { t.Fatal("another session") }))
}
