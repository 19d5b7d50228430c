package server

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// journal makes durable what the agreement asks for, in its order, and reports it. Writes that only append share one sync: all
// that were asked for while the one before was on its way. Its goroutine owns the tail of the log and the epochs.
type journal struct {
	srv    *disk
	owner  owner
	log    *wal.Log
	jobs   *flow.Inbox[journalJob]
	batch  framedBatch
	failed bool         // something could not be made durable: nothing may be promised any more
	noted  *zab.Lineage // to be stored when nothing else is to be done, or at noteBy
	noteBy time.Time

	// Since the last roll: how many txns, and the points at which the next snapshot is due. Source: storage 4.5.
	txns      int
	snapTxns  int
	snapBytes int64
	rolled    int64 // when, ns on the server's clock
	before    int64 // bytes in files that were full before a snapshot was due
}

// journalJob is one thing to do: a write, a lineage to be noted, or a call.
type journalJob struct {
	write zab.Persist
	note  *zab.Lineage
	call  func()
}

// framedBatch is txns as the log writes them.
type framedBatch struct {
	framed      []byte     // records
	first, last proto.Zxid // 0 if there are none
	txns        int
}

func (b *framedBatch) reset() {
	if cap(b.framed) > 4*maxBatchBytes {
		b.framed = nil
	}
	b.framed, b.first, b.last, b.txns = b.framed[:0], 0, 0, 0
}

// maxBatchBytes is how many bytes of records one sync makes durable at most, but for the last record.
const maxBatchBytes = 4 << 20

// noteDelay is how long a lineage that is only noted may wait for a journal that has other work.
const noteDelay = time.Second

// owner is what hears what the journal has done. The journal's goroutine calls it.
type owner interface {
	// persisted says that the writes up to seq are durable.
	persisted(seq zab.Seq)
	// written takes back bytes that were counted when they were submitted.
	written(bytes int64)
	// acknowledges reports whether what is durable here is acknowledged to a leader, or counts for this one.
	acknowledges() bool
	// arrived returns the state that a leader has sent on a link; nil if it is gone.
	arrivedState(link zab.LinkID) *loading
	// installed says that the state of a link is the database now.
	installed(link zab.LinkID, state *datatree.State)
	// swap replaces the state that is served.
	swap(state *datatree.State)
	// journalEnds says that nothing follows.
	journalEnds()
}

// loading is a state that a leader has sent, from its arrival to its installation.
type loading struct {
	state   *datatree.State
	began   time.Time
	applied int // txns on top of it
}

func newJournal(d *disk, o owner) *journal {
	j := &journal{srv: d, owner: o, log: d.wal, jobs: flow.NewInbox[journalJob](d.rt.Parker()),
		txns: d.replayed, rolled: d.clock.now()}
	j.draw()
	return j
}

// submit queues writes. The slice is copied; the txns never change.
func (j *journal) submit(writes []zab.Persist) {
	for _, p := range writes {
		j.jobs.Put(journalJob{write: p})
	}
}

// note queues a lineage behind the writes that were submitted.
func (j *journal) note(l *zab.Lineage) { j.jobs.Put(journalJob{note: l}) }

// run calls fn in the goroutine of the journal, behind the writes that were submitted.
func (j *journal) call(fn func()) { j.jobs.Put(journalJob{call: fn}) }

// keepNote stores the lineage that was noted last, if there is time for it now. No promise waits for it.
func (j *journal) keepNote(now bool) {
	if j.noted == nil || j.failed || !now && !j.jobs.Empty() && j.srv.clock.steady().Before(j.noteBy) {
		return
	}
	if j.waiting("writing the lineage", func() error { return j.srv.meta.SetLineage(encoded(j.noted)) }) {
		j.noted = nil
	}
}

func bytesOf(txns []zab.Txn) (n int64) {
	for i := range txns {
		n += int64(len(txns[i].Payload))
	}
	return n
}

