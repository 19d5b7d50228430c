package server

import (
	"sync"

	"github.com/seed94657493/warren/proto"
)

// Every digestEvery-th zxid the digest of the tree is retained, digestsMax of them, so that the servers of an ensemble
// can be compared at the same zxid. Source: operations section 2.3, word hash.
const (
	digestEvery = 128
	digestsMax  = 1024
)

// digestLog is the retained digests, the oldest first.
type digestLog struct {
	mu  sync.Mutex
	all []treeDigest
}

type treeDigest struct {
	zxid   proto.Zxid
	digest int64
}

// note retains the digest of the tree after the txn at zxid, if it is that one's turn.
func (d *digestLog) note(zxid proto.Zxid, digest int64) {
	if zxid%digestEvery != 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == digestsMax {
		d.all = append(d.all[:0], d.all[1:]...)
	}
	d.all = append(d.all, treeDigest{zxid, digest})
}

// list is a copy of what is retained.
func (d *digestLog) list() []treeDigest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]treeDigest(nil), d.all...)
}

// reset forgets all: the state was replaced.
func (d *digestLog) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = d.all[:0]
}
