package durable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// Journal makes durable what the agreement asks for, in the order of the requests, and reports it. Writes that only
// append share one sync: all writes that were requested during the previous sync. The journal goroutine owns the
// tail of the log, and the epochs.
type Journal struct {
	srv    *Disk
	owner  Owner
	log    *wal.Log
	Jobs   *flow.Inbox[JournalJob]
	batch  framedBatch
	failed bool // a write could not be made durable: nothing may be reported any more
	// noted is a lineage that is stored when there is no other work, or at noteBy.
	noted  *zab.Lineage
	noteBy time.Time

	// txns is how many txns were logged since the last roll. snapTxns and snapBytes say when the next snapshot is
	// due. Source: storage 4.5.
	txns      int
	snapTxns  int
	snapBytes int64
	rolled    int64 // when the log was rolled last, ns on the server's clock
	before    int64 // bytes in files that became full before a snapshot was due
}

// JournalJob is one job: a write, a lineage to store, or a function to call.
type JournalJob struct {
	Write zab.Persist
	note  *zab.Lineage
	call  func()
}

// framedBatch holds txns in the form in which the log writes them.
type framedBatch struct {
	framed      []byte     // framed records
	first, last proto.Zxid // 0 if there are none
	txns        int
}

func (b *framedBatch) reset() {
	if cap(b.framed) > 4*MaxBatchBytes {
		b.framed = nil
	}
	b.framed, b.first, b.last, b.txns = b.framed[:0], 0, 0, 0
}

// MaxBatchBytes is how many bytes of records one sync makes durable at most. The last record may exceed it.
const MaxBatchBytes = 4 << 20

// noteDelay is how long a noted lineage may wait while the journal has other work.
const noteDelay = time.Second

// Owner is the host, as the journal knows it. The journal goroutine calls the methods.
type Owner interface {
	// Persisted reports that the writes up to seq are durable.
	Persisted(seq zab.Seq)
	// Written reports that writes of so many bytes, which were counted when they were submitted, are finished.
	Written(bytes int64)
	// Acknowledges reports whether writes of this server are acknowledged to a leader, or counted by this server as
	// the leader.
	Acknowledges() bool
	// ArrivedState returns the state that a leader has sent on a link; nil if it is not available any more.
	ArrivedState(link zab.LinkID) *Loading
	// Installed reports that the state of a link is the database now.
	Installed(link zab.LinkID, state *datatree.State)
	// Swap replaces the state that is served.
	Swap(state *datatree.State)
	// JournalEnds reports that the journal has ended.
	JournalEnds()
}

// Loading is a state that a leader has sent, until it is installed.
type Loading struct {
	State   *datatree.State
	Began   time.Time
	applied int // how many txns were applied on top of it
}

func NewJournal(d *Disk, o Owner) *Journal {
	j := &Journal{srv: d, owner: o, log: d.WAL, Jobs: flow.NewInbox[JournalJob](d.Runtime.Parker()),
		txns: d.replayed, rolled: d.Clock.Now()}
	j.draw()
	return j
}

// Submit queues writes and wakes the journal once. The slice is copied; the txns never change.
func (j *Journal) Submit(writes []zab.Persist) {
	for i := range writes {
		j.Jobs.Add(JournalJob{Write: writes[i]})
	}
	j.Jobs.Signal()
}

// Note queues a lineage behind the writes that were submitted before.
func (j *Journal) Note(l *zab.Lineage) { j.Jobs.Put(JournalJob{note: l}) }

// Call runs fn in the journal goroutine, behind the writes that were submitted before.
func (j *Journal) Call(fn func()) { j.Jobs.Put(JournalJob{call: fn}) }

// keepNote stores the lineage that was noted last, if it is time for it. No promise depends on it.
func (j *Journal) keepNote(now bool) {
	if j.noted == nil || j.failed || !now && !j.Jobs.Empty() && j.srv.Clock.Steady().Before(j.noteBy) {
		return
	}
	j.failed = !j.waiting("writing the lineage", func() error { return j.srv.Meta.SetLineage(Encoded(j.noted)) })
	j.noted = nil
}

