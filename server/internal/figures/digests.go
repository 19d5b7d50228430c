package figures

import (
	"sync"

	"github.com/seed94657493/warren/proto"
)

const (
	digestEvery = 128  // zxids from one that is kept to the next
	digestsMax  = 1024 // how many are kept
)

// Digests keeps the digest of the tree at every digestEvery-th zxid, so that the servers of an ensemble can be
// compared at the same zxid. Source: operations 2.3, word hash.
type Digests struct {
	mu  sync.Mutex
	all []Digest // the oldest first
}

// Digest is the digest of the tree after the txn at a zxid.
type Digest struct {
	Zxid   proto.Zxid
	Digest int64
}

// Note keeps the digest of the tree after the txn at zxid, if zxid is one at which digests are kept.
func (d *Digests) Note(zxid proto.Zxid, digest int64) {
	if zxid%digestEvery != 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == digestsMax {
		d.all = append(d.all[:0], d.all[1:]...)
	}
	d.all = append(d.all, Digest{zxid, digest})
}

// List returns a copy of the kept digests, oldest first.
func (d *Digests) List() []Digest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Digest(nil), d.all...)
}

// Reset forgets all. It is called when another tree takes the place of this one.
func (d *Digests) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = d.all[:0]
}
