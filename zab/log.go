package zab

import "github.com/seed94657493/warren/proto"

// log is the history of this server: its txns and where they come from, as handed to the host to make durable, and as
// durable (stable). All roles read it. They change it by its methods, each of which asks the host for one write; but
// a role adds txns to the window, and appendTail asks for all of them at once.
type log struct {
	writes writes
	flight []flight // writes handed to the host, oldest first
	stable stable

	// What was handed to the host, durable or not.
	epochs    Epochs
	last      proto.Zxid // end of the log
	committed proto.Zxid // all up to here may be delivered; (epoch, 0) when only the leader's history is
	delivered proto.Zxid
	window    window // ends at last, or above it with txns that Take has not handed out yet
	lineage   *Lineage
	learned   *Lineage // what noteLineage has not handed out yet
	blank     bool     // see blank.go
}

// appendTail asks the host to log the txns of the window that have not been handed out.
func (l *log) appendTail() {
	last := l.window.last()
	if last == l.last {
		return
	}
	w := &l.writes
	job := w.job(rankAppend)
	if len(job.Append) == 0 {
		w.from = l.last
	}
	l.last = last
	job.Append = l.window.between(w.from, last)
	l.flying(job)
}

// flying notes what becomes stable when the job is durable.
func (l *log) flying(job *Persist) {
	f := flight{seq: job.Seq, last: l.last, epochs: l.epochs, blank: l.blank}
	if n := len(l.flight); n > 0 && l.flight[n-1].seq == job.Seq {
		l.flight[n-1] = f
		return
	}
	l.flight = append(l.flight, f)
}

// persistAccepted asks the host to raise acceptedEpoch.
func (l *log) persistAccepted(e int64) {
	if e < l.epochs.Accepted || e >= epochMax {
		violated("acceptedEpoch from %d to %d", l.epochs.Accepted, e)
	}
	l.epochs.Accepted = e
	job := l.writes.job(rankEpochs)
	job.AcceptedEpoch = e
	l.flying(job)
}

// persistCurrent asks the host to raise currentEpoch, with the lineage of the adopted history, after all earlier
// writes.
func (l *log) persistCurrent(e int64, lineage *Lineage) {
	if e < l.epochs.Current || e > l.epochs.Accepted {
		violated("currentEpoch from %d to %d with acceptedEpoch %d", l.epochs.Current, e, l.epochs.Accepted)
	}
	l.epochs.Current, l.lineage, l.learned = e, lineage, nil
	job := l.writes.job(rankEpochs)
	job.CurrentEpoch, job.Lineage = e, lineage
	l.flying(job)
}

// noteLineage asks the host to store what was learned about the lineage. Nothing waits for that write.
func (l *log) noteLineage(lineage *Lineage) {
	if lineage != l.lineage && !lineage.equal(l.lineage) {
		l.lineage, l.learned = lineage, lineage
	}
}

// truncate asks the host to cut the log after z.
func (l *log) truncate(z proto.Zxid) {
	if z > l.last {
		violated("TRUNC to %v, but the log ends at %v", z, l.last)
	}
	l.window.cut(z)
	job := l.writes.job(rankTruncate)
	job.Truncate, job.Last = true, z
	l.last = z
	l.stable.last = min(l.stable.last, z)
	l.delivered = min(l.delivered, z)
	l.flying(job)
}

// install asks the host to replace the database by the snapshot from a link, with txns on top of it, up to last.
func (l *log) install(link LinkID, txns []Txn, last proto.Zxid) {
	job := l.writes.job(rankInstall)
	job.Install = &Install{Link: link, Txns: txns, Last: last}
	l.last, l.delivered = last, last
	l.stable.last = min(l.stable.last, last)
	l.window.reset(last)
	l.flying(job)
}

// persistInterim asks the host to store a lineage before it changes the history: see doubt.
func (l *log) persistInterim(lineage *Lineage) {
	l.lineage, l.learned = lineage, nil
	job := l.writes.job(rankInterim)
	job.Interim = lineage
	l.flying(job)
}

// persistEnsemble asks the host to store the committed configuration.
func (l *log) persistEnsemble(e *Ensemble) {
	job := l.writes.job(rankEnsemble)
	job.Ensemble = e
	l.flying(job)
}

// initialize asks the host to remember that the database exists and that this server counts. The server counts
// when that is durable: until then it begins no election (election.start), and what it says comes from stable.
func (l *log) initialize() {
	l.blank = false
	job := l.writes.job(rankEpochs)
	job.Initialize = true
	l.flying(job)
}

// written reports whether all that was written is durable.
func (l *log) written() bool { return len(l.flight) == 0 && len(l.writes.jobs) == 0 }

// inFlight returns how many txns of the history are not known to be committed.
func (l *log) inFlight() int { return len(l.window.txns) - l.window.above(l.committed) }
