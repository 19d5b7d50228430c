package prepare

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// setData prepares setData. Source for the order of checks here and below:
// client-protocol 11.2.
func (p *Preparer) setData(b []byte, r *proto.SetDataRequest) ([]byte, proto.ErrCode) {
	if err := p.checkSession(); err != proto.OK {
		return b, err
	}
	if !paths.Valid(r.Path) {
		return b, proto.ErrBadArguments
	}
	var node target
	if err := p.reach(&node, r.Path, proto.PermWrite); err != proto.OK {
		return b, err
	}
	if err := p.checkQuota(r.Path, 0, int64(len(r.Data))-int64(node.dataLen)); err != proto.OK {
		return b, err
	}
	if !versionMatches(node.Version, r.Version) {
		return b, proto.ErrBadVersion
	}
	return p.putData(b, &node, r.Path, r.Data, nextVersion(node.Version)), proto.OK
}

// putData makes data and version part of node and appends the body of the txn.
func (p *Preparer) putData(b []byte, node *target, path proto.Text, data []byte, version int32) []byte {
	node.Version = version
	node.Mzxid, node.Mtime = p.zxid, p.nowMs
	node.dataLen = int32(len(data))
	p.digestWithData(node, data)
	p.store(node)
	txn := proto.SetDataTxn{Path: path, Data: data, Version: version}
	return txn.AppendTo(b)
}

// setACL prepares setACL, which changes aversion and no other version.
func (p *Preparer) setACL(b []byte, r *proto.SetACLRequest) ([]byte, proto.ErrCode) {
	if err := p.checkSession(); err != proto.OK {
		return b, err
	}
	if !paths.Valid(r.Path) {
		return b, proto.ErrBadArguments
	}
	if err := p.fixup.run(r.Acl, p.req.Identities, p.cfg.Providers, p.room(b, len(r.Path))); err != proto.OK {
		return b, err
	}
	var node target
	if err := p.reach(&node, r.Path, proto.PermAdmin); err != proto.OK {
		return b, err
	}
	if !versionMatches(node.Aversion, r.Version) {
		return b, proto.ErrBadVersion
	}
	old := node.Node
	node.Aversion = nextVersion(old.Aversion)
	p.takeACL(&node)
	p.digestWithStat(&node, &old)
	p.store(&node)
	b = proto.AppendBuffer(b, r.Path)
	b = append(b, p.fixup.encoded...)
	return proto.AppendInt32(b, node.Aversion), proto.OK
}

// check prepares check, which exists inside a multi only. Its txn carries the checked version plus one.
func (p *Preparer) check(b []byte, r *proto.CheckVersionRequest) ([]byte, proto.ErrCode) {
	if err := p.checkSession(); err != proto.OK {
		return b, err
	}
	if !paths.Valid(r.Path) {
		return b, proto.ErrBadArguments
	}
	var node target
	if err := p.reach(&node, r.Path, proto.PermRead); err != proto.OK {
		return b, err
	}
	if !versionMatches(node.Version, r.Version) {
		return b, proto.ErrBadVersion
	}
	txn := proto.CheckVersionTxn{Path: r.Path, Version: nextVersion(node.Version)}
	return txn.AppendTo(b), proto.OK
}

// reconfig prepares a change of the ensemble's members: a setData of its znode with version -1.
// Source: server-semantics 3.9.
func (p *Preparer) reconfig(b []byte, r *proto.ReconfigRequest) ([]byte, proto.ErrCode) {
	if !p.cfg.ReconfigEnabled {
		return b, proto.ErrReconfigDisabled
	}
	if err := p.checkSession(); err != proto.OK {
		return b, err
	}
	if p.cfg.Reconfigure == nil {
		return b, proto.ErrUnimplemented
	}
	config, err := p.cfg.Reconfigure(r, p.zxid)
	if err != proto.OK {
		return b, err
	}
	path := proto.Text(datatree.ConfigPath)
	var node target
	if err := p.reach(&node, path, proto.PermWrite); err != proto.OK {
		return b, err
	}
	return p.putData(b, &node, path, config, -1), proto.OK
}

// room returns how long the ACL of an operation may be that has own bytes besides, so that the txn is not too long.
func (p *Preparer) room(b []byte, own int) int {
	return p.cfg.MaxTxnBytes - (len(b) - p.start) - own - fixedMost - p.behind
}

// fixedMost is the most that the fields of fixed size, a sequence number and the digest add to the txn of one
// operation.
const fixedMost = 64
