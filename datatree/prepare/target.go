package prepare

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// target is a znode as one operation sees it: its path, where it was found, and its future, which
// the operation changes and stores. The path "" is the root.
type target struct {
	future
	path   []byte
	acl    []byte // the encoded list if future.ACL is pendingACL
	hash   uint64
	slot   int32
	before uint32 // digest when it was loaded
}

// load finds the future of the znode at path. A znode that will not exist has exists false and
// everything else zero.
func (p *Preparer) load(t *target, path []byte) {
	if t.path = paths.WithoutRoot(path); !p.loadSlot(t) {
		p.loadTree(t, p.finder.Lookup(p.state, t.path))
	}
}

// loadChild is load for the child called name of a parent that was just loaded and exists. In the applied tree
// that is one step from the parent, but only if path is the parent's path, a slash and a name: the parent of
// "//a" is the root, but "//a" is not "/a".
func (p *Preparer) loadChild(t, parent *target, path, name []byte) {
	if parent.id == 0 || len(name) == 0 || len(path) != len(parent.path)+1+len(name) {
		p.load(t, path)
		return
	}
	if t.path = path; !p.loadSlot(t) {
		p.loadTree(t, p.state.Child(parent.id, name))
	}
}

// reach loads the znode at path for an operation that takes one of the wanted permissions on it.
func (p *Preparer) reach(t *target, path []byte, wanted int32) proto.ErrCode {
	if p.load(t, path); !t.exists {
		return proto.ErrNoNode
	}
	if !p.allows(t, wanted) {
		return proto.ErrNoAuth
	}
	return proto.OK
}

// loadSlot loads the znode at t.path from the overlay. It reports false if no outstanding txn changes it.
func (p *Preparer) loadSlot(t *target) bool {
	t.hash = p.overlay.hash(t.path)
	if t.slot = p.overlay.find(t.path, t.hash); t.slot == none {
		return false
	}
	s := &p.overlay.slots[t.slot]
	t.future, t.acl, t.before = s.node, s.acl, s.node.Digest
	return true
}

// loadTree loads a znode of the applied tree, 0 if there is none.
func (p *Preparer) loadTree(t *target, id datatree.NodeID) {
	t.acl = nil
	if id != 0 {
		if n := p.state.Node(id); !p.opened.ends(&n) {
			t.future = future{Node: n, exists: true, dataLen: int32(len(p.state.Data(id))), id: id}
			t.before = n.Digest
			return
		}
	}
	t.future, t.before = future{}, 0
}

// store makes the target's future part of the overlay and of the predicted digest.
func (p *Preparer) store(t *target) {
	p.digest += int64(t.Digest) - int64(t.before)
	t.slot = p.overlay.store(t.path, t.hash, t.slot, p.zxid, &t.future, t.acl)
}

// remove makes the target a znode that will not exist.
func (p *Preparer) remove(t *target) {
	t.future = future{}
	p.store(t)
}

// allows reports whether the connection has any of the wanted permissions on the target.
func (p *Preparer) allows(t *target, wanted int32) bool {
	table := p.state.ACLs()
	if t.ACL == pendingACL {
		return table.AllowsEncoded(t.acl, wanted, p.req.Identities)
	}
	return table.Allows(t.ACL, wanted, p.req.Identities)
}

// takeACL makes the list of the last fixup the target's.
func (p *Preparer) takeACL(t *target) {
	t.ACL, t.acl = pendingACL, p.fixup.encoded
	if p.fixup.open {
		t.ACL, t.acl = datatree.OpenACL, nil
	}
}

// digestWithData computes the digest of a target whose data is new.
func (p *Preparer) digestWithData(t *target, data []byte) {
	if !paths.Hidden(t.path) {
		t.Digest = datatree.DigestOf(&p.digestIn, t.path, data, &t.Node)
	}
}

// digestWithStat computes the digest of a target whose Stat was old. Its path and data have not changed and are
// not needed.
func (p *Preparer) digestWithStat(t *target, old *datatree.Node) {
	if !paths.Hidden(t.path) {
		t.Digest ^= datatree.DigestDifference(&p.digestIn, old, &t.Node)
	}
}
