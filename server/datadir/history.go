package datadir

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// epochMax is the first epoch that a history cannot begin in: epochs have 31 bits, and a leader needs the next one.
const epochMax = 0x7ffffffe

// ErrEpoch means that there is no epoch above those that are known.
var ErrEpoch = errors.New("no epoch is left for a history that begins anew")

// Origin is the state with which a history begins anew: the last txn that is in it, and the digest of the tree there.
type Origin struct {
	Ensemble uint64 // identity of the ensemble that it comes from, 0 if it is not known
	Last     proto.Zxid
	Digest   int64
}

// History is a history that begins anew. Those of the same origin and epoch are equal, so that servers that are
// restored one by one have the same; those of the same origin and different epochs belong to one ensemble.
type History struct {
	Epoch    int64
	First    proto.Zxid // its first txn
	Ensemble uint64     // the identity of the ensemble from now on
	Lineage  string     // as meta.Store keeps it
}

// After returns the history of origin that begins in the epoch after known. It returns ErrEpoch if there is none.
func After(known int64, origin Origin) (History, error) {
	epoch := known + 1
	if known < 0 || epoch <= origin.Last.Epoch() || epoch >= epochMax {
		return History{}, fmt.Errorf("%w: after %d", ErrEpoch, known)
	}
	b := binary.BigEndian.AppendUint64([]byte("warren history\n"), origin.Ensemble)
	b = binary.BigEndian.AppendUint64(b, uint64(origin.Last))
	b = binary.BigEndian.AppendUint64(b, uint64(origin.Digest))
	h := History{Epoch: epoch, First: proto.MakeZxid(epoch, 1), Ensemble: number(b)}
	mark := number(binary.BigEndian.AppendUint64(b, uint64(epoch)))
	lineage := zab.Lineage{Ensemble: h.Ensemble, Final: true,
		Reigns: []zab.Reign{{Epoch: epoch, Leader: -1, Mark: mark, Base: origin.Last, Gap: true}}}
	h.Lineage = string(lineage.AppendTo(nil))
	return h, nil
}

// number is a number that stands for b. It is neither 0 nor -1, which mean that there is none.
func number(b []byte) uint64 {
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])>>1 | 1
}

// Write writes meta.db and the epoch files into a folder that has none, durably.
func (h History) Write(fsys vfs.FS, folder string) error {
	return meta.Begin(fsys, folder, h.Epoch, h.Lineage)
}

// Epoch returns the highest epoch that the folders of a server know: the promises in meta.db and the epoch files, the
// names of snapshots and logs, and the txns of the last log. The same is looked for in folders beside them that were
// set aside. What is damaged says nothing; other errors are returned.
func Epoch(fsys vfs.FS, folders ...string) (highest int64, err error) {
	for _, folder := range folders {
		dir := filepath.Dir(filepath.Clean(folder))
		names, err := fsys.List(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			own := filepath.Base(filepath.Clean(folder))
			if name != own && !strings.HasPrefix(name, own+".") || name == filepath.Base(building(folder)) {
				continue
			}
			e, err := epochIn(fsys, filepath.Join(dir, name))
			if err != nil {
				return 0, err
			}
			highest = max(highest, e)
		}
	}
	return highest, nil
}

// Promised returns the higher of the two epochs that a server keeps in a folder, of meta.db and of the epoch files.
// The server may be running. What is damaged says nothing.
func Promised(fsys vfs.FS, folder string) (int64, error) {
	facts, err := meta.Peek(fsys, folder)
	if errors.Is(err, meta.ErrDamaged) || errors.Is(err, meta.ErrEpoch) {
		err = nil
	}
	return max(facts.Epochs.Accepted, facts.Epochs.Current), err
}

// epochIn is Epoch of one folder.
func epochIn(fsys vfs.FS, folder string) (int64, error) {
	if info, err := fsys.Stat(folder); err != nil || !info.IsDir() {
		return 0, err
	}
	promised, err := Promised(fsys, folder)
	if err != nil {
		return 0, err
	}
	last := proto.MakeZxid(promised, 0)
	names, err := fsys.List(folder)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if zxid, _, ok := snapshot.ParseName(name); ok {
			last = max(last, zxid)
		}
	}
	logs, err := wal.Names(fsys, folder)
	if err != nil || len(logs) == 0 {
		return last.Epoch(), err
	}
	newest := logs[len(logs)-1]
	if zxid, _, ok := wal.FileZxid(newest); ok {
		last = max(last, zxid)
	}
	_, err = wal.Scan(fsys, filepath.Join(folder, newest), func(r *wal.Record) error {
		last = max(last, r.Zxid)
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		return 0, err
	}
	return last.Epoch(), nil
}
