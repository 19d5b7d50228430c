package host

import (
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/zab"
)

// history answers the core's questions about the log. Source: zab.History.
type history struct {
	disk *durable.Disk
	view *atomic.Pointer[RoleView]
}

func (q history) Locate(z proto.Zxid) (at, next proto.Zxid, ok bool) {
	disk := q.disk
	p, ok, err := disk.WAL.Locate(z)
	if err != nil {
		disk.Log.Warn("cannot look up a txn in the log", zap.Stringer("zxid", z), zap.Error(err))
	}
	if err != nil || !ok {
		return 0, 0, false
	}
	v := q.view.Load()
	if v.State != zab.Leading && !v.Serving {
		// This server asks for itself, to cut its log. A newer snapshot would go, and whether an older one is whole is
		// not known before it is read.
		snaps, err := disk.Snaps.List()
		return p.At, p.Next, err == nil && len(snaps) > 0 && snaps[0].Zxid <= p.At
	}
	if disk.Config.SnapshotSizeFactor < 0 {
		return 0, 0, false
	}
	size := max(disk.Snapshotter.Size.Load(), ReplayLeast)
	if float64(p.Rest) > disk.Config.SnapshotSizeFactor*float64(size) {
		return 0, 0, false
	}
	return p.At, p.Next, true
}

func (q history) Sums(z proto.Zxid) (zab.Sums, bool) {
	p, ok, err := q.disk.WAL.Locate(z)
	if err != nil {
		q.disk.Log.Warn("cannot look up a txn in the log", zap.Stringer("zxid", z), zap.Error(err))
	}
	if err != nil || !ok || p.At != z {
		return zab.Sums{}, false
	}
	return sumsOf(p.Txn), true
}

// sumsOf returns the checksums by which servers compare their txns.
func sumsOf(txn []byte) zab.Sums { return zab.SumsOf(txn, len(datatree.WithoutDigest(txn))) }

// ReplayLeast is a size in bytes. When a DIFF from the log is compared with a snapshot, a smaller snapshot counts
// as this large.
const ReplayLeast = 64 << 20

// History answers questions about the log of this server.
func (h *Host) History() zab.History { return history{h.Disk, &h.View} }