// run is the journal goroutine. It ends when jobs is closed and done.
func (j *journal) run() {
	defer j.owner.journalEnds()
	var jobs []journalJob
	for {
		j.jobs.Wait()
		var closed bool
		jobs, closed = j.jobs.Take(jobs)
		j.do(jobs)
		j.keepNote(closed)
		if closed {
			return
		}
	}
}

// do does jobs in their order, and reports the writes.
func (j *journal) do(rest []journalJob) {
	for len(rest) > 0 {
		switch job := &rest[0]; {
		case job.call != nil:
			job.call()
			rest = rest[1:]
			continue
		case job.note != nil:
			if j.noted == nil {
				j.noteBy = j.srv.clock.steady().Add(noteDelay)
			}
			j.noted = job.note
			rest = rest[1:]
			continue
		}
		n := appends(rest)
		done := false
		if n > 0 {
			done = j.append(rest[:n])
		} else {
			n = 1
			done = j.write(&rest[0].write)
		}
		for i := range rest[:n] {
			j.owner.written(bytesOf(rest[i].write.Append))
		}
		if done && !j.failed {
			j.owner.persisted(rest[n-1].write.Seq)
		} else {
			j.failed = true
		}
		rest = rest[n:]
	}
}

// appends is how many jobs at the front do nothing but append.
func appends(jobs []journalJob) (n int) {
	for n < len(jobs) {
		p := &jobs[n].write
		if jobs[n].call != nil || jobs[n].note != nil || p.Truncate || p.Install != nil || p.AcceptedEpoch >= 0 || p.CurrentEpoch >= 0 ||
			p.Initialize || p.Ensemble != nil {
			break
		}
		n++
	}
	return n
}

