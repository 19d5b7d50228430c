package prepare

import "github.com/seed94657493/warren/proto"

// saved is the state of a slot before a multi changed it.
type saved struct {
	slot  int32
	isNew bool // there was none: the slot was inserted
	zxid  proto.Zxid
	node  future
	acl   []byte // a copy, if node.ACL is pendingACL; the buffer is kept with the journal
}

// begin starts the journal: from here on every change can be undone.
func (o *overlay) begin() {
	o.journaling = true
	o.marks.changes, o.marks.births = o.changes.tail, o.births.tail
}

// commit ends the journal and keeps the changes.
func (o *overlay) commit() {
	o.journaling = false
	o.forget()
}

// rollback ends the journal and restores every path to what it was at begin. Newest first: a slot
// that was changed twice ends with its oldest state. Source: server-semantics 4.3.
func (o *overlay) rollback() {
	o.journaling = false
	for i := len(o.journal) - 1; i >= 0; i-- {
		was := &o.journal[i]
		if was.isNew {
			o.remove(was.slot)
			continue
		}
		at := &o.slots[was.slot]
		at.zxid, at.node = was.zxid, was.node
		if was.node.ACL == pendingACL {
			at.acl = append(at.acl[:0], was.acl...)
		}
	}
	o.changes.truncate(o.marks.changes)
	o.births.truncate(o.marks.births)
	o.forget()
}

// save copies the state of a slot into the journal.
func (o *overlay) save(s int32) {
	was, at := o.journalEntry(), &o.slots[s]
	*was = saved{slot: s, zxid: at.zxid, node: at.node, acl: was.acl[:0]}
	if at.node.ACL == pendingACL {
		was.acl = append(was.acl, at.acl...)
	}
}

// journalEntry adds an entry to the journal and returns it, with the buffer it had before.
func (o *overlay) journalEntry() *saved {
	if len(o.journal) < cap(o.journal) {
		o.journal = o.journal[:len(o.journal)+1]
	} else {
		o.journal = append(o.journal, saved{})
	}
	return &o.journal[len(o.journal)-1]
}

// forget empties the journal; it keeps small buffers for the next one.
func (o *overlay) forget() {
	for i := range o.journal {
		if cap(o.journal[i].acl) > bufferKept {
			o.journal[i].acl = nil
		}
	}
	o.journal = o.journal[:0]
}
