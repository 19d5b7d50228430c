package datatree

import (
	"slices"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// ACLID names an ACL list of an ACLTable.
type ACLID int32

// OpenACL is exactly world:anyone with all permissions. It is in no table and is never counted.
// Source: storage 5.3.
const OpenACL ACLID = -1

// ACLTable interns ACL lists: equal lists, compared element by element in order, have one ACLID. It
// counts the znodes that use a list and forgets the list with the last of them. Reads may run
// concurrently, under the lock of the State it belongs to.
type ACLTable struct {
	entries []aclEntry // by ACLID-1
	byBytes map[string]ACLID
	free    []ACLID
	// held is the number of walkers. While there are any, numbers are not used again, so that a number that a
	// walker has written means the list that it wrote.
	held    int
	waiting []ACLID
	scratch []byte
	// skip is Config.SkipACL.
	skip bool
}

type aclEntry struct {
	list []proto.ACL
	key  string // encoding of list, the key in byBytes
	refs int
	// anyone is the union of the permissions that list grants to world:anyone.
	anyone int32
}

var (
	anyone   = proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}
	openList = []proto.ACL{{Perms: proto.PermAll, Id: anyone}}
	readList = []proto.ACL{{Perms: proto.PermRead, Id: anyone}}
	// denyList grants no permission: an entry without permissions, because an empty list would allow everything.
	denyList = []proto.ACL{{Perms: 0, Id: anyone}}
)

func newACLTable(skip bool) *ACLTable {
	return &ACLTable{byBytes: map[string]ACLID{}, skip: skip}
}

// List returns the list with this id. It is shared: the caller must not change it. It stays valid after id is
// forgotten. An id that is not in the table stands for a list that grants no permission.
func (t *ACLTable) List(id ACLID) []proto.ACL {
	if id == OpenACL {
		return openList
	}
	if e := t.entry(id); e != nil {
		return e.list
	}
	return denyList
}

// Anyone returns the permissions that id grants to world:anyone.
func (t *ACLTable) Anyone(id ACLID) int32 {
	if id == OpenACL {
		return proto.PermAll
	}
	if e := t.entry(id); e != nil {
		return e.anyone
	}
	return 0
}

// Allows reports whether the list id gives any of the wanted permissions to any of ids. It is called on every
// read: it does not allocate, and a list that is open to world:anyone costs one comparison. An empty list allows
// everything, as in ZooKeeper. It may be called concurrently with other readers of the State. Source:
// server-semantics 9.1.
func (t *ACLTable) Allows(id ACLID, wanted int32, ids []auth.Identity) bool {
	if t.skip || t.Anyone(id)&wanted != 0 || auth.IsSuper(ids) {
		return true
	}
	list := t.List(id)
	m := auth.MatcherOf(ids, len(list))
	for i := range list {
		if m.Allows(&list[i], wanted) {
			return true
		}
	}
	return len(list) == 0
}

// AllowsEncoded is Allows for a list that is not in the table yet: the encoding of a list that is well-formed and
// not empty.
func (t *ACLTable) AllowsEncoded(list []byte, wanted int32, ids []auth.Identity) bool {
	if t.skip || auth.IsSuper(ids) {
		return true
	}
	r := proto.NewReader(list)
	n := r.Count(aclEntrySizeMin)
	m := auth.MatcherOf(ids, n)
	for range n {
		var e proto.ACL
		if e.Decode(&r); m.Allows(&e, wanted) {
			return true
		}
	}
	return false
}

// aclEntrySizeMin is the size of an encoded ACL entry with two empty strings.
const aclEntrySizeMin = 12

// Len returns how many lists are in the table.
func (t *ACLTable) Len() int { return len(t.byBytes) }

// Mentions looks for an entry with the scheme and the id of one of ids in n lists, beginning at place from, which is
// 0 at first. It returns where to go on, 0 after the last list, so that a reader need not hold the lock for a long
// table. A list that is added meanwhile may be missed.
func (t *ACLTable) Mentions(ids []auth.Identity, from, n int) (found bool, next int) {
	end := min(from+n, len(t.entries))
	for i := from; i < end; i++ {
		for k := range t.entries[i].list {
			if slices.ContainsFunc(ids, func(id auth.Identity) bool { return id.IsNamed(&t.entries[i].list[k].Id) }) {
				return true, 0
			}
		}
	}
	if end >= len(t.entries) {
		return false, 0
	}
	return false, end
}

