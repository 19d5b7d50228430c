package prepare

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// delete prepares delete. The order of the checks is the contract: the first that fails decides
// the error. Source: client-protocol 11.2.
func (p *Preparer) delete(b []byte, r *proto.DeleteRequest) ([]byte, proto.ErrCode) {
	if err := p.checkSession(); err != proto.OK {
		return b, err
	}
	parentPath, name, ok := paths.SplitParent(r.Path)
	if !ok || paths.IsSystem(r.Path) {
		return b, proto.ErrBadArguments
	}
	var parent, node target
	if err := p.reach(&parent, parentPath, proto.PermDelete); err != proto.OK {
		return b, err
	}
	if p.loadChild(&node, &parent, r.Path, name); !node.exists {
		return b, proto.ErrNoNode
	}
	if !versionMatches(node.Version, r.Version) {
		return b, proto.ErrBadVersion
	}
	if node.NumChildren > 0 {
		return b, proto.ErrNotEmpty
	}
	p.removeChild(&parent, &node)
	txn := proto.DeleteTxn{Path: r.Path}
	return txn.AppendTo(b), proto.OK
}

// deleteContainer prepares the deletion of a container or TTL znode that the server has found due. All conditions
// are checked again, the age too: a setData in between keeps the znode. Source: server-semantics 5.10.
func (p *Preparer) deleteContainer(b []byte, path proto.Text) ([]byte, proto.ErrCode) {
	parentPath, _, ok := paths.SplitParent(path)
	if !ok || paths.IsSystem(path) {
		return b, proto.ErrBadArguments
	}
	var parent, node target
	if p.load(&node, path); !node.exists {
		return b, proto.ErrNoNode
	}
	if node.NumChildren > 0 {
		return b, proto.ErrNotEmpty
	}
	if !p.isDue(&node) {
		return b, proto.ErrBadVersion
	}
	if p.load(&parent, parentPath); !parent.exists {
		return b, proto.ErrNoNode
	}
	p.removeChild(&parent, &node)
	txn := proto.DeleteTxn{Path: path}
	return txn.AppendTo(b), proto.OK
}

// isDue reports whether a znode without children is a container or TTL znode whose time is over.
func (p *Preparer) isDue(node *target) bool {
	owner, age := node.Owner, p.nowMs-node.Mtime
	if owner == proto.OwnerContainer {
		unused := p.cfg.MaxContainerNeverUsedMs
		return node.Cversion > 0 || unused != 0 && age > unused
	}
	ttl, ok := proto.TTLOf(owner)
	return ok && ttl != 0 && age > ttl
}

// removeChild makes node not exist and counts the deletion in its parent: pzxid moves, cversion
// does not.
func (p *Preparer) removeChild(parent, node *target) {
	p.loseChildren(parent, 1)
	p.remove(node)
}

// loseChildren counts n deletions in a parent.
func (p *Preparer) loseChildren(parent *target, n int32) {
	old := parent.Node
	parent.Pzxid = max(parent.Pzxid, p.zxid)
	parent.NumChildren -= n
	p.digestWithStat(parent, &old)
	p.store(parent)
}
