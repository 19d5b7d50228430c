package datatree

import (
	"encoding/binary"
	"fmt"
)

// A block holds what a znode has of variable size: its name (not its path) and its data.
//
//	small: nameLen uint16, dataLen+1 uint16, name, data     in a slot of a page
//	large: nameLen uint32, dataLen+1 uint32, name, data     in a slice of its own
//
// A dataLen+1 of 0 is null data. Pages are cut into slots of one size, and a reference is the
// number of the page and of the slot; a large block is an index into a table, marked by the top bit.
type blockRef uint32

const (
	pageSize  = 64 << 10
	slotBits  = 12
	slotMin   = pageSize >> slotBits // 16
	smallMax  = pageSize / 4         // larger blocks are large
	fineMax   = 512                  // up to here there is a size class every 4 bytes
	largeFlag = blockRef(1) << 31
	pagesMax  = 1 << (31 - slotBits) // 32 GiB; beyond, every block is large

	smallHeader = 4
	largeHeader = 8

	noPage  = ^uint32(0)
	noSlot  = ^uint16(0)
	noBlock = ^blockRef(0) // of a record that is not in use
)

// pageInfo is the state of one page. A page is in the list of its class exactly when it has a free slot and is not
// leaving, and belongs to no class when it is empty.
type pageInfo struct {
	next, prev uint32 // neighbours in the list of the class
	size       uint16 // of a slot
	slots      uint16 // that fit
	used       uint16 // in use
	fresh      uint16 // first slot that was never in use
	free       uint16 // head of the list of returned slots, noSlot if none
	class      uint16
	leaving    bool // compaction moves its blocks to other pages
}

// blocks is the store of all blocks. The garbage collector sees a list of pages without pointers.
type blocks struct {
	pages []*[pageSize]byte
	info  []pageInfo
	open  [classCount]uint32 // page+1 with a free slot, by class; 0 is none
	// spare lists pages without a class that still have their memory; gone lists page numbers
	// whose memory was given back.
	spare, gone []uint32

	large     [][]byte
	largeFree []uint32

	smallBytes, largeBytes int64 // handed out, including rounding
}

// Classes: every 4 bytes from slotMin to fineMax, then pageSize/k for falling k, which wastes no
// page end and at most a fifth of a slot.
const (
	fineClasses = (fineMax-slotMin)/4 + 1
	coarseFirst = pageSize/fineMax - 1 // k of the first class above fineMax
	coarseLast  = pageSize / smallMax  // k of the last one
	classCount  = fineClasses + coarseFirst - coarseLast + 1
)

// classOf returns the smallest class whose slots hold n bytes, n <= smallMax.
func classOf(n int) int {
	if n <= slotMin {
		return 0
	}
	if n <= fineMax {
		return (n - slotMin + 3) / 4
	}
	k := min(pageSize/n, coarseFirst)
	return fineClasses + coarseFirst - k
}

// sizeOf returns the size of the slots of class c.
func sizeOf(c int) int {
	if c < fineClasses {
		return slotMin + 4*c
	}
	return pageSize / (coarseFirst - (c - fineClasses))
}

// put stores a name and data in a new block. Neither may alias a block.
func (b *blocks) put(name, data []byte) blockRef {
	ref, mem := b.alloc(len(name), len(data))
	b.fill(ref, mem, name, data)
	return ref
}

// fill writes header, name and data into the memory of a block.
func (b *blocks) fill(ref blockRef, mem, name, data []byte) {
	length := len(data) + 1
	if data == nil {
		length = 0
	}
	header := smallHeader
	if ref&largeFlag != 0 {
		header = largeHeader
		binary.LittleEndian.PutUint32(mem, uint32(len(name)))
		binary.LittleEndian.PutUint32(mem[4:], uint32(length))
	} else {
		binary.LittleEndian.PutUint16(mem, uint16(len(name)))
		binary.LittleEndian.PutUint16(mem[2:], uint16(length))
	}
	n := copy(mem[header:], name)
	copy(mem[header+n:], data)
}

// get returns the name and the data of a block. Null data is nil. Both alias the block.
func (b *blocks) get(ref blockRef) (name, data []byte) {
	var mem []byte
	var nameLen, length int
	if ref&largeFlag != 0 {
		mem = b.large[ref&^largeFlag]
		nameLen = int(binary.LittleEndian.Uint32(mem))
		length = int(binary.LittleEndian.Uint32(mem[4:]))
		mem = mem[largeHeader:]
	} else {
		mem = b.slot(ref)
		nameLen = int(binary.LittleEndian.Uint16(mem))
		length = int(binary.LittleEndian.Uint16(mem[2:]))
		mem = mem[smallHeader:]
	}
	name = mem[:nameLen:nameLen]
	if length == 0 {
		return name, nil
	}
	end := nameLen + length - 1
	return name, mem[nameLen:end:end]
}

// name returns the name in a block, as get does.
func (b *blocks) name(ref blockRef) []byte {
	if ref&largeFlag != 0 {
		name, _ := b.get(ref)
		return name
	}
	mem := b.slot(ref)
	n := int(binary.LittleEndian.Uint16(mem))
	return mem[smallHeader : smallHeader+n : smallHeader+n]
}

// slot returns the memory of a small block.
func (b *blocks) slot(ref blockRef) []byte {
	page := ref >> slotBits
	size := int(b.info[page].size)
	at := int(ref&(1<<slotBits-1)) * size
	return b.pages[page][at : at+size : at+size]
}

// fetch reads the beginning of a block.
func (b *blocks) fetch(ref blockRef) byte {
	if ref&largeFlag != 0 {
		return b.large[ref&^largeFlag][0]
	}
	return b.slot(ref)[0]
}

