package zab

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Errors of Propose.
var (
	// ErrNotLeading is returned when this server does not lead a quorum, or is handing its leadership over.
	ErrNotLeading = errors.New("zab: not leading")
	// ErrBusy is returned when Limits.InFlight proposals wait for their quorum. The same txns may be proposed
	// again later.
	ErrBusy = errors.New("zab: too many proposals in flight")
	// ErrEpochExhausted is returned when the counter has reached its end: this leader stops and a new epoch begins.
	ErrEpochExhausted = errors.New("zab: the counter of the epoch is exhausted")
)

// Core agrees with its peers on an order of txns. It is a function of its inputs: no goroutine, clock, socket or
// file. It must not be used concurrently. The duties of the host are in the package documentation.
type Core struct {
	cfg    Config
	active *Ensemble        // the committed configuration
	next   *Ensemble        // the configuration at the end of the history if it is newer than active, else nil
	text   []byte           // Text of active
	voters *electorate      // of active and next
	self   int              // place among the voters, -1 if this server has no vote
	peers  []proto.ServerID // voters except this server, ascending

	in     Message // the argument of Step, kept here so that it does not escape
	out    Output
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
	strangers map[proto.ServerID]*stranger
	hesitates bool // pauses before it looks for a leader
	blank     bool // see blank.go
	wantsAll  bool // asks the next leader for a snapshot: the history here cannot be brought in line

	questions map[proto.ServerID]question // by server without a vote

	now         int64 // ticks since the start
	nextLink    LinkID
	links       []*link // accepted connections, by number
	claims      int     // at most so many of them have a claim
	renewAfter  int64   // tick before which no renewal begins
	syncs       uint64  // calls of Sync
	masterQueue masterQueue

	reconfig   proto.Zxid     // the last reconfiguration whose commit reached this role
	designated proto.ServerID // and the server that leads by it

	vote   Vote  // result of the last election, as sent to others
	round  int64 // logicalclock; voteAt is the round of vote
	voteAt int64

	// The role. step, tick and settle change with it, and only in the become functions.
	role   State
	phase  Phase
	status Status
	step   func(*Message)
	tick   func()
	settle func()
	el     election
	ln     learner
	ld     leader
}

// New returns a core that looks for a leader. Call Take at once.
func New(cfg Config) (*Core, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Core{cfg: cfg, active: cfg.Ensemble, text: cfg.Ensemble.Wire(), epochs: cfg.Epochs, last: cfg.Last,
		delivered: cfg.Last, committed: 0}
	c.blank = cfg.Blank
	if cfg.Next != nil && cfg.Next.Version > cfg.Ensemble.Version {
		c.next = cfg.Next
	}
	c.strangers, c.questions = map[proto.ServerID]*stranger{}, map[proto.ServerID]question{}
	c.voters = &electorate{}
	c.reseat()
	if c.status.Fatal != nil {
		return nil, c.status.Fatal
	}
	c.window.reset(cfg.Before)
	for _, t := range cfg.Window {
		c.window.add(t)
	}
	c.stable = stable{epochs: c.epochs, last: c.last, blank: c.blank}
	c.vote = Vote{Leader: -1, Zxid: -1, Epoch: -1}
	c.masterQueue = masterQueue{leader: -1, last: -1}
	c.nextLink = 1
	c.lineage = cfg.lineage()
	// A crash between the two halves of duty 2 leaves a history that reaches into an epoch k above currentEpoch.
	// Such a history is a prefix of a history that began with everything that the leader of k adopted, and it has
	// at least one txn of k. So this server is in the state of any follower of k that has logged this far, and
	// may say so.
	if k := c.last.Epoch(); k > c.epochs.Current {
		c.persistCurrent(k, c.lineage.upTo(k))
	}
	c.becomeLooking("start")
	return c, nil
}

// Step gives the core a message of a peer. For a message of a link, m.Link is the number of that link on this
// server; messages of closed or unknown links are refused. The caller may change m afterwards, but not what m
// points to.
func (c *Core) Step(m Message) {
	if c.status.Stopped || c.status.Fatal != nil {
		return
	}
	c.in = m
	switch m.Type {
	case Notification:
		c.notified(&c.in)
	case Probe, ProbeReply:
		c.probed(&c.in)
	case FollowerInfo, ObserverInfo:
		if l := c.linkOf(&c.in); l != nil {
			l.heard = c.now
			c.learnerInfo(l, &c.in)
		}
	default:
		c.step(&c.in)
	}
}

