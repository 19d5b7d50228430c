package facts

import (
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Directories is the answer of dirs, in bytes.
type Directories struct {
	Data int64 `json:"datadir_size"`
	Log  int64 `json:"logdir_size"`
}

// LastSnapshot is the answer of last_snapshot: the zxid in hex digits, and the time in s since 1970. Without
// a snapshot it is noSnapshot.
type LastSnapshot struct {
	Zxid      string `json:"zxid"`
	Timestamp int64  `json:"timestamp"`
}

// noSnapshot is the answer of last_snapshot before the first snapshot.
var noSnapshot = LastSnapshot{Zxid: "ffffffffffffffff", Timestamp: -1}

// Digest is the digest of the tree at a zxid.
type Digest struct {
	Zxid    int64 `json:"zxid"`
	Digest  int64 `json:"digest"`
	Version int32 `json:"digest_version"`
}

// Directories returns the bytes of all files in the directory of snapshots and in that of the log.
func (f *Facts) Directories() Directories {
	d := Directories{Data: f.dirSize(f.SnapDir())}
	if d.Log = d.Data; f.LogDir() != f.SnapDir() {
		d.Log = f.dirSize(f.LogDir())
	}
	return d
}

func (f *Facts) dirSize(dir string) (n int64) {
	names, err := f.FS.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := f.FS.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			n += info.Size()
		}
	}
	return n
}

// LastSnapshot returns the newest snapshot.
func (f *Facts) LastSnapshot() LastSnapshot {
	last := noSnapshot
	if all, err := f.disk.Snaps.List(); err == nil && len(all) > 0 {
		last.Zxid = strconv.FormatUint(uint64(all[0].Zxid), 16)
		if at := f.LastSnapshotAt(); !at.IsZero() {
			last.Timestamp = at.Unix()
		}
	}
	return last
}

// LastSnapshotAt is when the newest snapshot was written, by its file; zero if that is not known.
func (f *Facts) LastSnapshotAt() time.Time {
	all, err := f.disk.Snaps.List()
	if err != nil || len(all) == 0 {
		return time.Time{}
	}
	info, err := f.FS.Stat(filepath.Join(f.SnapDir(), all[0].Name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Digests returns the kept digests of the tree, oldest first.
func (f *Facts) Digests() (all []Digest) {
	for _, d := range f.Env.Digests.List() {
		all = append(all, Digest{Zxid: int64(d.Zxid), Digest: d.Digest, Version: proto.DigestVersion})
	}
	return all
}

// DiskFree is the free space of the disk with the least.
func (f *Facts) DiskFree() int64 {
	least := int64(0)
	for i, d := range f.Guard.Disks() {
		if i == 0 || d.Free < least {
			least = d.Free
		}
	}
	return least
}
