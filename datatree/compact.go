package datatree

// Compaction gives memory back that freed blocks have left in pages with few other blocks. A page has slots of one
// size, so without it a tree whose names and data change their size over the months would keep a page for every znode
// that has stayed as it was.
//
// A pass begins when less than half of the memory in pages is in use. Pages that are less than three quarters full
// take no more blocks. With each change a few records are looked at, and their blocks are moved out of these pages; at
// the end of the pass the pages are empty. No znode refers to a block except its record.

const (
	compactMin     = 32 << 20 // bytes of pages that are not in use, below which there is no pass
	compactRecords = 16       // that a step looks at
	compactBytes   = 16 << 10 // that a step moves, not counting the last block
)

// compaction is the progress of a pass.
type compaction struct {
	least int64  // compactMin
	next  uint32 // the record to be looked at next, 0 between passes
}

// compact does one step of a pass, or begins one if it is worthwhile.
func (s *State) compact() {
	b, c := &s.blocks, &s.compaction
	if c.next == 0 {
		if unused := b.unused(); unused < c.least || unused < b.smallBytes {
			return
		}
		b.leave()
		c.next = 1
	}
	end, moved := min(c.next+compactRecords, s.records.next), 0
	for ; c.next < end && moved < compactBytes; c.next++ {
		if r := s.records.at(c.next); b.leaves(r.block) {
			var size int
			r.block, size = b.move(r.block)
			moved += size
		}
	}
	if c.next == s.records.next {
		b.left()
		c.next = 0
	}
}

// unused returns how many bytes of the pages that have a class are not handed out.
func (b *blocks) unused() int64 {
	return int64(len(b.pages)-len(b.spare)-len(b.gone))*pageSize - b.smallBytes
}

// leave makes the pages that are less than three quarters full take no more blocks.
func (b *blocks) leave() {
	for page := range b.info {
		p := &b.info[page]
		if p.used > 0 && int(p.used)*4 < int(p.slots)*3 {
			b.unlink(uint32(page))
			p.leaving = true
		}
	}
}

// leaves reports whether a block is to be moved.
func (b *blocks) leaves(ref blockRef) bool {
	return ref&largeFlag == 0 && b.info[ref>>slotBits].leaving
}

// move moves a block to another page, and returns its size. If there is no page, it stays.
func (b *blocks) move(ref blockRef) (moved blockRef, size int) {
	from := b.slot(ref)
	moved, ok := b.allocSlot(int(b.info[ref>>slotBits].class))
	if !ok {
		return ref, len(from)
	}
	copy(b.slot(moved), from)
	b.free(ref)
	return moved, len(from)
}

// left ends what leave has begun. Pages that are not empty, because there were no others, take blocks again.
func (b *blocks) left() {
	for page := range b.info {
		p := &b.info[page]
		if p.leaving && p.used > 0 {
			p.leaving = false
			b.link(uint32(page))
		}
	}
}
