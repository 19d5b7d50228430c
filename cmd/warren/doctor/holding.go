package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Holding is what a data directory holds, for an operator with several of them.
type Holding struct {
	*server.Provenance
	DataDir   string
	Snapshots int
	Logs      int
	Last      proto.Zxid // txn with which the log ends, or that of the newest snapshot, which was not verified
	At        time.Time  // of that txn, by its leader's clock, or when the snapshot was written; zero without data
}

// ReadHolding looks at the data directories of a server, which may be running. It changes nothing.
func ReadHolding(fsys vfs.FS, dataDir, logDir string) (h *Holding, err error) {
	h = &Holding{DataDir: dataDir}
	newest, err := h.readSnapshots(fsys, filepath.Join(dataDir, datadir.Folder))
	if err != nil {
		return nil, err
	}
	if h.Provenance, err = server.ReadProvenance(fsys, dataDir, newest); err != nil {
		return nil, err
	}
	return h, h.readLog(fsys, filepath.Join(logDir, datadir.Folder))
}

// readSnapshots returns the path of the newest file that begins as a snapshot, "" if there is none.
func (h *Holding) readSnapshots(fsys vfs.FS, dir string) (newest string, err error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, name := range names {
		zxid, _, ok := snapshot.ParseName(name)
		if !ok {
			continue
		}
		h.Snapshots++
		path := filepath.Join(dir, name)
		if begins, err := snapshot.Begins(fsys, path); err == nil && !begins {
			continue // what a kill has left of one
		}
		if info, err := fsys.Stat(path); err == nil && (zxid > h.Last || newest == "") {
			h.Last, h.At, newest = zxid, info.ModTime(), path
		}
	}
	return newest, err
}

// readLog finds the last record that can be read. What is wrong with the log is the affair of Directory.
func (h *Holding) readLog(fsys vfs.FS, dir string) error {
	names, err := wal.Names(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	h.Logs = len(names)
	for i := len(names) - 1; i >= 0; i-- {
		found := false
		_, _ = wal.Scan(fsys, filepath.Join(dir, names[i]), func(r *wal.Record) error {
			found = true
			if r.Zxid < h.Last {
				return nil
			}
			var header proto.TxnHeader
			_ = header.ReadFrom(r.Payload) // the zxid is from there, too
			h.Last, h.At = r.Zxid, time.UnixMilli(header.Time)
			return nil
		})
		if found {
			break
		}
	}
	return err
}

// Empty reports whether there is no data.
func (h *Holding) Empty() bool { return h.Snapshots == 0 && h.Logs == 0 }

// String is one line for operators.
func (h *Holding) String() string {
	var parts []string
	if h.ServerID >= 0 {
		parts = append(parts, fmt.Sprintf("server %d", h.ServerID))
	}
	parts = append(parts, h.History(), fmt.Sprintf("acceptedEpoch %d, currentEpoch %d", h.Accepted, h.Current))
	switch {
	case h.Empty():
		parts = append(parts, "no data")
	case h.At.IsZero():
		parts = append(parts, fmt.Sprintf("last txn %v", h.Last))
	default:
		parts = append(parts, fmt.Sprintf("last txn %v of %s", h.Last, h.At.UTC().Format(time.RFC3339)))
	}
	return strings.Join(parts, "; ")
}