// setData replaces the data of a block, keeps its name, and returns its reference, which changes
// unless the new contents fit the same memory well. data must not alias the block.
func (b *blocks) setData(ref blockRef, data []byte) blockRef {
	name, _ := b.get(ref)
	if ref&largeFlag == 0 {
		need := smallHeader + len(name) + len(data)
		if need <= smallMax && classOf(need) == int(b.info[ref>>slotBits].class) {
			b.fill(ref, b.slot(ref), name, data) // the name is copied onto itself
			return ref
		}
	} else {
		mem := b.large[ref&^largeFlag]
		need := largeHeader + len(name) + len(data)
		if need > smallMax && need <= cap(mem) && cap(mem) <= largeSize(need)*2 {
			b.fill(ref, mem[:cap(mem)], name, data)
			return ref
		}
	}
	moved, mem := b.alloc(len(name), len(data))
	b.fill(moved, mem, name, data)
	b.free(ref)
	return moved
}

// largeSize rounds the size of a large block up to an eighth of its magnitude, so that data whose
// size varies a little stays in place.
func largeSize(n int) int {
	step := smallMax / 8
	for step*16 < n {
		step *= 2
	}
	return (n + step - 1) / step * step
}

// alloc returns memory for a block with a name and data of these lengths.
func (b *blocks) alloc(nameLen, dataLen int) (blockRef, []byte) {
	if n := smallHeader + nameLen + dataLen; n <= smallMax {
		if ref, ok := b.allocSlot(classOf(n)); ok {
			return ref, b.slot(ref)
		}
	}
	size := largeSize(largeHeader + nameLen + dataLen)
	mem := make([]byte, size)
	b.largeBytes += int64(size)
	if n := len(b.largeFree); n > 0 {
		i := b.largeFree[n-1]
		b.largeFree = b.largeFree[:n-1]
		b.large[i] = mem
		return largeFlag | blockRef(i), mem
	}
	if len(b.large) == int(noBlock&^largeFlag) {
		panic("datatree: more than 2^31 large blocks")
	}
	b.large = append(b.large, mem)
	return largeFlag | blockRef(len(b.large)-1), mem
}

// allocSlot takes a slot of class c; ok is false if there are no more pages.
func (b *blocks) allocSlot(c int) (ref blockRef, ok bool) {
	if b.open[c] == 0 && !b.openPage(c) {
		return 0, false
	}
	page := b.open[c] - 1
	p := &b.info[page]
	var slot uint16
	if p.free != noSlot {
		slot = p.free
		p.free = binary.LittleEndian.Uint16(b.pages[page][int(slot)*int(p.size):])
	} else {
		slot = p.fresh
		p.fresh++
	}
	p.used++
	if p.used == p.slots {
		b.unlink(page)
	}
	b.smallBytes += int64(p.size)
	return blockRef(page)<<slotBits | blockRef(slot), true
}

// openPage makes an empty page the open page of class c.
func (b *blocks) openPage(c int) bool {
	var page uint32
	switch {
	case len(b.spare) > 0:
		page = b.spare[len(b.spare)-1]
		b.spare = b.spare[:len(b.spare)-1]
	case len(b.gone) > 0:
		page = b.gone[len(b.gone)-1]
		b.gone = b.gone[:len(b.gone)-1]
		b.pages[page] = new([pageSize]byte)
	case len(b.pages) < pagesMax:
		page = uint32(len(b.pages))
		b.pages = append(b.pages, new([pageSize]byte))
		b.info = append(b.info, pageInfo{})
	default:
		return false
	}
	size := sizeOf(c)
	b.info[page] = pageInfo{
		size: uint16(size), slots: uint16(pageSize / size), free: noSlot, class: uint16(c),
		next: noPage, prev: noPage,
	}
	b.link(page)
	return true
}

// link puts a page at the head of its class's list.
func (b *blocks) link(page uint32) {
	p := &b.info[page]
	p.prev, p.next = noPage, noPage
	if head := b.open[p.class]; head != 0 {
		p.next = head - 1
		b.info[p.next].prev = page
	}
	b.open[p.class] = page + 1
}

// unlink takes a page out of its class's list.
func (b *blocks) unlink(page uint32) {
	p := &b.info[page]
	if p.prev != noPage {
		b.info[p.prev].next = p.next
	} else {
		b.open[p.class] = p.next + 1 // noPage+1 is 0
	}
	if p.next != noPage {
		b.info[p.next].prev = p.prev
	}
}

// free gives a block back.
func (b *blocks) free(ref blockRef) {
	if ref&largeFlag != 0 {
		i := ref &^ largeFlag
		b.largeBytes -= int64(cap(b.large[i]))
		b.large[i] = nil
		b.largeFree = append(b.largeFree, uint32(i))
		return
	}
	page, slot := uint32(ref>>slotBits), uint16(ref&(1<<slotBits-1))
	p := &b.info[page]
	if p.used == 0 {
		panic(fmt.Sprintf("datatree: block %#x freed twice", uint32(ref)))
	}
	b.smallBytes -= int64(p.size)
	binary.LittleEndian.PutUint16(b.pages[page][int(slot)*int(p.size):], p.free)
	p.free = slot
	if p.used == p.slots && !p.leaving {
		b.link(page)
	}
	p.used--
	if p.used == 0 {
		if !p.leaving {
			b.unlink(page)
		}
		p.leaving = false
		b.retire(page)
	}
}

// retire keeps an empty page for any class, or gives its memory back when an eighth of all
// pages is spare already.
func (b *blocks) retire(page uint32) {
	if len(b.spare) > 16+len(b.pages)/8 {
		b.pages[page] = nil
		b.gone = append(b.gone, page)
		return
	}
	b.spare = append(b.spare, page)
}
