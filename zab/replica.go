package zab

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab/quorum"
)

// replica is this server apart from its role: what it knows of the ensemble and has of the history, and what it tells
// the host and its peers.
type replica struct {
	cfg Config
	members
	log log
	outbox

	now    int64 // ticks since the start
	role   State
	change *transition // not nil: the role has ended
	phase  Phase
	status Status

	strangers map[proto.ServerID]*stranger
	hesitates bool // pauses before it looks for a leader
	wantsAll  bool // asks the next leader for a snapshot: the history here cannot be brought in line

	vote   Vote  // result of the last election, as sent to others
	round  int64 // logicalclock; voteAt is the round of vote
	voteAt int64
	epoch  int64 // of the leader, which this server follows or is; 0 before it is known
	// A quorum has adopted the history of the leader, and this server has it: what is committed may be delivered.
	established bool
}

// transition is a change of the role, as the present one has decided it.
type transition struct {
	to     State          // Looking, Leading or Following, which stands for Observing as well
	leader proto.ServerID // Looking: it leads next without an election, -1 for an election. Following: the elected one
	reason string         // Looking
	stop   bool           // Looking: and this server takes part in nothing afterwards

	limit    int        // Leading: ticks for each stage before serving
	electors quorum.Set // Leading: voters that elected this server
	claimed  proto.Zxid // Following: the end of the history that the leader was elected with; 0 if it is not known
}

// look ends the role. A leader that is not -1 leads next without an election.
func (r *replica) look(leader proto.ServerID, reason string) {
	r.change = &transition{to: Looking, leader: leader, reason: reason}
}

// outbox collects what the next Take returns, except for the writes.
type outbox struct {
	from proto.ServerID
	out  Output
}

// send hands the host a message that promises nothing.
func (o *outbox) send(m Message) {
	switch m.Type {
	case LeaderInfo, AckEpoch, Ack:
		violated("%v is a promise and was sent without what makes it true", m.Type)
	}
	o.put(m)
}

// promise hands the host a promise. stable made it, so it holds.
func (o *outbox) promise(link LinkID, to proto.ServerID, p promise) {
	p.message.Link, p.message.To = link, to
	o.put(p.message)
}

func (o *outbox) put(m Message) {
	m.From = o.from
	o.out.Send = append(o.out.Send, m)
}

// deliver hands out what is committed and durable on this server, once the role says that the history is that of
// a quorum.
func (r *replica) deliver() {
	if !r.established {
		return
	}
	upTo := min(r.log.committed, r.log.stable.last)
	txns := r.log.window.between(r.log.delivered, upTo)
	if len(txns) == 0 {
		return
	}
	r.checkDeliver(txns)
	r.log.delivered = txns[len(txns)-1].Zxid
	r.out.Deliver = txns
}

// fatal stops the core: the process must end.
func (r *replica) fatal(err error) {
	r.status.Fatal = err
	r.status.Serving, r.established = false, false
}

// part returns a random part of some ticks.
func (r *replica) part(ticks int) int {
	if ticks == 0 {
		return 0
	}
	return r.cfg.Rand.IntN(ticks + 1)
}

// notification returns the present notification of this server.
func (r *replica) notification(to proto.ServerID) Message {
	return Message{Type: Notification, To: to, State: r.role, Version: 2, Config: r.text, Lineage: r.log.lineage,
		Vote: r.vote, Round: r.voteAt}
}

// sums returns the checksums of the txn at z, if this server knows it.
func (r *replica) sums(z proto.Zxid) (sums Sums, ok bool) {
	if z.Counter() == 0 {
		return Sums{}, false
	}
	i := r.log.window.above(z)
	switch {
	case i == 0 || r.log.window.txns[i-1].Zxid != z:
		return r.cfg.History.Sums(z)
	case r.cfg.Sums == nil:
		payload := r.log.window.txns[i-1].Payload
		return SumsOf(payload, len(payload)), true
	}
	return r.cfg.Sums(r.log.window.txns[i-1].Payload), true
}

// describe formats the text of Status.Reason.
func describe(format string, args ...any) string { return fmt.Sprintf(format, args...) }
