package datatree

import (
	"bytes"

	"github.com/seed94657493/warren/datatree/quota"
)

// The accounting of quotas. A path has a quota while the znode zookeeper_limits is at the same place under
// /zookeeper/quota. The use is the text of zookeeper_stats beside it: a znode like any other, except that the
// accounting rewrites its data in place. There is no further structure: the quota that counts a change is found
// by walking both trees. Source: server-semantics 8.

var (
	limitsName = []byte(quota.LimitsName)
	statsName  = []byte(quota.StatsName)
)

// accountCreated accounts a new znode. If it is the stats node of a quota, its data becomes the real use,
// whatever the client has written. parentPath is the parent's.
func (s *State) accountCreated(id NodeID, parentPath, path []byte, size int) {
	if s.quota == 0 {
		return
	}
	if target, ok := quotaTarget(parentPath); ok && bytes.Equal(s.Name(id), statsName) {
		s.recount(id, target)
	}
	s.account(path, int64(size), 1)
}

// quotaTarget returns the path whose quota is below the znode of a path; "" is the root.
func quotaTarget(path []byte) (target []byte, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte(quota.Root))
	return rest, ok && (len(rest) == 0 || rest[0] == '/')
}

// account adds a change of a znode to the stats of the deepest quota that the znode is under. A
// quota without a stats node counts nothing, and neither does one on the root. A use may be negative: znodes that were
// made while the quota had no limits node are not counted, and may be deleted later. A use that is absent is -1. So
// the stats are the same at a ZooKeeper server. Source: server-semantics 8.3.
func (s *State) account(path []byte, size, count int64) {
	if s.quota == 0 || size == 0 && count == 0 || s.FirstChild(s.quota) == 0 {
		return
	}
	_, stats := s.deepestQuota(path)
	if stats == 0 {
		return
	}
	used := quota.Parse(s.Data(stats))
	used.Count += count
	used.Bytes += size
	s.setStats(stats, used)
}

// deepestQuota returns the limits node and the stats node of the deepest quota that path is in, 0 for a missing
// one. It walks down /zookeeper/quota beside path for as long as there are znodes. A quota of the root has no
// path and is not found.
func (s *State) deepestQuota(path []byte) (limits, stats NodeID) {
	deepest, place := NodeID(0), s.quota
	for rest := path; len(rest) > 1 && place != 0; {
		name := rest[1:]
		rest = nil
		if i := bytes.IndexByte(name, '/'); i >= 0 {
			name, rest = name[:i], name[i:]
		}
		if place = s.Child(place, name); place == 0 {
			break
		}
		if id := s.Child(place, limitsName); id != 0 {
			limits, deepest = id, place
		}
	}
	if deepest != 0 {
		stats = s.Child(deepest, statsName)
	}
	return limits, stats
}

// QuotaOf returns the limits and the use of the deepest quota that path is in. There is none without a
// stats node.
func (s *State) QuotaOf(path []byte) (limits, used quota.Limits, ok bool) {
	limitsNode, statsNode := s.deepestQuota(path)
	if limitsNode == 0 || statsNode == 0 {
		return quota.None(), quota.None(), false
	}
	return quota.Parse(s.Data(limitsNode)), quota.Parse(s.Data(statsNode)), true
}

// recount sets the stats of a quota to the use in the tree at and below target.
func (s *State) recount(stats NodeID, target []byte) {
	used := quota.None()
	used.Count, used.Bytes = 0, 0
	if top := s.Lookup(target); top != 0 {
		for id := top; id != 0; id = s.following(id, top) {
			used.Count++
			used.Bytes += int64(len(s.Data(id)))
		}
	}
	s.setStats(stats, used)
}

// setStats replaces the text of a stats node, which is below /zookeeper and has no digest; no other field of the
// znode changes.
func (s *State) setStats(stats NodeID, used quota.Limits) {
	s.txn.stats = quota.AppendStats(s.txn.stats[:0], used)
	s.setData(stats, s.txn.stats)
}

// recountQuotas sets the stats of every quota to the use in the tree. It is called after a snapshot has been
// loaded.
func (s *State) recountQuotas() {
	if s.quota == 0 {
		return
	}
	var path []byte
	for id := s.quota; id != 0; id = s.following(id, s.quota) {
		parent := s.Parent(id)
		if parent == s.quota || s.FirstChild(id) != 0 || !bytes.Equal(s.Name(id), limitsName) {
			continue
		}
		stats := s.Child(parent, statsName)
		if stats == 0 {
			continue
		}
		path = s.AppendPath(path[:0], parent)
		if target, ok := quotaTarget(path); ok {
			s.recount(stats, target)
		}
	}
}

// following returns the znode after id in the walk of the tree at top that visits parents before
// their children, 0 at the end.
func (s *State) following(id, top NodeID) NodeID {
	if c := s.FirstChild(id); c != 0 {
		return c
	}
	return s.beyond(id, top)
}

// beyond returns the znode after the last one of the subtree of id in the same walk.
func (s *State) beyond(id, top NodeID) NodeID {
	for id != top {
		r := s.rec(id)
		if r.next != 0 {
			return r.next
		}
		id = r.parent
	}
	return 0
}
