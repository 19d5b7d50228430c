package system

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// A state may hold txns that no server has applied but at its start, and travel to servers whose logs do not hold
// them, while the log that they came from is lost. So the logs are read at each start, and before a log is
// removed or a disk lost.

// logged is a txn that a log has held at the start of its server, or before it was removed.
type logged struct {
	payload []byte
	prev    proto.Zxid // the txn before it: two histories with the same txn are the same up to it
}

// harvest notes what the log of a server holds. A log may begin behind a snapshot that the server has received.
func (w *world) harvest(n *node) {
	prev := proto.Zxid(0)
	n.logged(func(r *wal.Record) {
		if prev == 0 {
			prev = n.newestSnapshot(r.Zxid - 1)
		}
		if w.logs[r.Zxid] == nil && prev != 0 {
			w.logs[r.Zxid] = &logged{bytes.Clone(r.Payload), prev}
		}
		prev = r.Zxid
	})
}

// newestSnapshot returns the newest snapshot of a server that is not above a zxid; 0 if there is none.
func (n *node) newestSnapshot(upTo proto.Zxid) (newest proto.Zxid) {
	names, _ := n.disk.mem.List(filepath.Join(dataDir, "version-2"))
	for _, name := range names {
		hex, is := strings.CutPrefix(name, "snapshot.")
		if z, err := strconv.ParseInt(hex, 16, 64); is && err == nil && proto.Zxid(z) <= upTo {
			newest = max(newest, proto.Zxid(z))
		}
	}
	return newest
}

// adopt adds the txns up to one that is committed that no server has applied but at its start: those in the log of a
// server, and those in the state that the log continues.
func (w *world) adopt(n *node, upTo proto.Zxid) {
	if n.disk.spoilt != "" { // what it has may be of no history
		return
	}
	first := proto.Zxid(0) // of the log
	n.logged(func(r *wal.Record) {
		if first == 0 {
			first = r.Zxid
		}
		if r.Zxid <= upTo && w.history[r.Zxid] == nil {
			w.take(n, r.Zxid, r.Payload)
		}
	})
	z := n.newestSnapshot(upTo)
	if first != 0 && first <= z { // the log leads to the snapshot, and continues an older state
		if z = n.newestSnapshot(first - 1); w.logs[first] != nil {
			z = w.logs[first].prev
		}
	}
	w.trace(n, z)
}

// trace adds the txns that lead to one which is committed, as far as logs are known. What is missing may be in a log
// that is still in use: see adoptLate.
func (w *world) trace(n *node, z proto.Zxid) {
	for ; w.history[z] == nil && w.logs[z] != nil; z = w.logs[z].prev {
		w.take(n, z, w.logs[z].payload)
	}
	if w.history[z] == nil && z != 0 {
		w.untraced[z] = n
	}
}

// adoptLate adds what adopt has not found, when the logs have been read that were in use then.
func (w *world) adoptLate() {
	for _, n := range w.nodes {
		if n.disk.spoilt == "" {
			w.harvest(n)
		}
	}
	for _, z := range slices.Sorted(maps.Keys(w.untraced)) {
		w.trace(w.untraced[z], z)
	}
}

// take adds a txn to the history.
func (w *world) take(n *node, z proto.Zxid, payload []byte) {
	w.history[z] = &txn{zxid: z, payload: bytes.Clone(payload), at: w.s.now, by: n.id}
	w.noteMembers(w.history[z])
}
