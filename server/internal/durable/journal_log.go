package durable

import (
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// draw picks the points at which the next snapshot is due, at random in the upper half of the
// limits, so that the servers of an ensemble do not all write snapshots at once.
func (j *Journal) draw() {
	half := max(j.srv.Config.SnapCount/2, 1)
	rng := rand.New(rand.NewPCG(j.srv.Runtime.Uint64(), 0))
	j.snapTxns = half + rng.IntN(half)
	j.snapBytes = 0
	if kb := j.srv.Config.SnapSizeLimitKB; kb > 0 {
		half := max(kb<<10/2, 1)
		j.snapBytes = half + rng.Int64N(half)
	}
}

// persist makes the batch durable. It returns false if the server stops before a full disk had
// room: then nothing of the batch was promised to anybody. Any other failure ends the process: what
// is on the disk is unknown (guarantee 9).
func (j *Journal) persist(b *framedBatch) bool {
	j.srv.LogStalled.Store(j.srv.Clock.Now())
	defer j.srv.LogStalled.Store(0)
	for waited := false; ; waited = true {
		err := j.log.Append(b.framed, b.first, b.last)
		if err == nil {
			break
		}
		if !errors.Is(err, vfs.ErrNoSpace) {
			j.srv.Fatal("appending to the log", err)
			return false
		}
		if !waited {
			j.srv.Log.Error("disk is full: writes wait until there is room", zap.Error(err), zap.Stringer("zxid", b.first))
		}
		if j.srv.Weak(weakness.FullDiskForgets) {
			return true
		}
		j.srv.Guard.MarkFull()
		if j.srv.Stopping.WaitFor(env.RetryAfter) {
			return false
		}
	}
	if j.srv.Config.ForceSync && !j.srv.Weak(weakness.SyncedBeforeFdatasync) {
		if err := j.log.Sync(); err != nil {
			j.srv.Fatal("syncing the log", err)
			return false
		}
	}
	j.srv.Guard.Wrote(len(b.framed))
	j.txns += b.txns
	j.count(b)
	if j.snapshotDue() {
		j.rollOver(b.last)
	} else if limit := j.srv.Config.TxnLogSizeLimitKB << 10; limit > 0 && j.log.Size() > limit {
		j.nextFile(b.last)
	}
	return true
}

// Bounds of how often snapshots are written when txns come fast or the tree is large. To replay
// what is logged meanwhile takes far less time than to log it or to write a snapshot.
const (
	// snapshotPause is the least time between two snapshots: their syncs hold up those of the log.
	snapshotPause = 3 * time.Second
	// snapshotShare is how much log there must be for a snapshot, as a share of the snapshot's
	// size: a tree of gigabytes is not written anew for every few megabytes of txns.
	snapshotShare = 1.0 / 16
	// snapshotBacklog bounds the replay: after so many times snapCount neither counts any more.
	snapshotBacklog = 20
)

// snapshotDue reports whether the log has grown enough, in txns or bytes, to begin a new file and
// a snapshot.
func (j *Journal) snapshotDue() bool {
	size := j.before + j.log.Size()
	switch {
	case j.snapBytes > 0 && size > j.snapBytes, j.txns > snapshotBacklog*j.snapTxns:
		return true
	case j.txns <= j.snapTxns:
		return false
	}
	return j.srv.Clock.Now()-j.rolled >= int64(snapshotPause) &&
		float64(size) >= snapshotShare*float64(j.srv.Snapshotter.Size.Load())
}

// rollOver begins a new log file and asks for a snapshot.
func (j *Journal) rollOver(last proto.Zxid) {
	if !j.roll(last) {
		return
	}
	j.txns, j.before, j.rolled = 0, 0, j.srv.Clock.Now()
	j.draw()
	j.srv.Snapshotter.Request()
}

// nextFile begins a new log file because this one is full: txnLogSizeLimitInKb. Source: storage 4.3.
func (j *Journal) nextFile(last proto.Zxid) {
	size := j.log.Size()
	if j.roll(last) {
		j.before += size
	}
}

// roll begins a new log file, and reports false if the present one goes on.
func (j *Journal) roll(last proto.Zxid) bool {
	if err := j.log.Roll(); err != nil {
		if !errors.Is(err, vfs.ErrNoSpace) {
			j.srv.Fatal("rolling the log", err)
		}
		return false
	}
	j.srv.Log.Debug("rolled the log", zap.Stringer("zxid", last))
	return true
}

// count accounts for a batch that is durable.
func (j *Journal) count(b *framedBatch) {
	s := j.srv
	s.Metrics.WalTxns.Add(float64(b.txns))
	if begun := s.LogStalled.Load(); begun != 0 {
		s.Stats.FlushTime.Observe(figures.Ms(s.Clock.Now() - begun))
	}
	if b.txns > 0 && j.owner.Acknowledges() {
		s.Metrics.Quorum.ProposalAck.Observe(max(s.Clock.WallMs()-flow.TxnTime(b.framed[recordPrefix:]), 0))
	}
}

// recordPrefix is how many bytes of a framed record precede its payload.
var recordPrefix = len(wal.BeginRecord(nil))

// logEvents counts what the log does.
type logEvents struct{ *env.Env }

// Appended implements wal.Events.
func (l logEvents) Appended(bytes int) { l.Metrics.WalBytes.Add(float64(bytes)) }

// Synced implements wal.Events.
func (l logEvents) Synced(took time.Duration, _ int64) {
	l.Metrics.WalSync.Observe(took.Seconds())
	l.Stats.FsyncTime.Observe(took.Milliseconds())
	if limit := l.Config.FsyncWarningThreshold; limit > 0 && took > limit {
		l.Metrics.SlowSyncs.Inc()
		l.Log.Warn("syncing the log was slow: every write waits for it", zap.Duration("took", took))
	}
}

// walOptions says where the log is and what hears of what it does.
func (s *Disk) walOptions() wal.Options {
	return wal.Options{FS: s.FS, Dir: s.LogDir(), PreallocSize: s.Config.PreAllocSizeKB << 10, Logger: s.Log, Events: logEvents{s.Env}}
}
