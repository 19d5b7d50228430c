package datatree

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// Loader builds a State from the records of a snapshot: sessions and ACLs first, then znodes, parents before
// their children. It keeps no reference to its arguments. After an error it must not be used any more. One
// goroutine uses it. Source: storage 5 and 6.5.
type Loader struct {
	state   *State
	acls    map[int64]ACLID // each entry counts as one user
	hasRoot bool

	// The last znode and its ancestors, as far as known: znodes come in the order of a walk, so the
	// parent of the next one is among them.
	last  []byte
	chain []loadedNode

	// indexed is the first znode that is not in the table: the table is built at the end, or when
	// a parent must be looked up because the znodes come in another order.
	indexed NodeID
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
	return &Loader{state: newBareState(cfg), acls: map[int64]ACLID{}, indexed: Root + 1}
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
		return nil // the key itself is OpenACL, which is in no table
	}
	if old, ok := l.acls[key]; ok {
		l.state.acls.release(old)
	}
	l.acls[key] = l.state.acls.acquire(acl)
	return nil
}

// Node adds a znode. The path of the root is empty. A key that names no ACL gives the znode an ACL that grants no
// permission, until a setACL or a replayed create repairs it: only a super user may use the znode.
func (l *Loader) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	stat := Node{
		Czxid: st.Czxid, Mzxid: st.Mzxid, Pzxid: st.Pzxid, Ctime: st.Ctime, Mtime: st.Mtime,
		Owner: st.EphemeralOwner, Version: st.Version, Cversion: st.Cversion, Aversion: st.Aversion,
	}
	if len(path) <= 1 && (len(path) == 0 || path[0] == '/') {
		return l.root(data, aclKey, &stat)
	}
	parentPath, name := paths.Split(path)
	if len(name) == 0 {
		return fmt.Errorf("%w: malformed path %q", ErrSnapshot, path)
	}
	if !l.hasRoot {
		return fmt.Errorf("%w: znode %q comes before the root", ErrSnapshot, path)
	}
	s := l.state
	parent, err := l.parent(parentPath)
	if err != nil {
		return err
	}
	if parent == 0 {
		return fmt.Errorf("%w: znode %q comes without its parent", ErrSnapshot, path)
	}
	id := s.add(parent, s.hashName(parent, name), path, name, data, l.acl(aclKey), &stat)
	l.last = append(l.last[:0], path...)
	l.chain = append(l.chain, loadedNode{len(path), id})
	return nil
}

// parent returns the znode of parentPath, 0 if there is none, and leaves it as the last of the chain.
func (l *Loader) parent(parentPath []byte) (NodeID, error) {
	if len(parentPath) == 1 {
		l.chain = l.chain[:0]
		return Root, nil
	}
	n := len(l.chain)
	for n > 0 && l.chain[n-1].pathLen > len(parentPath) {
		n--
	}
	if n > 0 && l.chain[n-1].pathLen == len(parentPath) && bytes.Equal(l.last[:len(parentPath)], parentPath) {
		l.chain = l.chain[:n]
		return l.chain[n-1].id, nil
	}
	if err := l.index(); err != nil {
		return 0, err
	}
	id := l.state.Lookup(parentPath)
	l.chain = append(l.chain[:0], loadedNode{len(parentPath), id})
	return id, nil
}

// index adds all znodes to the table that are not in it yet.
func (l *Loader) index() error {
	s := l.state
	first := l.indexed
	l.indexed = NodeID(s.records.next)
	if s.table.count == 0 {
		return s.buildTable()
	}
	for id := first; uint32(id) < s.records.next; id++ {
		r := s.rec(id)
		name := s.blocks.name(r.block)
		if s.find(r.parent, r.hash, name) != 0 {
			return fmt.Errorf("%w: znode %q comes twice", ErrSnapshot, s.AppendPath(nil, id))
		}
		s.table.insert(r.hash, id, s.hashOfFn)
	}
	return nil
}

// root sets data, ACL and Stat of the root.
func (l *Loader) root(data []byte, aclKey int64, stat *Node) error {
	s := l.state
	if l.hasRoot {
		return fmt.Errorf("%w: the root comes twice", ErrSnapshot)
	}
	l.hasRoot = true
	s.acls.release(s.setACL(Root, l.acl(aclKey)))
	s.setData(Root, data)
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
	return l.state.acls.acquire(denyList)
}

// Done returns the State, or an error if a znode came twice or there was no root. The State has applied every txn
// up to zxid as far as a fuzzy snapshot can tell. The parts that no snapshot stores have been rebuilt: the stats
// of quotas, ACL counts, the digest.
func (l *Loader) Done(zxid proto.Zxid) (*State, error) {
	s := l.state
	if s == nil {
		return nil, fmt.Errorf("%w: loaded already", ErrSnapshot)
	}
	for _, id := range l.acls {
		s.acls.release(id)
	}
	if !l.hasRoot {
		return nil, fmt.Errorf("%w: no root", ErrSnapshot)
	}
	if err := l.index(); err != nil {
		return nil, err
	}
	l.state = nil
	s.lastZxid = zxid
	s.recountQuotas()
	return s, nil
}
