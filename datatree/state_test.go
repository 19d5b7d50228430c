package datatree

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// The values are those of a fresh ZooKeeper: storage 7.1 and 8.1, client-protocol 7.1.
func TestNewState(t *testing.T) {
	s := NewState(Config{})
	require.Equal(t, int64(1371985504), s.Digest())
	require.Equal(t, 4, s.NumNodes())
	require.Equal(t, int64(44), s.DataSize())
	require.Equal(t, proto.Zxid(0), s.LastZxid())
	require.Equal(t, 1, s.ACLs().Len())

	for _, c := range []struct {
		path string
		stat proto.Stat
		acl  int32
	}{
		{"/", proto.Stat{Cversion: -1, NumChildren: 1}, proto.PermAll},
		{"/zookeeper", proto.Stat{Cversion: -2, NumChildren: 2}, proto.PermAll},
		{"/zookeeper/quota", proto.Stat{}, proto.PermAll},
		{"/zookeeper/config", proto.Stat{Aversion: -1}, proto.PermRead},
	} {
		id := s.Lookup([]byte(c.path))
		require.NotZero(t, id, c.path)
		require.Equal(t, c.stat, s.Stat(id), c.path)
		require.Equal(t, c.acl, s.ACLs().Anyone(s.Node(id).ACL), c.path)
		require.NotNil(t, s.Data(id), c.path)
		require.Empty(t, s.Data(id), c.path)
		require.Equal(t, c.path, string(s.AppendPath(nil, id)))
	}
	memory := int64(s.records.bytes(recordSize)) + int64(s.kins.bytes(kinSize)) + s.blocks.bytes() + s.table.bytes()
	require.Less(t, memory, int64(512<<10), "an empty tree is small")
	require.Equal(t, uintptr(recordSize), unsafe.Sizeof(record{}))
	require.Equal(t, uintptr(kinSize), unsafe.Sizeof(kin{}))
	require.Equal(t, Root, s.Lookup(nil))
	for _, path := range []string{
		"zookeeper", "//", "/zookeeper/", "//zookeeper", "/zookeeper//quota", "/none", "/zookeeper/quota/x",
	} {
		require.Zero(t, s.Lookup([]byte(path)), path)
	}
}
