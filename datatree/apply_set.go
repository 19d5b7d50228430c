package datatree

import "github.com/seed94657493/warren/proto"

// applySetData applies setData and reconfig: both carry the version that the znode has afterwards.
// Source: server-semantics 5.2.
func (s *State) applySetData(h *proto.TxnHeader, b *txnBody, sink Sink) (NodeID, proto.ErrCode) {
	id := s.existing(b.path)
	if id == 0 {
		return 0, proto.ErrNoNode
	}
	grown := s.setData(id, b.data)
	r := s.rec(id)
	r.version, r.mzxid, r.mtime = b.version, h.Zxid, h.Time
	s.redigest(id, b.path)
	s.account(b.path, grown, 0)
	fire(sink, proto.EventNodeDataChanged, b.path, h.Zxid, 0, r.acl, 0)
	return id, proto.OK
}

// applySetACL applies setACL, which changes only the ACL and its version, and fires no watch.
func (s *State) applySetACL(b *txnBody) (NodeID, proto.ErrCode) {
	id := s.existing(b.path)
	if id == 0 {
		return 0, proto.ErrNoNode
	}
	s.adopt(id, b.acl)
	old := s.Node(id)
	s.rec(id).aversion = b.version
	s.digestStat(id, &old)
	return id, proto.OK
}

// existing returns the znode of a path in a txn; a null path names no znode.
func (s *State) existing(path proto.Text) NodeID {
	if path == nil {
		return 0
	}
	return s.txn.finder.Lookup(s, path)
}

// setData replaces a znode's data and returns by how much it grew. The digest is the caller's.
func (s *State) setData(id NodeID, data []byte) (grown int64) {
	r := s.rec(id)
	_, old := s.blocks.get(r.block)
	grown = int64(len(data)) - int64(len(old))
	s.dataSize += grown
	r.block = s.blocks.setData(r.block, data)
	return grown
}

// ConfigPath is the znode that holds the configuration of the ensemble.
const ConfigPath = "/zookeeper/config"

// SetConfig writes the text of the configuration of the ensemble into /zookeeper/config, and makes
// the znode if there is none. This is no txn: each member does it when it starts and when it has
// synchronized, with its own clock. Source: storage 8.1. It must run alone.
func (s *State) SetConfig(text []byte, version proto.Zxid, nowMs int64) {
	id := s.Lookup([]byte(ConfigPath))
	if id == 0 {
		if id = s.addSystem(ConfigPath, text, readList, -1); id == 0 {
			return
		}
	}
	s.setData(id, text)
	r := s.rec(id)
	r.version, r.mzxid, r.mtime = -1, version, nowMs
}
