package server

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// journal makes durable what the core asks for, in its order, and reports it. Writes that only append share one sync: all
// that were asked for while the one before was on its way. Its goroutine owns the tail of the log and the epochs.
type journal struct {
	logger // how a batch gets into the log, and when a snapshot is due
	m      *member
	jobs   *inbox[zab.Persist]
	batch  logBatch // framed records of one append
	failed bool
}

func newJournal(m *member, log *wal.Log, replayed int) *journal {
	return &journal{logger: *newLogger(m.srv, log, nil, replayed), m: m, jobs: newInbox[zab.Persist]()}
}

// submit queues writes. The slice is copied; the txns never change.
func (j *journal) submit(writes []zab.Persist) {
	for _, p := range writes {
		j.m.queued.Add(bytesOf(p.Append))
		if p.Install != nil {
			j.m.want(p.Install.Link)
		}
		j.jobs.put(p)
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
	defer j.m.applier.close()
	var jobs []zab.Persist
	for {
		<-j.jobs.wake
		var closed bool
		jobs, closed = j.jobs.take(jobs)
		j.do(jobs)
		if closed {
			return
		}
	}
}

// do makes writes durable, in their order, and reports them.
func (j *journal) do(rest []zab.Persist) {
	for len(rest) > 0 {
		n := appends(rest)
		done := false
		if n > 0 {
			done = j.append(rest[:n])
		} else {
			n = 1
			done = j.write(&rest[0])
		}
		for i := range rest[:n] {
			j.m.queued.Add(-bytesOf(rest[i].Append))
		}
		if done && !j.failed {
			j.m.events.add(event{seq: rest[n-1].Seq})
			j.m.came()
		} else {
			j.failed = true // nothing may be promised any more
		}
		rest = rest[n:]
	}
}

// appends is how many writes at the front do nothing but append.
func appends(jobs []zab.Persist) (n int) {
	for n < len(jobs) {
		p := &jobs[n]
		if p.Truncate || p.Install != nil || p.AcceptedEpoch >= 0 || p.CurrentEpoch >= 0 || p.Initialize || p.Ensemble != nil {
			break
		}
		n++
	}
	return n
}

// append makes the txns of writes durable with one sync, unless they are very many.
func (j *journal) append(writes []zab.Persist) bool {
	if j.failed {
		return false
	}
	b := &j.batch
	flush := func() bool {
		ok := b.txns == 0 || j.persist(b)
		b.reset()
		return ok
	}
	for i := range writes {
		for _, t := range writes[i].Append {
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
	s := j.m.srv
	if p.Truncate && !j.waiting("truncating the log", func() error { return j.truncate(p.Last) }) {
		return false
	}
	if p.Install != nil && !j.waiting("installing a snapshot", func() error { return j.install(p.Install) }) {
		return false
	}
	if len(p.Append) > 0 && !j.append([]zab.Persist{{Append: p.Append}}) {
		return false
	}
	if p.AcceptedEpoch >= 0 && !j.waiting("writing acceptedEpoch", func() error { return s.meta.SetAccepted(p.AcceptedEpoch) }) {
		return false
	}
	if p.CurrentEpoch > 0 && !j.waiting("writing the first snapshot", j.initialize) {
		return false // an epoch is adopted with a database only, and that begins with a snapshot: see Server.isUnfinished
	}
	if p.CurrentEpoch >= 0 && !j.waiting("writing currentEpoch", func() error { return s.meta.SetCurrent(p.CurrentEpoch) }) {
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
			j.m.srv.fatal(what, err)
			return false
		}
		if !waited {
			j.m.srv.log.Error("disk is full: this server takes no part until there is room", zap.String("doing", what), zap.Error(err))
		}
		j.m.srv.guard.markFull()
		select {
		case <-j.m.srv.stopping:
			return false
		case <-time.After(retryAfter):
		}
	}
}

// truncate removes the snapshots that hold more than last, cuts the log after it, and loads the state again if it holds more. A
// crash in between leaves an older snapshot with a longer log: a history that this server had before.
func (j *journal) truncate(last proto.Zxid) error {
	s := j.m.srv
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
	j.m.applier.swap(state)
	return nil
}

// install makes a received state the database. Source: zab.Install. A crash before the old log is gone leaves the old history or, if
// its log ends below the new snapshot, the new one; recovery then removes the rest of that log (wal.Log.Detached). Snapshots above
// the new one, from an earlier leader that was never established, go then: until then they belong to the old history. Those below go last:
// nothing leads from them to the new one, so that they are no states any more (snapshot.Chain); one that a crash leaves does no harm.
func (j *journal) install(in *zab.Install) error {
	s := j.m.srv
	j.m.received.Lock()
	got := j.m.received.wanted[in.Link]
	j.m.received.Unlock()
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
		zap.Duration("took", time.Since(got.began)))
	j.m.applier.swap(got.state)
	j.m.received.Lock()
	delete(j.m.received.wanted, in.Link)
	j.m.received.Unlock()
	return nil
}

// initialize notes that the database exists, though it may be empty.
func (j *journal) initialize() error {
	s := j.m.srv
	all, err := s.snaps.List()
	if err != nil || len(all) > 0 {
		return err
	}
	w := datatree.NewState(datatree.Config{}).NewWalker()
	defer w.Close()
	_, err = s.snaps.Write(0, walkerSource{w})
	return err
}

// history answers the core's questions about the log. Source: zab.History.
type history struct{ srv *Server }

// Locate implements zab.History.
func (h history) Locate(z proto.Zxid) (at, next proto.Zxid, ok bool) {
	s := h.srv
	p, ok, err := s.wal.Locate(z)
	switch {
	case err != nil:
		s.log.Warn("looking for a txn in the log", zap.Stringer("zxid", z), zap.Error(err))
		return 0, 0, false
	case !ok:
		return 0, 0, false
	}
	if v := s.member.view.Load(); v.State == zab.Leading {
		if s.cfg.SnapshotSizeFactor < 0 {
			return 0, 0, false
		}
		size := max(s.snapshotter.size.Load(), replayLeast)
		if float64(p.Rest) > s.cfg.SnapshotSizeFactor*float64(size) {
			return 0, 0, false
		}
	} else if _, err := s.snaps.AtOrBelow(p.At); errors.Is(err, snapshot.ErrNone) {
		return 0, 0, false // the state before that txn cannot be made again
	}
	return p.At, p.Next, true
}

// replayLeast is the size in bytes that a snapshot is taken for at least when a DIFF from the log is weighed against it.
const replayLeast = 64 << 20

// epochs returns what this server has promised, checked against its database.
func (s *Server) epochs() (zab.Epochs, error) {
	e, err := s.meta.Reconcile(s.wal.LastZxid())
	return zab.Epochs{Accepted: e.Accepted, Current: e.Current}, err
}
