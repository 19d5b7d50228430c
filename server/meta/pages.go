package meta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// bbolt's format, version 2: pages of one size, written in the byte order of the machine.
//
//	page    id u64, kind u16, count u16, overflow u32, then elements, keys and values
//	meta    (page 0 and 1) magic, version, page size, flags u32; root {page u64, sequence u64};
//	        free list, pages in use, txn id u64; FNV-1a of all that u64
//	branch  count x {position u32, key length u32, page u64}
//	leaf    count x {flags u32, position u32, key length u32, value length u32}
//
// A position counts from its element. A leaf's value with flag 1 is a bucket: {page u64, sequence u64},
// and if the page is 0 the bucket's only page follows in the value.
const (
	pageHeader  = 16
	elementSize = 16
	bucketSize  = 16
	metaSize    = 64

	boltMagic   = 0xED0CDAED
	boltVersion = 2

	kindBranch = 1
	kindLeaf   = 2
	leafBucket = 1
)

var order = binary.NativeEndian

// checkPages verifies that a bbolt file can be read without surprises: every page that can be reached from its
// newest meta page is inside the file, has its own number, points only at pages that no other page points at, and
// has its keys in order. Values are not checked.
func checkPages(b []byte) error {
	c, root, err := findMeta(b)
	if err != nil {
		return err
	}
	return c.tree(root)
}

type pageChecker struct {
	b     []byte
	size  uint64 // of a page
	pages uint64 // in use
	seen  map[uint64]bool
}

// findMeta returns the meta page with the newest txn, as bbolt does.
func findMeta(b []byte) (c *pageChecker, root uint64, err error) {
	var newest uint64
	for at := uint64(0); at <= 1<<16 && at < uint64(len(b)); at = max(at*2, 1<<9) {
		if uint64(len(b))-at < pageHeader+metaSize {
			break
		}
		m := b[at+pageHeader:]
		h := fnv.New64a()
		h.Write(m[:metaSize-8])
		size := uint64(order.Uint32(m[8:]))
		switch txn := order.Uint64(m[48:]); {
		case order.Uint32(m) != boltMagic || order.Uint32(m[4:]) != boltVersion:
		case order.Uint64(m[56:]) != h.Sum64():
		case size < 1<<9 || size > 1<<16 || size&(size-1) != 0 || at != 0 && at != size:
		case c == nil || txn >= newest:
			newest, root = txn, order.Uint64(m[16:])
			c = &pageChecker{b: b, size: size, pages: order.Uint64(m[40:]), seen: map[uint64]bool{0: true, 1: true}}
		}
	}
	switch {
	case c == nil:
		return nil, 0, errors.New("no page says that this is a bbolt file")
	case c.pages < 2 || c.pages > uint64(len(b))/c.size:
		return nil, 0, fmt.Errorf("%d pages of %d bytes are in use, the file has %d bytes", c.pages, c.size, len(b))
	}
	return c, root, nil
}

// tree checks the page id and everything below it.
func (c *pageChecker) tree(id uint64) error {
	if id >= c.pages {
		return fmt.Errorf("page %d is beyond the %d in use", id, c.pages)
	}
	p := c.b[id*c.size:]
	if got := order.Uint64(p); got != id {
		return fmt.Errorf("page %d says it is page %d", id, got)
	}
	span := uint64(order.Uint32(p[12:])) + 1
	if span > c.pages-id {
		return fmt.Errorf("page %d spans %d pages, beyond the %d in use", id, span, c.pages)
	}
	for i := range span {
		if c.seen[id+i] {
			return fmt.Errorf("page %d is referred to twice", id+i)
		}
		c.seen[id+i] = true
	}
	return c.page(p[:span*c.size], id)
}

// page checks a page's elements. p is the whole page, even if it lies in a value.
func (c *pageChecker) page(p []byte, id uint64) error {
	kind, count := order.Uint16(p[8:]), int(order.Uint16(p[10:]))
	if kind != kindBranch && kind != kindLeaf {
		return fmt.Errorf("page %d is of kind %#x", id, kind)
	}
	if pageHeader+count*elementSize > len(p) || kind == kindBranch && count == 0 {
		return fmt.Errorf("page %d claims %d elements", id, count)
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*elementSize
		key, value, err := element(p, at, kind)
		if err != nil {
			return fmt.Errorf("page %d, element %d: %w", id, i, err)
		}
		if i > 0 && bytes.Compare(last, key) >= 0 {
			return fmt.Errorf("page %d, element %d: key out of order", id, i)
		}
		last = key
		switch {
		case kind == kindBranch:
			err = c.tree(order.Uint64(p[at+8:]))
		case order.Uint32(p[at:]) == leafBucket:
			err = c.bucket(value, id)
		case order.Uint32(p[at:]) != 0:
			err = fmt.Errorf("page %d, element %d: flags %#x", id, i, order.Uint32(p[at:]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element returns key and value of the element at an offset of a page.
func element(p []byte, at int, kind uint16) (key, value []byte, err error) {
	from, keySize, valueSize := uint64(order.Uint32(p[at:])), uint64(order.Uint32(p[at+4:])), uint64(0)
	if kind == kindLeaf {
		from, keySize, valueSize = keySize, uint64(order.Uint32(p[at+8:])), uint64(order.Uint32(p[at+12:]))
	}
	from += uint64(at)
	if from+keySize+valueSize > uint64(len(p)) {
		return nil, nil, errors.New("reaches beyond its page")
	}
	if keySize == 0 {
		return nil, nil, errors.New("has no key")
	}
	return p[from : from+keySize], p[from+keySize : from+keySize+valueSize], nil
}

// bucket checks a bucket's root: a page of its own, or one inside the value.
func (c *pageChecker) bucket(value []byte, id uint64) error {
	if len(value) < bucketSize {
		return fmt.Errorf("page %d: bucket of %d bytes", id, len(value))
	}
	if root := order.Uint64(value); root != 0 {
		return c.tree(root)
	}
	inline := value[bucketSize:]
	if len(inline) < pageHeader || order.Uint16(inline[8:]) != kindLeaf || order.Uint64(inline) != 0 {
		return fmt.Errorf("page %d: bucket without a page", id)
	}
	return c.page(inline, id)
}
