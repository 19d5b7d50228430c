// Package sizes adds up what subtrees hold, while a walk goes through a tree depth first. It keeps the largest
// subtrees and forgets the others, so that its memory is bounded however many znodes there are.
//
// A Counter belongs to one goroutine at a time and knows no locks.
package sizes

import (
	"cmp"
	"slices"
)

// Bounds of what is kept.
const (
	partsMax = 60     // of one znode
	keptMax  = 20_000 // of all
	depthMax = 24     // below which no parts are kept
	shareMin = 4000   // a part is kept if it is more than this part of the tree
)

// Sum is what znodes hold together.
type Sum struct {
	Znodes, Bytes int64
	Writes        float64 // a second
}

func (s *Sum) add(o *Sum) {
	s.Znodes += o.Znodes
	s.Bytes += o.Bytes
	s.Writes += o.Writes
}

// Part is a subtree: the znode Name and all below it.
type Part struct {
	Name string
	Sum
	Parts  []*Part // the largest, in no order
	Others int     // number of children that are not in Parts
}

// Find returns the part at a path of names below p; nil if it was not kept.
func (p *Part) Find(names []string) *Part {
	for _, name := range names {
		i := slices.IndexFunc(p.Parts, func(c *Part) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		p = p.Parts[i]
	}
	return p
}

// Head returns a copy of the upper levels of a part: as many as have no more than most parts together. What is below
// them is among Others.
func (p *Part) Head(most int) *Part {
	head := *p
	for level := []*Part{&head}; len(level) > 0; {
		below := 0
		for _, part := range level {
			below += len(part.Parts)
		}
		most -= below
		var next []*Part
		for _, part := range level {
			var kept []*Part
			for _, child := range part.Parts {
				if most < 0 {
					part.Others++
					continue
				}
				copied := *child
				kept = append(kept, &copied)
			}
			part.Parts = kept
			next = append(next, kept...)
		}
		level = next
	}
	return &head
}

// Counter counts a tree. Invariant: the first of open is the root of the count, and each other one is a child of the
// one before it.
type Counter struct {
	total Sum // of the tree, as far as it is known before
	open  []*Part
	kept  int
}

// NewCounter returns a counter for a tree that holds about total.
func NewCounter(total Sum) *Counter { return &Counter{total: total} }

// Depth is the number of znodes that were entered and not left.
func (c *Counter) Depth() int { return len(c.open) }

// Name returns the name of the i-th of them.
func (c *Counter) Name(i int) string { return c.open[i].Name }

// Enter begins a znode below the one that was entered last.
func (c *Counter) Enter(name string, own Sum) { c.open = append(c.open, &Part{Name: name, Sum: own}) }

// Leaf is Enter and Leave of a znode without children.
func (c *Counter) Leaf(name []byte, own Sum) {
	parent := c.open[len(c.open)-1]
	parent.add(&own)
	if !c.isWorth(&own) {
		parent.Others++
		return
	}
	c.keep(parent, &Part{Name: string(name), Sum: own})
}

// Leave ends the znode that was entered last. It returns the root when that ends.
func (c *Counter) Leave() (root *Part) {
	last := len(c.open) - 1
	p := c.open[last]
	if c.open = c.open[:last]; last == 0 {
		return p
	}
	parent := c.open[last-1]
	parent.add(&p.Sum)
	if !c.isWorth(&p.Sum) {
		c.drop(parent, p)
	} else {
		c.keep(parent, p)
	}
	return nil
}

func (c *Counter) isWorth(s *Sum) bool {
	return len(c.open) <= depthMax && (s.Bytes > c.total.Bytes/shareMin || s.Znodes > c.total.Znodes/shareMin ||
		s.Writes > 0.01)
}

// keep adds a part to its parent, in the place of the smallest if there are too many.
func (c *Counter) keep(parent, p *Part) {
	if c.kept >= keptMax {
		c.drop(parent, p)
		return
	}
	c.kept++
	if parent.Parts = append(parent.Parts, p); len(parent.Parts) <= partsMax {
		return
	}
	least := 0
	for i, other := range parent.Parts {
		if c.compare(&other.Sum, &parent.Parts[least].Sum) < 0 {
			least = i
		}
	}
	dropped := parent.Parts[least]
	parent.Parts = slices.Delete(parent.Parts, least, least+1)
	c.kept--
	c.drop(parent, dropped)
}

// drop forgets a part of which parent has the sum.
func (c *Counter) drop(parent, p *Part) {
	parent.Others++
	c.kept -= p.count()
}

// count is the number of parts below p.
func (p *Part) count() (n int) {
	for _, part := range p.Parts {
		n += 1 + part.count()
	}
	return n
}

// compare orders parts by their greatest share of the tree.
func (c *Counter) compare(a, b *Sum) int {
	share := func(s *Sum) float64 {
		return max(float64(s.Bytes)/float64(max(c.total.Bytes, 1)), float64(s.Znodes)/float64(max(c.total.Znodes, 1)),
			s.Writes/1000)
	}
	return cmp.Compare(share(a), share(b))
}