func BytesOf(txns []zab.Txn) (n int64) {
	for i := range txns {
		n += int64(len(txns[i].Payload))
	}
	return n
}

// Run is the journal goroutine. It ends when Jobs is closed and empty.
func (j *Journal) Run() {
	defer j.owner.JournalEnds()
	var jobs []JournalJob
	for {
		j.Jobs.Wait()
		var closed bool
		jobs, closed = j.Jobs.Take(jobs)
		j.Do(jobs)
		j.keepNote(closed)
		if closed {
			return
		}
	}
}

// Do does jobs in their order, and reports the writes.
func (j *Journal) Do(rest []JournalJob) {
	for len(rest) > 0 {
		switch job := &rest[0]; {
		case job.call != nil:
			job.call()
			rest = rest[1:]
			continue
		case job.note != nil:
			if j.noted == nil {
				j.noteBy = j.srv.Clock.Steady().Add(noteDelay)
			}
			j.noted = job.note
			rest = rest[1:]
			continue
		}
		n := appends(rest)
		done := false
		if n > 0 {
			done = j.Append(rest[:n])
		} else {
			n = 1
			done = j.write(&rest[0].Write)
		}
		for i := range rest[:n] {
			j.owner.Written(BytesOf(rest[i].Write.Append))
		}
		if done && !j.failed {
			j.owner.Persisted(rest[n-1].Write.Seq)
		} else {
			j.failed = true
		}
		rest = rest[n:]
	}
}

// appends is how many jobs at the front only append.
func appends(jobs []JournalJob) (n int) {
	for n < len(jobs) {
		p := &jobs[n].Write
		if jobs[n].call != nil || jobs[n].note != nil || p.Interim != nil || p.Truncate || p.Install != nil ||
			p.AcceptedEpoch >= 0 || p.CurrentEpoch >= 0 || p.Initialize || p.Ensemble != nil {
			break
		}
		n++
	}
	return n
}

// Append makes the txns of writes durable, with one sync unless they are very many.
func (j *Journal) Append(jobs []JournalJob) bool {
	if j.failed {
		return false
	}
	b := &j.batch
	flush := func() bool {
		ok := b.txns == 0 || j.persist(b)
		b.reset()
		return ok
	}
	for i := range jobs {
		for _, t := range jobs[i].Write.Append {
			if len(b.framed) >= MaxBatchBytes && !flush() {
				return false
			}
			b.framed = wal.AppendRecord(b.framed, t.Payload)
			if b.txns == 0 {
				b.first = t.Zxid
			}
			b.last = t.Zxid
			b.txns++
		}
	}
	return flush()
}

// write does one write. Its parts must reach the disk one after the other. Source: quorum-protocol 6.8 S2, S5.
func (j *Journal) write(p *zab.Persist) bool {
	if j.failed {
		return false
	}
	s := j.srv
	if p.Interim != nil {
		j.noted = nil // the history to which it belongs is about to be replaced
		if !j.waiting("writing the lineage", func() error { return s.Meta.SetLineage(Encoded(p.Interim)) }) {
			return false
		}
	}
	if p.Truncate && !j.waiting("truncating the log", func() error { return j.Truncate(p.Last) }) {
		return false
	}
	if p.Install != nil && !j.waiting("installing a snapshot", func() error { return j.install(p.Install) }) {
		return false
	}
	if len(p.Append) > 0 && !j.Append([]JournalJob{{Write: zab.Persist{Append: p.Append}}}) {
		return false
	}
	if p.AcceptedEpoch >= 0 && !j.waiting("writing acceptedEpoch",
		func() error { return s.Meta.SetAccepted(p.AcceptedEpoch) }) {
		return false
	}
	if p.CurrentEpoch > 0 && !j.waiting("writing the first snapshot", j.initialize) {
		return false // an epoch is adopted only with a database, which begins with a snapshot: see Disk.isUnfinished
	}
	if p.CurrentEpoch >= 0 {
		j.noted = nil // it belongs to an earlier epoch
	}
	if p.CurrentEpoch >= 0 && !j.waiting("writing currentEpoch",
		func() error { return s.Meta.SetCurrent(p.CurrentEpoch, Encoded(p.Lineage)) }) {
		return false
	}
	if p.Initialize && !(j.waiting("writing the first snapshot", j.initialize) &&
		j.waiting("noting that this server counts", func() error { return s.Meta.SetBlank(false) })) {
		return false
	}
	return p.Ensemble == nil || j.waiting("writing the configuration",
		func() error { return s.KeepConfiguration(p.Ensemble) })
}

