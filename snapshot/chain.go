package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// ErrUnlinked is returned when a log does not lead from one snapshot to a newer one: txns between them are
// missing.
var ErrUnlinked = errors.New("snapshot: the log does not lead to it")

// Chain checks that a log continues a snapshot that is not the newest of its directory, because the newer ones
// are damaged. It is for one goroutine.
//
// A server logs a txn before it takes a snapshot that is named for it. So a server that starts from an older
// snapshot meets the txn of every newer snapshot in the log. There is one exception, the reason for this check: a
// snapshot that a leader has sent stands for txns that this server has never logged, and the log begins anew
// after it. If an epoch begins there as well, the zxids alone do not show that txns are missing between the older
// snapshot and the log. Source: storage 6.3 and 10.
type Chain struct {
	from proto.Zxid
	rest []link // the snapshots that the log has not reached yet, oldest first
}

// link is a snapshot that a log has to lead to.
type link struct {
	zxid     proto.Zxid
	name     string
	misnamed bool
}

// NewChain returns a Chain over the snapshots in dir, damaged or not, that are newer than from. If upTo is not 0,
// snapshots above it do not count.
func NewChain(fs vfs.FS, dir string, from, upTo proto.Zxid) (*Chain, error) {
	names, err := vfs.Files(fs, dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return ChainOver(names, from, upTo), nil
}

// ChainOver is NewChain over the named snapshots.
func ChainOver(names []string, from, upTo proto.Zxid) *Chain {
	c := &Chain{from: from}
	for _, name := range names {
		if zxid, _, ok := ParseName(name); ok && zxid > from && (upTo == 0 || zxid <= upTo) {
			c.rest = append(c.rest, link{zxid: zxid, name: name})
		}
	}
	slices.SortFunc(c.rest, func(a, b link) int { return cmp.Compare(a.zxid, b.zxid) })
	return c
}

// Misnamed adds a file that has the name of a snapshot and is another one. If somebody renamed it, its name may lie
// beyond the log. But if the log goes on behind the name, it must hold that txn: the file may stand in the place of
// the snapshot that was there. It is called before Logged.
func (c *Chain) Misnamed(zxid proto.Zxid, name string) {
	if zxid <= c.from || zxid.Counter() == 0 { // ZooKeeper has snapshots at the start of an epoch
		return
	}
	c.rest = append(c.rest, link{zxid: zxid, name: name, misnamed: true})
	slices.SortStableFunc(c.rest, func(a, b link) int { return cmp.Compare(a.zxid, b.zxid) })
}

// Logged notes that the log holds the txn z. It is called for the txns in their order. If z comes after a
// snapshot whose own txn was not logged, it returns the error of Err.
func (c *Chain) Logged(z proto.Zxid) error {
	for len(c.rest) > 0 && c.rest[0].zxid == z {
		c.rest = c.rest[1:]
	}
	if len(c.rest) > 0 && c.rest[0].zxid < z {
		return c.unlinked(c.rest[0])
	}
	return nil
}

// Err is called at the end of the log. It returns ErrUnlinked with the name of the first snapshot whose txn is
// not in the log, and nil if there is none.
func (c *Chain) Err() error {
	for _, l := range c.rest {
		if !l.misnamed {
			return c.unlinked(l)
		}
	}
	return nil
}

func (c *Chain) unlinked(l link) error {
	return fmt.Errorf("%w: no txn %v in the log after snapshot %v, but there is %s", ErrUnlinked, l.zxid, c.from,
		l.name)
}
