package model

import (
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// znode is one znode. stat is as stored: Cversion counts the children ever created.
type znode struct {
	data []byte // nil is null
	acl  []proto.ACL
	stat proto.StatPersisted
}

// tree is every znode by its path. The root is "/".
type tree map[string]*znode

func (t tree) clone() tree {
	c := tree{}
	for path, n := range t {
		copied := *n
		c[path] = &copied // data and acl are replaced, never changed
	}
	return c
}

// find returns a znode, nil if there is none. The empty path is the root.
func (t tree) find(path string) *znode {
	if path == "" {
		path = "/"
	}
	return t[path]
}

// parentOf returns the path of the parent of a path that has a slash: what is before the last one.
func parentOf(path string) string {
	path = path[:strings.LastIndex(path, "/")]
	if path == "" {
		return "/"
	}
	return path
}

// below reports whether path is a descendant of top.
func below(path, top string) bool {
	if top == "/" {
		return path != "/"
	}
	return strings.HasPrefix(path, top+"/")
}

// children returns the names of the children of a znode in order.
func (t tree) children(path string) []string {
	if path == "" {
		path = "/"
	}
	prefix := strings.TrimSuffix(path, "/") + "/"
	names := []string{}
	for p := range t {
		if name, ok := strings.CutPrefix(p, prefix); ok && name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stat returns what clients see of a znode. Source: server-semantics 5.1.
func (t tree) stat(path string) proto.Stat {
	n := t.find(path)
	children := int32(len(t.children(path)))
	owner := n.stat.EphemeralOwner
	if !proto.IsSessionOwner(owner) {
		owner = 0
	}
	return proto.Stat{
		Czxid: n.stat.Czxid, Mzxid: n.stat.Mzxid, Ctime: n.stat.Ctime, Mtime: n.stat.Mtime,
		Version: n.stat.Version, Cversion: 2*n.stat.Cversion - children, Aversion: n.stat.Aversion,
		EphemeralOwner: owner, DataLength: int32(len(n.data)), NumChildren: children, Pzxid: n.stat.Pzxid,
	}
}

// ephemerals returns the paths that belong to a session, in order.
func (t tree) ephemerals(session proto.SessionID) []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(t)) {
		if owner := t[path].stat.EphemeralOwner; proto.IsSessionOwner(owner) && owner == session {
			paths = append(paths, path)
		}
	}
	return paths
}

// digest returns the digest of the tree. Source: storage 7.1.
func (t tree) digest() int64 {
	var sum uint64
	for path, n := range t {
		if strings.HasPrefix(path, "/zookeeper/") {
			continue
		}
		name := path
		if name == "/" {
			name = ""
		}
		b := append([]byte(name), n.data...)
		b = proto.AppendInt64(b, int64(n.stat.Czxid))
		b = proto.AppendInt64(b, int64(n.stat.Mzxid))
		b = proto.AppendInt64(b, int64(n.stat.Pzxid))
		b = proto.AppendInt64(b, n.stat.Ctime)
		b = proto.AppendInt64(b, n.stat.Mtime)
		b = proto.AppendInt32(b, n.stat.Version)
		b = proto.AppendInt32(b, n.stat.Cversion)
		b = proto.AppendInt32(b, n.stat.Aversion)
		b = proto.AppendInt64(b, int64(n.stat.EphemeralOwner))
		sum += uint64(crc32.ChecksumIEEE(b))
	}
	return int64(sum)
}

// Digest returns the digest of the tree, computed from nothing.
func (m *Model) Digest() int64 { return m.tree.digest() }

// Paths returns the path of every znode in order.
func (m *Model) Paths() []string { return slices.Sorted(maps.Keys(m.tree)) }

// Znode returns a znode's data, ACL and Stat as stored, and whether there is one.
func (m *Model) Znode(path string) (data []byte, acl []proto.ACL, stat proto.StatPersisted, ok bool) {
	n := m.tree.find(path)
	if n == nil {
		return nil, nil, proto.StatPersisted{}, false
	}
	return n.data, n.acl, n.stat, true
}

// Children returns the names of a znode's children in order.
func (m *Model) Children(path string) []string { return m.tree.children(path) }

// Ephemerals returns the paths that belong to a session, in order.
func (m *Model) Ephemerals(session proto.SessionID) []string { return m.tree.ephemerals(session) }
