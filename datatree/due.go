package datatree

import "github.com/seed94657493/warren/proto"

// EachDue yields the paths of the containers and TTL znodes that are to be deleted: a container without children
// that once had some, or that is older than maxNeverUsedMs (0: never for that reason); a TTL znode without
// children whose data was set longer than its ttl ago. It stops when yield returns false. A path is valid during
// the call.
//
// It looks at every container and TTL znode, so with a million of them it holds the lock for a while. It may run
// concurrently with reads. Source: server-semantics 5.10.
func (s *State) EachDue(nowMs, maxNeverUsedMs int64, yield func(path []byte) bool) {
	var path []byte
	goesOn := func(id NodeID) bool {
		path = s.AppendPath(path[:0], id)
		return yield(path)
	}
	for id := range s.each(s.containers) {
		r := s.rec(id)
		k := s.kinOf(r)
		neverUsed := maxNeverUsedMs != 0 && nowMs-r.mtime > maxNeverUsedMs
		if k.children == 0 && (k.cversion > 0 || neverUsed) && !goesOn(id) {
			return
		}
	}
	for id := range s.each(s.ttls) {
		r := s.rec(id)
		ttl, _ := proto.TTLOf(r.owner)
		if s.kinOf(r).children == 0 && ttl != 0 && nowMs-r.mtime > ttl && !goesOn(id) {
			return
		}
	}
}