// Tick tells the core that one tick of Timing has passed.
func (c *Core) Tick() {
	c.now++
	if c.status.Stopped || c.status.Fatal != nil {
		return
	}
	c.tick()
}

// Persisted tells the core that the write seq and all before it are durable.
func (c *Core) Persisted(seq Seq) {
	n := 0
	for n < len(c.flight) && c.flight[n].seq <= seq {
		c.stable.is(&c.flight[n])
		n++
	}
	c.flight = slices.Delete(c.flight, 0, n)
	if c.stable.seq < seq {
		violated("write %d is reported durable, but only %d were asked for", seq, c.writes.seq)
	}
	if c.role == Looking && len(c.flight) == 0 {
		c.drained()
	}
}

// NextZxid returns the zxid that the next proposal must have. It is meaningful only while this server leads and
// Serves.
func (c *Core) NextZxid() proto.Zxid { return c.ld.proposed + 1 }

// Propose offers txns, numbered consecutively from NextZxid, to the ensemble. Either all are taken or none. They
// are committed when Deliver returns them. If the leadership ends before, it is not known yet whether they will
// be committed. The payloads must not be changed afterwards. A reconfiguration must be the last txn of its call,
// and Ready must hold for it or be about to hold. While a reconfiguration is not committed Propose returns
// ErrBusy. Errors: ErrNotLeading, ErrBusy, ErrEpochExhausted, and others for a txn that is not a valid
// reconfiguration.
func (c *Core) Propose(txns ...Txn) error {
	ld := &c.ld
	switch {
	case c.role != Leading || ld.stage != leaderServing || ld.handing || c.status.Stopped || c.status.Fatal != nil:
		return ErrNotLeading
	case c.inFlight()+len(txns) > c.cfg.Limits.InFlight || c.next != nil || ld.renewal.begun:
		return ErrBusy
	case uint64(ld.proposed.Counter())+uint64(len(txns)) >= uint64(c.cfg.Limits.CounterMax):
		// A new epoch begins: hand over to the best follower; this server may be elected again. Source:
		// quorum-protocol 1.4.
		c.HandOver(false)
		return ErrEpochExhausted
	}
	var next *Ensemble
	for i, t := range txns {
		e, err := c.reconfigures(t)
		switch {
		case err != nil:
			return fmt.Errorf("zab: reconfiguration %v: %w", t.Zxid, err)
		case e != nil && (i < len(txns)-1 || e.Version != t.Zxid):
			return fmt.Errorf("zab: reconfiguration %v has version %v, or something is proposed behind it",
				t.Zxid, e.Version)
		}
		next = e
	}
	for _, t := range txns {
		c.offer(t)
	}
	c.see(next)
	return nil
}

func (c *Core) inFlight() int { return len(c.window.txns) - c.window.above(c.committed) }

// offer makes t the next proposal. Take hands it to the log and to the learners.
func (c *Core) offer(t Txn) {
	c.checkProposal(t.Zxid)
	c.ld.proposed = t.Zxid
	c.window.add(t)
}

// Take returns what the host has to do. Its slices are valid until the next call of a method, except those of
// txns, which never change.
func (c *Core) Take() Output {
	if !c.status.Stopped && c.status.Fatal == nil {
		c.settleClaims()
		c.settle()
	}
	c.appendTail()
	c.deliver()
	c.settleMaster()
	c.stream()
	c.trim()
	c.check()
	out := c.out
	out.Persist = c.writes.jobs
	c.status.State, c.status.Phase = c.role, c.phase
	out.Status = c.status
	c.out.Send, c.out.Dial, c.out.Close, c.out.Synced = c.out.Send[:0], c.out.Dial[:0],
		c.out.Close[:0], c.out.Synced[:0]
	c.out.Throttled, c.out.Rivals = c.out.Throttled[:0], c.out.Rivals[:0]
	c.out.Deliver, c.out.Lineage, c.out.Renew = nil, nil, false
	c.writes.jobs = c.writes.jobs[:0]
	return out
}

// Status returns the state at the last Take.
func (c *Core) Status() Status { return c.status }

// Serves reports whether this server serves now, before Take says so in its Status.
func (c *Core) Serves() bool { return c.status.Serving }

// send hands the host a message that promises nothing.
func (c *Core) send(m Message) {
	switch m.Type {
	case LeaderInfo, AckEpoch, Ack:
		violated("%v is a promise and was sent without what makes it true", m.Type)
	}
	c.put(m)
}

// promise hands the host a promise. stable made it, so it holds.
func (c *Core) promise(link LinkID, to proto.ServerID, p promise) {
	p.message.Link, p.message.To = link, to
	c.put(p.message)
}