// append makes the txns of writes durable with one sync, unless they are very many.
func (j *journal) append(jobs []journalJob) bool {
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
		for _, t := range jobs[i].write.Append {
			if len(b.framed) >= maxBatchBytes && !flush() {
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

// write does one write whose parts must follow each other on the disk. Source: quorum-protocol 6.8 S2, S5.
func (j *journal) write(p *zab.Persist) bool {
	if j.failed {
		return false
	}
	s := j.srv
	if p.Truncate && !j.waiting("truncating the log", func() error { return j.truncate(p.Last) }) {
		return false
	}
	if p.Install != nil && !j.waiting("installing a snapshot", func() error { return j.install(p.Install) }) {
		return false
	}
	if len(p.Append) > 0 && !j.append([]journalJob{{write: zab.Persist{Append: p.Append}}}) {
		return false
	}
	if p.AcceptedEpoch >= 0 && !j.waiting("writing acceptedEpoch", func() error { return s.meta.SetAccepted(p.AcceptedEpoch) }) {
		return false
	}
	if p.CurrentEpoch > 0 && !j.waiting("writing the first snapshot", j.initialize) {
		return false // an epoch is adopted with a database only, and that begins with a snapshot: see Server.isUnfinished
	}
	if p.CurrentEpoch >= 0 {
		j.noted = nil // it was of an earlier epoch
	}
	if p.CurrentEpoch >= 0 && !j.waiting("writing currentEpoch", func() error { return s.meta.SetCurrent(p.CurrentEpoch, encoded(p.Lineage)) }) {
		return false
	}
	if p.Initialize && !(j.waiting("writing the first snapshot", j.initialize) &&
		j.waiting("noting that this server counts", func() error { return s.meta.SetBlank(false) })) {
		return false
	}
	return p.Ensemble == nil || j.waiting("writing the configuration", func() error { return s.keepConfiguration(p.Ensemble) })
}

// waiting runs fn until the disk has room for it. Any other failure ends the process: what is on the disk is unknown.
func (j *journal) waiting(what string, fn func() error) bool {
	for waited := false; ; waited = true {
		err := fn()
		if err == nil {
			return true
		}
		if errors.Is(err, snapshot.ErrClosed) {
			return false // the server stops
		}
		if !errors.Is(err, vfs.ErrNoSpace) {
			j.srv.fatal(what, err)
			return false
		}
		if !waited {
			j.srv.log.Error("disk is full: this server takes no part until there is room", zap.String("doing", what), zap.Error(err))
		}
		j.srv.guard.markFull()
		if j.srv.stopping.WaitFor(retryAfter) {
			return false
		}
	}
}

// truncate removes the snapshots that hold more than last, cuts the log after it, and loads the state again if it holds more. A
// crash in between leaves an older snapshot with a longer log: a history that this server had before.
func (j *journal) truncate(last proto.Zxid) error {
	s := j.srv
	s.log.Info("truncating the log", zap.Stringer("from", s.wal.LastZxid()), zap.Stringer("to", last))
	if _, err := s.snaps.AtOrBelow(last); err != nil {
		return err // the state there could not be made again
	}
	if err := s.snaps.RemoveAbove(last); err != nil {
		return err
	}
	if err := s.wal.Truncate(last); err != nil {
		return err
	}
	s.store.mu.RLock()
	ahead := s.store.state.LastZxid() > last
	s.store.mu.RUnlock()
	if !ahead {
		return nil
	}
	state, _, err := s.newestState()
	if err != nil {
		return err
	}
	if err := s.replayRecords(state, last); err != nil {
		return err
	}
	j.owner.swap(state)
	return nil
}

// install makes a received state the database. Source: zab.Install. A crash before the old log is gone leaves the old history or, if
// its log ends below the new snapshot, the new one; recovery then removes the rest of that log (wal.Log.Detached). Snapshots above
// the new one, from an earlier leader that was never established, go then: until then they belong to the old history. Those below go last:
// nothing leads from them to the new one, so that they are no states any more (snapshot.Chain); one that a crash leaves does no harm.
func (j *journal) install(in *zab.Install) error {
	s := j.srv
	got := j.owner.arrivedState(in.Link)
	if got == nil {
		return errors.New("the state that was received is gone")
	}
	if got.applied == 0 {
		for _, t := range in.Txns {
			if _, _, err := got.state.Apply(t.Payload, nil, nil, false); err != nil {
				return err
			}
		}
		got.applied = len(in.Txns)
	}
	if last := got.state.LastZxid(); last != in.Last {
		return fmt.Errorf("the received state is at %v, but was to be at %v", last, in.Last)
	}
	w := got.state.NewWalker()
	_, err := s.snaps.Write(in.Last, walkerSource{w})
	w.Close()
	if err != nil {
		return err
	}
	if err := s.wal.Reset(in.Last); err != nil {
		return err
	}
	if err := s.snaps.RemoveAbove(in.Last); err != nil {
		return err
	}
	if err := s.snaps.RemoveBelow(in.Last); err != nil {
		return err
	}
	j.txns, j.before = 0, 0
	s.log.Info("installed a snapshot of the leader", zap.Stringer("zxid", in.Last), zap.Int("znodes", got.state.NumNodes()),
		zap.Duration("took", j.srv.clock.steady().Sub(got.began)))
	j.owner.installed(in.Link, got.state)
	return nil
}

// initialize notes that the database exists, though it may be empty.
func (j *journal) initialize() error {
	s := j.srv
	all, err := s.snaps.List()
	if err != nil || len(all) > 0 {
		return err
	}
	w := datatree.NewState(datatree.Config{}).NewWalker()
	defer w.Close()
	_, err = s.snaps.Write(0, walkerSource{w})
	return err
}

// encoded is a lineage as meta.db keeps it.
func encoded(l *zab.Lineage) string {
	if l == nil {
		return ""
	}
	return string(l.AppendTo(nil))
}

// epochs returns what this server has promised, checked against its database.
func (s *disk) epochs() (zab.Epochs, error) {
	e, err := s.meta.Reconcile(s.wal.LastZxid())
	return zab.Epochs{Accepted: e.Accepted, Current: e.Current}, err
}

// keepConfiguration makes a committed configuration durable.
func (s *disk) keepConfiguration(e *zab.Ensemble) error {
	return s.meta.SetConfig(meta.Config{Version: e.Version, Text: string(e.Text)})
}
