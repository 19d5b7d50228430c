package datatree

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Loader builds a State from the records of a snapshot: sessions and ACLs first, then znodes,
// parents before their children. It keeps nothing of what it is given. After an error it is of no
// use any more. One goroutine uses it. Source: storage sections 5 and 6.5.
type Loader struct {
	state   *State
	acls    map[int64]ACLID // each entry is one user
	missing int

	// The last znode and its ancestors, as far as known: znodes come in the order of a walk, so the
	// parent of the next one is among them.
	last  []byte
	chain []loadedNode
}

// loadedNode is a prefix of Loader.last and the znode of that path.
type loadedNode struct {
	pathLen int
	id      NodeID
}

// ErrSnapshot marks a snapshot whose records cannot make a tree.
var ErrSnapshot = errors.New("datatree: snapshot")

// NewLoader returns a Loader of an empty State.
func NewLoader(cfg Config) *Loader {
	return &Loader{state: newBareState(cfg), acls: map[int64]ACLID{}}
}

// Session adds a session to the session table.
func (l *Loader) Session(id proto.SessionID, timeoutMs int32) error {
	l.state.putSession(id, timeoutMs)
	return nil
}

// ACL defines the key by which the znodes that follow name an ACL list.
func (l *Loader) ACL(key int64, acl []proto.ACL) error {
	if acl == nil {
		return fmt.Errorf("%w: ACL %d is null", ErrSnapshot, key)
	}
	if key == int64(OpenACL) {
		return nil // stands for itself, and is in no table
	}
	if old, ok := l.acls[key]; ok {
		l.state.acls.release(old)
	}
	l.acls[key] = l.state.acls.acquire(acl)
	return nil
}

// Node adds a znode. The path of the root is empty. A key that names no ACL gives the znode an ACL
// that allows nothing, until a setACL or a replayed create repairs it; see MissingACLs.
func (l *Loader) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	stat := Node{
		Czxid: st.Czxid, Mzxid: st.Mzxid, Pzxid: st.Pzxid, Ctime: st.Ctime, Mtime: st.Mtime,
		Owner: st.EphemeralOwner, Version: st.Version, Cversion: st.Cversion, Aversion: st.Aversion,
	}
	if len(path) <= 1 && (len(path) == 0 || path[0] == '/') {
		return l.root(data, aclKey, &stat)
	}
	parentPath, name := splitPath(path)
	if len(name) == 0 {
		return fmt.Errorf("%w: malformed path %q", ErrSnapshot, path)
	}
	s := l.state
	parent := l.parent(parentPath)
	if parent == 0 {
		return fmt.Errorf("%w: znode %q comes without its parent", ErrSnapshot, path)
	}
	hash := s.hashName(parent, name)
	if s.find(parent, hash, name) != 0 {
		return fmt.Errorf("%w: znode %q comes twice", ErrSnapshot, path)
	}
	id := s.add(parent, hash, path, name, data, l.acl(aclKey), &stat)
	l.last = append(l.last[:0], path...)
	l.chain = append(l.chain, loadedNode{len(path), id})
	return nil
}

// parent returns the znode of parentPath and leaves it as the last of the chain.
func (l *Loader) parent(parentPath []byte) NodeID {
	if len(parentPath) == 1 {
		l.chain = l.chain[:0]
		return Root
	}
	n := len(l.chain)
	for n > 0 && l.chain[n-1].pathLen > len(parentPath) {
		n--
	}
	if n > 0 && l.chain[n-1].pathLen == len(parentPath) && bytes.Equal(l.last[:len(parentPath)], parentPath) {
		l.chain = l.chain[:n]
		return l.chain[n-1].id
	}
	id := l.state.Lookup(parentPath)
	l.chain = append(l.chain[:0], loadedNode{len(parentPath), id})
	return id
}

// root sets what the root has.
func (l *Loader) root(data []byte, aclKey int64, stat *Node) error {
	s := l.state
	if s.NumNodes() != 1 {
		return fmt.Errorf("%w: the root comes after other znodes", ErrSnapshot)
	}
	s.acls.release(s.setACL(Root, l.acl(aclKey)))
	s.disown(Root)
	s.setData(Root, data)
	if k := s.kinOf(s.rec(Root)); k != nil {
		k.pzxid, k.cversion = stat.Czxid, 0 // of a root that comes twice; setStat sets what differs
	}
	s.setStat(Root, stat)
	s.redigest(Root, nil)
	return nil
}

// acl returns the ACL of a key and counts one more user.
func (l *Loader) acl(key int64) ACLID {
	if key == int64(OpenACL) {
		return OpenACL
	}
	if id, ok := l.acls[key]; ok {
		l.state.acls.use(id)
		return id
	}
	l.missing++
	return l.state.acls.acquire(denyList)
}

// MissingACLs returns how many znodes named an ACL that the snapshot does not define. Nobody but
// super may use them.
func (l *Loader) MissingACLs() int { return l.missing }

// Done returns the State, which has applied every txn up to zxid as far as a fuzzy snapshot can
// say. What is stored nowhere has been rebuilt: the stats of quotas, ACL counts, the digest.
func (l *Loader) Done(zxid proto.Zxid) (*State, error) {
	s := l.state
	if s == nil {
		return nil, fmt.Errorf("%w: loaded already", ErrSnapshot)
	}
	l.state = nil
	for _, id := range l.acls {
		s.acls.release(id)
	}
	s.lastZxid = zxid
	s.recountQuotas()
	return s, nil
}