// waiting runs fn again and again until the disk has room for it. Any other failure ends the process, because the
// content of the disk is unknown then.
func (j *Journal) waiting(what string, fn func() error) bool {
	return j.whileFull("disk is full: this server takes no part until there is room", what, fn)
}

// whileFull is waiting with a message of its own for a full disk.
func (j *Journal) whileFull(message, what string, fn func() error) bool {
	for waited := false; ; waited = true {
		err := fn()
		if err == nil {
			return true
		}
		if errors.Is(err, snapshot.ErrClosed) {
			return false // the server is stopping
		}
		if !errors.Is(err, vfs.ErrNoSpace) {
			j.srv.Fatal(what, err)
			return false
		}
		if !waited {
			j.srv.Log.Error(message, zap.String("doing", what), zap.Error(err))
		}
		j.srv.Guard.MarkFull()
		if j.srv.Stopping.WaitFor(env.RetryAfter) {
			return false
		}
	}
}

// Truncate removes the snapshots with txns after last, cuts the log after last, and loads the state again if it
// holds more. That state is rebuilt first: if no older snapshot leads to it, nothing is removed. A crash in between
// leaves an older snapshot with a longer log, which is a history that this server had before.
func (j *Journal) Truncate(last proto.Zxid) error {
	s := j.srv
	s.Log.Info("truncating the log", zap.Stringer("from", s.WAL.LastZxid()), zap.Stringer("to", last))
	if err := j.initialize(); err != nil {
		return err
	}
	s.Store.Mu.RLock()
	ahead := s.Store.State.LastZxid() > last
	s.Store.Mu.RUnlock()
	var state *datatree.State
	if ahead {
		if err := s.WAL.Sync(); err != nil {
			return err
		}
		var err error
		if state, err = s.stateAt(last); err != nil {
			return err
		}
	}
	if err := s.Snaps.RemoveAbove(last); err != nil {
		return err
	}
	if err := s.WAL.Truncate(last); err != nil {
		return err
	}
	if state != nil {
		j.owner.Swap(state)
	}
	return nil
}

// install makes a received state the database. Source: zab.Install.
//
// A crash before the old log is removed leaves the old history. If the old log ends below the new snapshot, the
// crash leaves the new history, and recovery removes the rest of that log (wal.Log.Detached). Snapshots above the
// new one come from an earlier leader that was never established. They belong to the old history, so they are
// removed after the log. Snapshots below the new one are removed last: no log leads from them to the new one, so
// they are not usable (snapshot.Chain), and one that a crash leaves does no harm.
func (j *Journal) install(in *zab.Install) error {
	s := j.srv
	got := j.owner.ArrivedState(in.Link)
	if got == nil {
		return errors.New("the received state is gone: its link has closed")
	}
	if got.applied == 0 {
		for _, t := range in.Txns {
			if _, _, err := got.State.Apply(t.Payload, nil, nil, false); err != nil {
				return err
			}
		}
		got.applied = len(in.Txns)
	}
	if last := got.State.LastZxid(); last != in.Last {
		return fmt.Errorf("the received state ends with txn %v, not with %v", last, in.Last)
	}
	if err := s.writeState(got.State, in.Last); err != nil {
		return err
	}
	if err := s.WAL.Reset(in.Last); err != nil {
		return err
	}
	if err := s.Snaps.RemoveAbove(in.Last); err != nil {
		return err
	}
	if err := s.Snaps.RemoveBelow(in.Last); err != nil {
		return err
	}
	j.txns, j.before = 0, 0
	s.Log.Info("installed a snapshot of the leader", zap.Stringer("zxid", in.Last),
		zap.Int("znodes", got.State.NumNodes()),
		zap.Duration("took", j.srv.Clock.Steady().Sub(got.Began)))
	j.owner.Installed(in.Link, got.State)
	return nil
}

