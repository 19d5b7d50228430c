package host

import (
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/stages"
	"github.com/seed94657493/warren/zab"
)

// legsMax bounds the legs that are measured at a time. The txns of later writes get the leg after theirs.
const legsMax = 1024

// legs measures the ways of txns to the log of this server. Owned by the host goroutine.
//
// Invariant: the legs are in the order of their writes and of their zxids.
type legs struct {
	all    flow.FIFO[leg]
	logged int // how many of the oldest are durable
}

// leg is one write of the journal.
type leg struct {
	flow.Leg
	seq  zab.Seq
	txns []zab.Txn // until they are durable
}

// asked notes the writes that the journal is asked for.
func (l *legs) asked(writes []zab.Persist, now int64) {
	for i := range writes {
		w := &writes[i]
		if w.Truncate || w.Install != nil {
			*l = legs{} // the history before the write may be another one
		}
		if n := len(w.Append); n > 0 && l.all.Len() < legsMax {
			l.all.Push(leg{Leg: flow.Leg{Last: w.Append[n-1].Zxid, Asked: now}, seq: w.Seq, txns: w.Append})
		}
	}
}

// persisted notes that the writes up to seq are durable, and calls each for the legs that are durable since now.
func (l *legs) persisted(seq zab.Seq, now int64, each func(*leg)) {
	for ; l.logged < l.all.Len() && l.all.At(l.logged).seq <= seq; l.logged++ {
		g := l.all.At(l.logged)
		g.Logged = now
		each(g)
		g.txns = nil
	}
}

// deliver adds the legs of committed txns to their batch. A leg whose txns are all delivered is forgotten when it is
// durable.
func (l *legs) deliver(b *flow.ApplyBatch) {
	for i := 0; i < l.all.Len(); i++ {
		g := l.all.At(i)
		b.Legs = append(b.Legs, g.Leg)
		if g.Last >= b.Last {
			break
		}
	}
	for l.logged > 0 && l.all.Front().Last <= b.Last {
		l.all.Pop()
		l.logged--
	}
}

// loggedMax bounds how many txns of one write are looked at for traces.
const loggedMax = 4096

// measured returns the time for the stages of operations; 0 if they are not measured.
func measured(e *env.Env) int64 {
	if e.Stages == nil {
		return 0
	}
	return e.Clock.Now()
}

// trace gives the txns of a leg to the traces: those that are sampled, and all if the log was slow. On a standalone
// server the stage sync of each operation says the same.
func trace(e *env.Env, g *leg) {
	if !e.Config.Distributed() || !e.Stages.Traces() {
		return
	}
	slow := e.Stages.Suspects(g.Logged - g.Asked)
	for i := range g.txns[:min(len(g.txns), loggedMax)] {
		session, xid := flow.SenderOf(g.txns[i].Payload)
		sampled := e.Stages.Samples(session, xid)
		if !sampled && !slow || session == 0 {
			continue
		}
		txn := flow.HeaderOf(g.txns[i].Payload)
		o := stages.Begin(stages.Logged, txn.Type, txn.ClientID, txn.Cxid, g.Asked)
		o.Zxid, o.Sampled = txn.Zxid, sampled
		o.End(stages.Sync, g.Logged)
		e.Stages.Done(o)
	}
}
