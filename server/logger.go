package server

import (
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// logger makes txns durable: one write and one sync for each batch, while the node prepares the
// next and the applier applies the one before. It owns the tail of the log.
type logger struct {
	srv *Server
	log *wal.Log
	in  <-chan *logBatch
	out chan *logBatch // to the applier

	failed bool // a batch could not be made durable

	// Since the last roll: how many txns, and the points at which the next snapshot is due.
	// Source: storage section 4.5.
	txns      int
	snapTxns  int
	snapBytes int64
	rolled    int64 // when, ns on the server's clock
	before    int64 // bytes in files that were full before a snapshot was due
}

// inApplier is how many durable batches may wait for the applier.
const inApplier = 8

// retryAfter is how long the logger waits before it tries again to write to a full disk.
const retryAfter = 100 * time.Millisecond

func newLogger(srv *Server, log *wal.Log, in <-chan *logBatch, replayed int) *logger {
	l := &logger{srv: srv, log: log, in: in, out: make(chan *logBatch, inApplier), txns: replayed, rolled: srv.clock.now()}
	l.draw()
	return l
}

// draw picks the points at which the next snapshot is due, at random in the upper half of the
// limits, so that the servers of an ensemble do not all write snapshots at once.
func (l *logger) draw() {
	half := max(l.srv.cfg.SnapCount/2, 1)
	l.snapTxns = half + rand.IntN(half)
	l.snapBytes = 0
	if kb := l.srv.cfg.SnapSizeLimitKB; kb > 0 {
		half := max(kb<<10/2, 1)
		l.snapBytes = half + rand.Int64N(half)
	}
}

// run is the logger goroutine. It ends when in is closed, and then closes out.
func (l *logger) run() {
	defer close(l.out)
	for b := range l.in {
		if !l.failed && (b.txns == 0 || l.persist(b)) {
			l.out <- b
			continue
		}
		// Nothing may be acknowledged any more: what still comes is dropped.
		l.failed = true
		if b.passed != nil {
			close(b.passed)
		}
	}
}

// persist makes the batch durable. It returns false if the server stops before a full disk had
// room: then nothing of the batch was promised to anybody. Any other failure ends the process: what
// is on the disk is unknown (design guarantee 9).
func (l *logger) persist(b *logBatch) bool {
	l.srv.logStalled.Store(l.srv.clock.now())
	defer l.srv.logStalled.Store(0)
	for waited := false; ; waited = true {
		err := l.log.Append(b.framed, b.first, b.last)
		if err == nil {
			break
		}
		if !errors.Is(err, vfs.ErrNoSpace) {
			l.srv.fatal("appending to the log", err)
			return false
		}
		if !waited {
			l.srv.log.Error("disk is full: writes wait until there is room", zap.Error(err), zap.Stringer("zxid", b.first))
		}
		l.srv.guard.markFull()
		select {
		case <-l.srv.stopping:
			return false
		case <-time.After(retryAfter):
		}
	}
	if l.srv.cfg.ForceSync {
		if err := l.log.Sync(); err != nil {
			l.srv.fatal("syncing the log", err)
			return false
		}
	}
	l.srv.guard.wrote(len(b.framed))
	l.txns += b.txns
	l.srv.metrics.batch(b)
	if l.snapshotDue() {
		l.rollOver(b.last)
	} else if limit := l.srv.cfg.TxnLogSizeLimitKB << 10; limit > 0 && l.log.Size() > limit {
		l.nextFile(b.last)
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
func (l *logger) snapshotDue() bool {
	size := l.before + l.log.Size()
	switch {
	case l.snapBytes > 0 && size > l.snapBytes, l.txns > snapshotBacklog*l.snapTxns:
		return true
	case l.txns <= l.snapTxns:
		return false
	}
	return l.srv.clock.now()-l.rolled >= int64(snapshotPause) &&
		float64(size) >= snapshotShare*float64(l.srv.snapshotter.size.Load())
}

// rollOver begins a new log file and asks for a snapshot.
func (l *logger) rollOver(last proto.Zxid) {
	if !l.roll(last) {
		return
	}
	l.txns, l.before, l.rolled = 0, 0, l.srv.clock.now()
	l.draw()
	l.srv.snapshotter.request()
}

// nextFile begins a new log file because this one is full: txnLogSizeLimitInKb. Source: storage section 4.3.
func (l *logger) nextFile(last proto.Zxid) {
	size := l.log.Size()
	if l.roll(last) {
		l.before += size
	}
}

// roll begins a new log file, and reports false if the present one goes on.
func (l *logger) roll(last proto.Zxid) bool {
	if err := l.log.Roll(); err != nil {
		if !errors.Is(err, vfs.ErrNoSpace) {
			l.srv.fatal("rolling the log", err)
		}
		return false
	}
	l.srv.log.Debug("rolled the log", zap.Stringer("zxid", last))
	return true
}