// initialize makes a first snapshot, if there is none: it marks that the database exists, even if it is empty.
func (j *Journal) initialize() error {
	s := j.srv
	all, err := s.Snaps.List()
	if err != nil || len(all) > 0 {
		return err
	}
	return s.writeState(datatree.NewState(datatree.Config{}), 0)
}

// Encoded is a lineage in the form in which meta.db stores it.
func Encoded(l *zab.Lineage) string {
	if l == nil {
		return ""
	}
	return string(l.AppendTo(nil))
}

// Epochs returns the epochs that this server has promised, checked against its database.
func (s *Disk) Epochs() (zab.Epochs, error) {
	e, err := s.Meta.Reconcile(s.WAL.LastZxid())
	return zab.Epochs{Accepted: e.Accepted, Current: e.Current}, err
}

// KeepConfiguration makes a committed configuration durable.
func (s *Disk) KeepConfiguration(e *zab.Ensemble) error {
	return s.Meta.SetConfig(meta.Config{Version: e.Version, Text: string(e.Text)})
}

// draw chooses when the next snapshot is due, at random in the upper half of the limits, so that the servers of an
// ensemble do not all write snapshots at once.
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

// persist makes the batch durable. It returns false if the server stops before a full disk has room: then nothing
// of the batch was promised. Any other failure ends the process, because the content of the disk is unknown then
// (guarantee 9).
func (j *Journal) persist(b *framedBatch) bool {
	j.srv.LogStalled.Store(j.srv.Clock.Now())
	defer j.srv.LogStalled.Store(0)
	if !j.whileFull("disk is full: writes wait until there is room", "appending to the log", func() error {
		return j.log.Append(b.framed, b.first, b.last)
	}) {
		return false
	}
	if j.srv.Config.ForceSync {
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

// Bounds of how often snapshots are written when txns arrive fast or the tree is large. To replay the txns logged
// meanwhile takes far less time than to log them or to write a snapshot.
const (
	// snapshotPause is the least time between two snapshots: their syncs delay those of the log.
	snapshotPause = 3 * time.Second
	// snapshotShare is how much log there must be for a snapshot, as a share of the snapshot's size: a tree of
	// gigabytes is not written again after every few megabytes of txns.
	snapshotShare = 1.0 / 16
	// snapshotBacklog bounds the replay: after this many times snapCount txns, neither of the two counts any more.
	snapshotBacklog = 20
)

// snapshotDue reports whether the log has grown enough, in txns or bytes, for a new file and a snapshot.
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

// nextFile begins a new log file because the present one is full: txnLogSizeLimitInKb. Source: storage 4.3.
func (j *Journal) nextFile(last proto.Zxid) {
	size := j.log.Size()
	if j.roll(last) {
		j.before += size
	}
}

// roll begins a new log file. It reports false if the present file stays in use.
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

// count counts a batch that is durable.
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

// logEvents counts the events of the log.
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

// walOptions are the options of the log.
func (s *Disk) walOptions() wal.Options {
	return wal.Options{FS: s.FS, Dir: s.LogDir(), PreallocSize: s.Config.PreAllocSizeKB << 10, Logger: s.Log,
		Events: logEvents{s.Env}, Now: s.Clock.Steady}
}