func (c *Core) put(m Message) {
	m.From = c.cfg.ID
	c.out.Send = append(c.out.Send, m)
}

// appendTail asks the host to log the txns of the window that have not been handed out.
func (c *Core) appendTail() {
	last := c.window.last()
	if last == c.last {
		return
	}
	w := &c.writes
	job := w.job(rankAppend)
	if len(job.Append) == 0 {
		w.from = c.last
	}
	c.last = last
	job.Append = c.window.between(w.from, last)
	c.flying(job)
}

// flying notes what becomes stable when the job is durable.
func (c *Core) flying(job *Persist) {
	f := flight{seq: job.Seq, last: c.last, epochs: c.epochs, blank: c.blank}
	if n := len(c.flight); n > 0 && c.flight[n-1].seq == job.Seq {
		c.flight[n-1] = f
		return
	}
	c.flight = append(c.flight, f)
}

// persistAccepted asks the host to raise acceptedEpoch.
func (c *Core) persistAccepted(e int64) {
	if e < c.epochs.Accepted || e >= epochMax {
		violated("acceptedEpoch from %d to %d", c.epochs.Accepted, e)
	}
	c.epochs.Accepted = e
	job := c.writes.job(rankEpochs)
	job.AcceptedEpoch = e
	c.flying(job)
}

// persistCurrent asks the host to raise currentEpoch, with the lineage of the adopted history, after all earlier
// writes.
func (c *Core) persistCurrent(e int64, lineage *Lineage) {
	if e < c.epochs.Current || e > c.epochs.Accepted {
		violated("currentEpoch from %d to %d with acceptedEpoch %d", c.epochs.Current, e, c.epochs.Accepted)
	}
	c.epochs.Current, c.lineage, c.out.Lineage = e, lineage, nil
	job := c.writes.job(rankEpochs)
	job.CurrentEpoch, job.Lineage = e, lineage
	c.flying(job)
}

// noteLineage asks the host to store what was learned about the lineage. Nothing waits for that write.
func (c *Core) noteLineage(lineage *Lineage) {
	if lineage != c.lineage && !lineage.equal(c.lineage) {
		c.lineage, c.out.Lineage = lineage, lineage
	}
}

// truncate asks the host to cut the log after z.
func (c *Core) truncate(z proto.Zxid) {
	if z > c.last {
		violated("TRUNC to %v, but the log ends at %v", z, c.last)
	}
	c.window.cut(z)
	c.unsee(z)
	job := c.writes.job(rankTruncate)
	job.Truncate, job.Last = true, z
	c.last = z
	c.stable.last = min(c.stable.last, z)
	c.delivered = min(c.delivered, z)
	c.flying(job)
}

// deliver hands out what is committed and durable on this server, once the role says that the history is that of
// a quorum.
func (c *Core) deliver() {
	if !c.status.Serving && !(c.role == Leading && c.ld.stage == leaderBarrier) {
		return
	}
	upTo := min(c.committed, c.stable.last)
	if upTo <= c.delivered {
		return
	}
	txns := c.window.between(c.delivered, upTo)
	if len(txns) == 0 {
		return
	}
	c.checkDeliver(txns)
	c.delivered = txns[len(txns)-1].Zxid
	c.out.Deliver = txns
}

// trim keeps the window within its limits, except for txns that are still to be delivered or streamed.
func (c *Core) trim() {
	c.window.trim(c.cfg.Limits.WindowTxns, c.cfg.Limits.WindowBytes, min(c.delivered, c.last, c.keep()))
}

// fatal stops the core: the process must end.
func (c *Core) fatal(err error) {
	c.status.Fatal = err
	c.status.Serving = false
}

// role changes.

func (c *Core) enter(role State, phase Phase) {
	allowed := false
	switch role {
	case Looking:
		allowed = true
	case Leading, Following, Observing:
		allowed = c.role == Looking
	}
	if !allowed {
		violated("transition %v -> %v", c.role, role)
	}
	if role == Leading && c.self < 0 {
		violated("observer %d leads", c.cfg.ID)
	}
	if role == Following && c.active.Observes(c.cfg.ID) || role == Observing && !c.active.Observes(c.cfg.ID) {
		violated("server %d is %v, but its place in the ensemble is another", c.cfg.ID, role)
	}
	c.role, c.phase = role, phase
	c.status.Serving = false
	c.status.Epoch = 0
	c.status.Leader, c.status.Master = -1, -1
}

// describe formats the text of Status.Reason.
func describe(format string, args ...any) string { return fmt.Sprintf(format, args...) }
