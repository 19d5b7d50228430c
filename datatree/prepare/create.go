package prepare

import (
	"math"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// creation is a request of the create family.
type creation struct {
	op   proto.OpCode
	path proto.Text
	data []byte
	acl  []proto.ACL
	mode proto.CreateMode
	ttl  int64
}

// decodeCreate decodes a request of the create family into scratch that lasts until the next one.
func (p *Preparer) decodeCreate(r *proto.Reader, op proto.OpCode) creation {
	if op == proto.OpCreateTTL {
		q := &p.createTTLReq
		q.Decode(r)
		return creation{op, q.Path, q.Data, q.Acl, proto.CreateMode(q.Flags), q.Ttl}
	}
	q := &p.createReq
	q.Decode(r)
	return creation{op, q.Path, q.Data, q.Acl, proto.CreateMode(q.Flags), 0}
}

// kind is the kind of znode that a creation makes. It decides owner, txn and digest.
type kind struct {
	op         proto.OpCode // type of the txn
	owner      proto.SessionID
	ephemeral  bool
	sequential bool
}

// kindOf decides the kind of c, for a request outside a multi: the operation says whether it is a container or a
// TTL znode, the mode says the rest. Source: client-protocol 8.2.
func (p *Preparer) kindOf(c *creation) (kind, proto.ErrCode) {
	if !c.mode.Valid() {
		return kind{}, proto.ErrBadArguments
	}
	if c.mode.IsTTL() && !p.cfg.ExtendedTypes {
		return kind{}, proto.ErrUnimplemented
	}
	k := kind{op: c.op, sequential: c.mode.IsSequential()}
	switch {
	case c.mode.IsTTL() != (c.op == proto.OpCreateTTL):
		return kind{}, proto.ErrBadArguments
	case c.op == proto.OpCreateTTL:
		if c.ttl < 1 || c.ttl > proto.MaxTTL {
			return kind{}, proto.ErrBadArguments
		}
		k.owner = proto.TTLOwner(c.ttl)
	case c.op == proto.OpCreateContainer:
		k.owner = proto.OwnerContainer
	case c.mode.IsEphemeral():
		k.owner, k.ephemeral = p.req.Session, true
	}
	return k, proto.OK
}

// create prepares the create family. The order of the checks is the contract: the first that
// fails decides the error. Source: client-protocol 11.2.
func (p *Preparer) create(b []byte, c *creation) ([]byte, proto.ErrCode) {
	k, err := p.kindOf(c)
	if err != proto.OK {
		return b, err
	}
	if k.ephemeral && p.req.LocalSession { // it needs a session that every server knows
		return b, proto.ErrEphemeralOnLocalSession
	}
	if err := p.checkSession(); err != proto.OK {
		return b, err
	}
	parentPath, name, ok := paths.SplitParent(c.path)
	if !ok {
		return b, proto.ErrBadArguments
	}
	room := p.room(b, len(c.path)+len(c.data))
	if err := p.fixup.run(c.acl, p.req.Identities, p.cfg.Providers, room); err != proto.OK {
		return b, err
	}
	var parent, node target
	if err := p.reach(&parent, parentPath, proto.PermCreate); err != proto.OK {
		return b, err
	}
	path := c.path
	if k.sequential {
		p.path = appendSequence(append(p.path[:0], path...), parent.Cversion)
		path, name = p.path, p.path[len(path)-len(name):]
	}
	if !paths.Valid(path) {
		return b, proto.ErrBadArguments
	}
	if p.loadChild(&node, &parent, path, name); node.exists {
		return b, proto.ErrNodeExists
	}
	if proto.IsSessionOwner(parent.Owner) {
		return b, proto.ErrNoChildrenForEphemerals
	}
	if err := p.checkQuota(path, 1, int64(len(c.data))); err != proto.OK {
		return b, err
	}
	p.addChild(&parent)
	p.addNode(&node, &k, c.data)
	return p.appendCreateTxn(b, c, &k, path, parent.Cversion), proto.OK
}

// addChild counts a creation in its parent.
func (p *Preparer) addChild(parent *target) {
	old := parent.Node
	parent.NumChildren++
	if next, raised := nextSequence(old.Cversion); raised {
		parent.Cversion, parent.Pzxid = next, p.zxid
		p.digestWithStat(parent, &old)
		if next == math.MaxInt32 && p.cfg.Events != nil {
			p.cfg.Events.SequenceExhausted(parent.path)
		}
	}
	p.store(parent)
}

// addNode makes node a new znode with the ACL of the last fixup.
func (p *Preparer) addNode(node *target, k *kind, data []byte) {
	node.future = future{
		Node: datatree.Node{
			Czxid: p.zxid, Mzxid: p.zxid, Pzxid: p.zxid, Ctime: p.nowMs, Mtime: p.nowMs, Owner: k.owner,
		},
		exists:  true,
		dataLen: int32(len(data)),
	}
	p.takeACL(node)
	p.digestWithData(node, data)
	p.store(node)
	if k.ephemeral {
		p.overlay.births.push(birth{zxid: p.zxid, session: k.owner, slot: node.slot})
	}
}

// appendCreateTxn appends the body of a txn of the create family. Source: storage 3.2.
func (p *Preparer) appendCreateTxn(b []byte, c *creation, k *kind, path []byte, parentCversion int32) []byte {
	b = proto.AppendBuffer(b, path)
	b = proto.AppendBuffer(b, c.data)
	b = append(b, p.fixup.encoded...)
	switch k.op {
	case proto.OpCreate, proto.OpCreate2:
		b = proto.AppendBool(b, k.ephemeral)
		b = proto.AppendInt32(b, parentCversion)
	case proto.OpCreateContainer:
		b = proto.AppendInt32(b, parentCversion)
	case proto.OpCreateTTL:
		b = proto.AppendInt32(b, parentCversion)
		b = proto.AppendInt64(b, c.ttl)
	}
	return b
}
