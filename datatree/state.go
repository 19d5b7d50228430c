package datatree

import (
	"bytes"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// Config says how a State checks requests. It must be the same on every server of an ensemble.
type Config struct {
	// SkipACL grants every permission to every connection (zookeeper.skipACL).
	SkipACL bool
}

// State is everything that is replicated: the tree of znodes and the table of sessions. It does
// not lock: any number of goroutines may read at the same time, but Apply, DropOrphanEphemerals and
// SetConfig need to be alone.
type State struct {
	records slab[record]
	kins    slab[kin]
	blocks  blocks
	table   table
	acls    *ACLTable

	sessions   map[proto.SessionID]session
	inTable    int // sessions in the session table
	ephemerals int
	containers ownedList
	ttls       ownedList

	system NodeID // "/zookeeper", 0 if there is none
	quota  NodeID // "/zookeeper/quota", 0 if there is none

	lastZxid proto.Zxid
	digest   int64
	removals uint64 // znodes removed so far; see finder
	dataSize int64

	wide int // znodes with at least WideChildren children

	ended      ended // what an Ending has left
	compaction compaction

	walkers  walkers
	listings listings
	seed     maphash.Seed
	hashOfFn func(NodeID) uint32 // s.hashOf, made once
	txn      txnScratch
}

// NewState returns the state of an ensemble in which nothing has happened: the four system znodes,
// no session, zxid 0. Source: storage 8.1.
func NewState(cfg Config) *State {
	s := newBareState(cfg)
	s.redigest(Root, nil)
	s.addSystem("/zookeeper", []byte{}, openList, 0)
	s.addSystem("/zookeeper/quota", []byte{}, openList, 0)
	s.addSystem(ConfigPath, []byte{}, readList, -1) // the first entry of the ACL table, as in ZooKeeper
	return s
}

// addSystem adds a system znode, and returns 0 if its parent does not exist.
func (s *State) addSystem(path string, data []byte, acl []proto.ACL, aversion int32) NodeID {
	parentPath, name := paths.Split([]byte(path))
	parent := s.Lookup(parentPath)
	if parent == 0 {
		return 0
	}
	hash := s.hashName(parent, name)
	id := s.add(parent, hash, []byte(path), name, data, s.acls.acquire(acl), &Node{Aversion: aversion})
	s.table.insert(hash, id, s.hashOfFn)
	return id
}

// newBareState returns a state with a root and nothing else.
func newBareState(cfg Config) *State {
	s := &State{
		acls:       newACLTable(cfg.SkipACL),
		sessions:   map[proto.SessionID]session{},
		seed:       maphash.MakeSeed(),
		compaction: compaction{least: compactMin},
	}
	s.hashOfFn = s.hashOf
	root := NodeID(s.records.grow())
	s.records.live++
	*s.rec(root) = record{acl: OpenACL, block: s.blocks.put(nil, []byte{}), prev: root}
	s.dataSize = 1 // the path of the root, "/"
	return s
}

// Lookup returns the znode of a path, 0 if there is none. "" and "/" are the root.
func (s *State) Lookup(path []byte) NodeID {
	if len(path) == 0 {
		return Root
	}
	if path[0] != '/' {
		return 0
	}
	id := Root
	for rest := path[1:]; len(rest) > 0; {
		name := rest
		if i := bytes.IndexByte(rest, '/'); i >= 0 {
			name, rest = rest[:i], rest[i+1:]
			if len(rest) == 0 {
				return 0 // a slash at the end
			}
		} else {
			rest = nil
		}
		if id = s.Child(id, name); id == 0 {
			return 0
		}
	}
	return id
}

// Child returns the child of a znode by its name, 0 if there is none.
func (s *State) Child(parent NodeID, name []byte) NodeID {
	return s.find(parent, s.hashName(parent, name), name)
}

// Node returns a znode's Stat as stored. id must exist.
func (s *State) Node(id NodeID) Node { return s.node(s.rec(id)) }

func (s *State) node(r *record) Node {
	n := Node{
		Czxid: r.czxid, Mzxid: r.mzxid, Pzxid: r.czxid, Ctime: r.ctime, Mtime: r.mtime, Owner: r.owner,
		Version: r.version, Aversion: r.aversion, ACL: r.acl, Digest: r.digest,
	}
	if k := s.kinOf(r); k != nil {
		n.Pzxid, n.Cversion, n.NumChildren = k.pzxid, k.cversion, k.children
	}
	return n
}

// Data returns a znode's data, nil if it is null. It is valid until the next Apply and must not be
// changed.
func (s *State) Data(id NodeID) []byte {
	_, data := s.blocks.get(s.rec(id).block)
	return data
}

// Stat returns a znode's Stat as clients see it. Source: server-semantics 5.1.
func (s *State) Stat(id NodeID) proto.Stat {
	r := s.rec(id)
	n := s.node(r)
	_, data := s.blocks.get(r.block)
	stat := proto.Stat{
		Czxid: n.Czxid, Mzxid: n.Mzxid, Ctime: n.Ctime, Mtime: n.Mtime,
		Version: n.Version, Cversion: 2*n.Cversion - n.NumChildren, Aversion: n.Aversion,
		DataLength: int32(len(data)), NumChildren: n.NumChildren, Pzxid: n.Pzxid,
	}
	if proto.IsSessionOwner(n.Owner) {
		stat.EphemeralOwner = n.Owner
	}
	return stat
}

// Name returns a znode's name, the last component of its path, empty for the root. It is valid
// until the next Apply and must not be changed.
func (s *State) Name(id NodeID) []byte {
	name, _ := s.blocks.get(s.rec(id).block)
	return name
}

// Parent returns a znode's parent, 0 for the root.
func (s *State) Parent(id NodeID) NodeID { return s.rec(id).parent }

// AppendPath appends a znode's path.
func (s *State) AppendPath(b []byte, id NodeID) []byte {
	if id == Root {
		return append(b, '/')
	}
	size := 0
	for n := id; n != Root; n = s.rec(n).parent {
		size += 1 + len(s.Name(n))
	}
	start := len(b)
	b = slices.Grow(b, size)[:start+size]
	end := len(b)
	for n := id; n != Root; n = s.rec(n).parent {
		name := s.Name(n)
		end -= len(name)
		copy(b[end:], name)
		end--
		b[end] = '/'
	}
	return b
}

// EachChild yields a znode's children in the order of their creation.
func (s *State) EachChild(id NodeID, yield func(NodeID) bool) {
	for c := s.FirstChild(id); c != 0; c = s.rec(c).next {
		if !yield(c) {
			return
		}
	}
}

// FirstChild returns the oldest child of a znode, 0 if it has none.
func (s *State) FirstChild(id NodeID) NodeID {
	if k := s.kinOf(s.rec(id)); k != nil {
		return k.first
	}
	return 0
}

// NextSibling returns the child of the same parent that was created next, 0 if there is none.
func (s *State) NextSibling(id NodeID) NodeID { return s.rec(id).next }

// LastZxid returns the highest zxid applied. It is never lowered.
func (s *State) LastZxid() proto.Zxid { return s.lastZxid }

// ACLs returns the table of ACL lists.
func (s *State) ACLs() *ACLTable { return s.acls }

// NumNodes returns the number of znodes, the root and the system znodes included.
func (s *State) NumNodes() int { return s.records.live - s.ended.left }

// NumEphemerals returns the number of znodes that belong to sessions.
func (s *State) NumEphemerals() int { return s.ephemerals }

// DataSize returns the sum of the lengths of all paths (in UTF-16 units) and data, in bytes, as
// ZooKeeper estimates it. Source: server-semantics 5.7.
func (s *State) DataSize() int64 { return s.dataSize }

// Session returns the timeout of a session in the session table.
func (s *State) Session(id proto.SessionID) (timeoutMs int32, ok bool) {
	e, ok := s.sessions[id]
	return e.timeoutMs, ok && e.inTable
}

// NumSessions returns the number of sessions in the session table.
func (s *State) NumSessions() int { return s.inTable }

// SessionIDs returns the ids of the session table, in no order: of very many, to sort them takes far longer.
func (s *State) SessionIDs() []proto.SessionID {
	all := make([]proto.SessionID, 0, s.inTable)
	for id, e := range s.sessions {
		if e.inTable {
			all = append(all, id)
		}
	}
	return all
}

// EachSession yields the session table in the order of the ids.
func (s *State) EachSession(yield func(id proto.SessionID, timeoutMs int32)) {
	for _, id := range s.sessionIDs() {
		if e := s.sessions[id]; e.inTable {
			yield(id, e.timeoutMs)
		}
	}
}

// sessionIDs returns the ids of all sessions that are in the table or own a znode, in order.
func (s *State) sessionIDs() []proto.SessionID { return slices.Sorted(maps.Keys(s.sessions)) }

// EachEphemeral yields the ephemerals of a session in the order of their creation.
func (s *State) EachEphemeral(id proto.SessionID, yield func(NodeID)) {
	for n := range s.each(s.sessions[id].ephemerals) {
		yield(n)
	}
}

// FirstEphemerals yields up to most ephemerals of a session, the oldest first, and returns how many it has.
func (s *State) FirstEphemerals(id proto.SessionID, most int, yield func(NodeID)) (count int) {
	of := s.sessions[id].ephemerals
	for n := range s.each(of) {
		if most--; most < 0 {
			break
		}
		yield(n)
	}
	return int(of.count)
}

// putSession puts a session into the session table.
func (s *State) putSession(id proto.SessionID, timeoutMs int32) {
	e := s.sessions[id]
	if !e.inTable {
		s.inTable++
	}
	e.timeoutMs, e.inTable = timeoutMs, true
	s.sessions[id] = e
}

// dropSession takes a session out of the session table. Its ephemerals stay.
func (s *State) dropSession(id proto.SessionID) {
	e, ok := s.sessions[id]
	if !ok {
		return
	}
	if e.inTable {
		s.inTable--
	}
	e.timeoutMs, e.inTable = 0, false
	if e.ephemerals.count == 0 {
		delete(s.sessions, id)
	} else {
		s.sessions[id] = e
	}
}
