package prepare

import (
	"bytes"
	"hash/maphash"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// overlay is the difference between the applied tree and the future one: for every path that a
// txn not yet applied will change, how its znode will be. It lives in slots, one a path, that are
// found through an open-addressing table over the bytes of the path. A queue of (zxid, slot) says
// when a slot is no longer needed: when the newest txn that changed it has been applied.
//
// Nothing is allocated once the overlay has reached its working size: slots are recycled through
// a free list together with the buffers of their path and ACL, and the queues are rings.
//
// The superseded states of a path are not kept. Only a multi may need them, to be undone, so they
// are saved in a journal while one is being prepared.
type overlay struct {
	slots   []slot
	free    []int32
	table   []int32 // slot numbers + 1 by hash, 0 is empty; a power of two long
	used    int     // slots in the table
	seed    maphash.Seed
	changes queue[changed] // every change, in the order of zxids
	births  queue[birth]   // the creations of ephemerals among them

	journaling bool
	journal    []saved
	marks      struct{ changes, births uint64 } // ends of the queues where the journal began
}

// slot is the future of one path.
type slot struct {
	path []byte // its own buffer; "" is the root
	acl  []byte // its own buffer: the encoded list if node.ACL is pendingACL
	hash uint64
	zxid proto.Zxid // of the newest change
	node future
}

// future is a znode as it will be when every txn prepared so far has been applied.
type future struct {
	datatree.Node // ACL is pendingACL if the list is not interned yet
	exists        bool
	dataLen       int32
	id            datatree.NodeID // in the applied tree, of a znode that exists all the way from there; else 0
}

// pendingACL stands for a list that only a txn not yet applied holds.
const pendingACL datatree.ACLID = -1 << 31

// bufferKept is the largest buffer that stays with a free slot, in bytes.
const bufferKept = 1 << 10

// slotsKept is how many slots an empty overlay keeps.
const slotsKept = 1 << 16

// changed says that the txn zxid changes the path of a slot.
type changed struct {
	zxid proto.Zxid
	slot int32
}

// birth says that the txn zxid creates an ephemeral of a session at the path of a slot.
type birth struct {
	zxid    proto.Zxid
	session proto.SessionID
	slot    int32
}

// none is returned when there is no slot.
const none int32 = -1

func newOverlay() overlay {
	return overlay{table: make([]int32, 64), seed: maphash.MakeSeed()}
}

func (o *overlay) hash(path []byte) uint64 { return maphash.Bytes(o.seed, path) }

// find returns the slot of path, or none.
func (o *overlay) find(path []byte, hash uint64) int32 {
	mask := uint64(len(o.table) - 1)
	for at := hash & mask; o.table[at] != 0; at = (at + 1) & mask {
		s := o.table[at] - 1
		if o.slots[s].hash == hash && bytes.Equal(o.slots[s].path, path) {
			return s
		}
	}
	return none
}

// store makes node the future of path from the txn zxid on and returns its slot. s is what find
// returned for path. acl is the encoded list of a node with pendingACL; it may be the slot's own.
func (o *overlay) store(path []byte, hash uint64, s int32, zxid proto.Zxid, node *future, acl []byte) int32 {
	if s == none {
		s = o.insert(path, hash)
		if o.journaling {
			was := o.journalEntry()
			*was = saved{slot: s, isNew: true, acl: was.acl[:0]}
		}
	} else if o.journaling {
		o.save(s)
	}
	at := &o.slots[s]
	if at.zxid != zxid {
		o.changes.push(changed{zxid: zxid, slot: s})
		at.zxid = zxid
	}
	at.node = *node
	if node.ACL == pendingACL {
		at.acl = append(at.acl[:0], acl...)
	}
	return s
}

// drop forgets the changes that have been applied.
func (o *overlay) drop(applied proto.Zxid) {
	for o.changes.len() > 0 && o.changes.front().zxid <= applied {
		c := *o.changes.front()
		o.changes.pop()
		if o.slots[c.slot].zxid == c.zxid {
			o.remove(c.slot)
		}
	}
	for o.births.len() > 0 && o.births.front().zxid <= applied {
		o.births.pop()
	}
	if o.used == 0 && len(o.slots) > slotsKept {
		*o = newOverlay()
	}
}

func (o *overlay) insert(path []byte, hash uint64) int32 {
	if 2*(o.used+1) > len(o.table) {
		o.growTable()
	}
	s := int32(len(o.slots))
	if n := len(o.free); n > 0 {
		s = o.free[n-1]
		o.free = o.free[:n-1]
	} else {
		o.slots = append(o.slots, slot{})
	}
	at := &o.slots[s]
	*at = slot{path: append(at.path[:0], path...), acl: at.acl[:0], hash: hash}
	o.place(s)
	o.used++
	return s
}

// place puts a slot into the first empty place of its run.
func (o *overlay) place(s int32) {
	mask := uint64(len(o.table) - 1)
	at := o.slots[s].hash & mask
	for o.table[at] != 0 {
		at = (at + 1) & mask
	}
	o.table[at] = s + 1
}

func (o *overlay) growTable() {
	old := o.table
	o.table = make([]int32, 2*len(old))
	for _, s := range old {
		if s != 0 {
			o.place(s - 1)
		}
	}
}

// remove takes a slot out of the table and closes the gap in its run, so that no search ends
// early. The slot becomes free.
func (o *overlay) remove(s int32) {
	mask := uint64(len(o.table) - 1)
	gap := o.slots[s].hash & mask
	for o.table[gap] != s+1 {
		if o.table[gap] == 0 {
			panic("prepare: outstanding change of " + string(o.slots[s].path) + " is not in its table")
		}
		gap = (gap + 1) & mask
	}
	for at := (gap + 1) & mask; o.table[at] != 0; at = (at + 1) & mask {
		home := o.slots[o.table[at]-1].hash & mask
		if (at-home)&mask >= (at-gap)&mask {
			o.table[gap] = o.table[at]
			gap = at
		}
	}
	o.table[gap] = 0
	o.used--
	o.release(s)
}

func (o *overlay) release(s int32) {
	at := &o.slots[s]
	if cap(at.path) > bufferKept {
		at.path = nil
	}
	if cap(at.acl) > bufferKept {
		at.acl = nil
	}
	o.free = append(o.free, s)
}