func (t *ACLTable) entry(id ACLID) *aclEntry {
	if id < 1 || int(id) > len(t.entries) || t.entries[id-1].refs == 0 {
		return nil
	}
	return &t.entries[id-1]
}

// acquire returns the id of a list and counts one more user. Null is OpenACL, as in the
// reference. list may alias a payload; a new entry has a copy.
func (t *ACLTable) acquire(list []proto.ACL) ACLID {
	if list == nil || isOpen(list) {
		return OpenACL
	}
	t.scratch = t.scratch[:0]
	for i := range list {
		t.scratch = list[i].AppendTo(t.scratch)
	}
	if id, ok := t.byBytes[string(t.scratch)]; ok {
		t.entries[id-1].refs++
		return id
	}
	return t.add(string(t.scratch), len(list))
}

// use counts one more user of an id that has one.
func (t *ACLTable) use(id ACLID) {
	if id == OpenACL {
		return
	}
	e := t.entry(id)
	invariant("an ACL to use is in use", e != nil, uint64(id))
	e.refs++
}

// add makes an entry of n elements from their encoding.
func (t *ACLTable) add(key string, n int) ACLID {
	var id ACLID
	if last := len(t.free) - 1; last >= 0 {
		id = t.free[last]
		t.free = t.free[:last]
	} else {
		t.entries = append(t.entries, aclEntry{})
		id = ACLID(len(t.entries))
	}
	e := aclEntry{key: key, list: make([]proto.ACL, n), refs: 1}
	r := proto.NewReader([]byte(key))
	for i := range e.list {
		acl := &e.list[i]
		acl.Decode(&r)
		if auth.IsAnyone(&acl.Id) {
			e.anyone |= acl.Perms
		}
	}
	invariant("an interned ACL decodes", r.Err() == nil && r.Len() == 0, uint64(id))
	t.entries[id-1] = e
	t.byBytes[key] = id
	return id
}

// release counts one user less.
func (t *ACLTable) release(id ACLID) {
	if id == OpenACL {
		return
	}
	e := t.entry(id)
	invariant("an ACL to release is in use", e != nil, uint64(id))
	e.refs--
	if e.refs > 0 {
		return
	}
	delete(t.byBytes, e.key)
	*e = aclEntry{}
	if t.held > 0 {
		t.waiting = append(t.waiting, id)
	} else {
		t.free = append(t.free, id)
	}
}

// releaseSome counts n users less.
func (t *ACLTable) releaseSome(id ACLID, n int32) {
	e := t.entry(id)
	invariant("an ACL to release has so many users", e != nil && n > 0 && e.refs >= int(n), uint64(id))
	e.refs -= int(n) - 1
	t.release(id)
}

// hold returns the table for a walker. Until letGo no number in it is used again. denyKey is a number in it that
// grants no permission.
func (t *ACLTable) hold() (table []walkedACL, denyKey ACLID) {
	t.held++
	table = make([]walkedACL, 0, len(t.byBytes)+1)
	for i := range t.entries {
		if t.entries[i].refs > 0 {
			table = append(table, walkedACL{ACLID(i + 1), t.entries[i].list})
		}
	}
	denyKey = ACLID(len(t.entries) + 1) // a list that gets this number later is not in the table
	return append(table, walkedACL{denyKey, denyList}), denyKey
}

// letGo ends a hold.
func (t *ACLTable) letGo() {
	t.held--
	if t.held == 0 {
		t.free = append(t.free, t.waiting...)
		t.waiting = t.waiting[:0]
	}
}

// isOpen reports whether list is world:anyone with all permissions and nothing else.
func isOpen(list []proto.ACL) bool {
	return len(list) == 1 && list[0].Perms == proto.PermAll && auth.IsAnyone(&list[0].Id)
}
