package client

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Calls outlive their connection where the servers can tell what has become of them: Warren servers below a Warren
// leader. The session keeps those that were not answered. On its next connection it asks for the outcomes of the
// writes that may have been sent. What was executed is answered from there; all else is sent again, with its old xid,
// in its old order, before any new call. So no call is executed twice, and none fails as long as the session lives. A
// server that does not grant the extension, or cannot tell, gets nothing again: the calls fail as without it. So they
// do when no server has answered within a session timeout: as long as the client asks, it is not connected.
//
// The goroutine of the session owns session.kept. Source: extensions 2.

// answered is a call and its outcome.
type answered struct {
	call    *call
	outcome proto.Outcome
}

// mayBeDone reports whether a call may have been executed.
func (cl *call) mayBeDone() bool { return cl.sent && cl.op.IsWrite() }

// ask asks the server for the outcomes of calls of earlier connections. It must be the first that the server is asked.
func (s *session) ask(g *greeted) error {
	if g.resp.Extensions&proto.ExtensionOutcomes == 0 {
		return nil
	}
	var asked proto.OutcomesRequest
	for _, cl := range s.kept {
		if !cl.mayBeDone() {
			continue
		}
		if len(asked.Xids) == 0 || cl.floor < asked.After {
			asked.After = cl.floor
		}
		asked.Xids = append(asked.Xids, cl.xid)
	}
	if g.knows = len(asked.Xids) == 0; g.knows {
		return nil
	}
	if s.asked.IsZero() {
		s.asked = time.Now()
	}
	// The server hears nothing of the session meanwhile.
	_ = g.nc.SetDeadline(g.began.Add(2 * time.Duration(g.resp.TimeOut) * time.Millisecond / 3))
	xid := max(s.xid+1, 1)
	b := asked.AppendTo(beginRequest(nil, xid, proto.OpOutcomes))
	if _, err := g.nc.Write(endFrame(b, 0)); err != nil {
		return fmt.Errorf("client: ask %s for outcomes: %w", g.addr, err)
	}
	for {
		frame, err := g.in.next()
		if err != nil {
			return fmt.Errorf("client: ask %s for outcomes: %w", g.addr, err)
		}
		var h proto.ReplyHeader
		switch err := h.ReadFrom(frame); {
		case err != nil || h.Xid != xid && h.Xid != proto.XidPing:
			return fmt.Errorf("client: ask %s for outcomes: %w: not the reply", g.addr, ErrProtocol)
		case h.Xid == proto.XidPing: // it asks its clients to leave
			continue
		case h.Err != proto.OK:
			return nil
		}
		if err := g.outcomes.ReadFrom(bytes.Clone(frame[proto.ReplyHeaderSize:])); err != nil {
			return fmt.Errorf("client: ask %s for outcomes: %w: %w", g.addr, ErrProtocol, err)
		}
		g.knows = true
		return nil
	}
}

// goOn puts the calls of earlier connections on a new one, on which nothing is queued yet but what a new connection
// begins with.
func (s *session) goOn(cn *conn, g *greeted) error {
	kept := s.kept
	s.kept = nil
	cn.keeps = g.resp.Extensions&proto.ExtensionOutcomes != 0
	if !g.knows {
		for _, cl := range kept {
			lose(s.watches, cl, ErrConnectionLoss)
		}
		return nil
	}
	outcomes := map[int32]*proto.Outcome{}
	for i := range g.outcomes.Outcomes {
		outcomes[g.outcomes.Outcomes[i].Xid] = &g.outcomes.Outcomes[i]
	}
	done := 0 // how many calls precede the last one that was executed
	for i, cl := range kept {
		if outcomes[cl.xid] != nil && cl.mayBeDone() {
			done = i
		}
	}
	for i, cl := range kept {
		o := outcomes[cl.xid]
		switch {
		case !cl.mayBeDone():
			cn.again(cl)
		case o != nil:
			cn.answered = append(cn.answered, answered{cl, *o})
		case i < done: // it was refused without a txn, for example without room on the disks: now it would be late
			cl.sent = false
			lose(s.watches, cl, ErrConnectionLoss)
		default:
			cn.again(cl)
		}
	}
	if cn.rearming == 0 {
		return cn.deliver()
	}
	return nil
}

// again queues a call of an earlier connection, unless its caller has given it up. REQUIRES: no goroutine of the
// connection runs yet.
func (cn *conn) again(cl *call) {
	if !cl.state.CompareAndSwap(callWaiting, callSending) {
		lose(cn.watches, cl, ErrConnectionLoss)
		return
	}
	start := len(cn.out)
	cn.out = endFrame(cl.appendTo(cn.out, cl.xid), start)
	cl.state.Store(callWaiting)
	cn.pending.push(cl)
	cn.signal()
}

// deliver completes the calls whose outcomes are known. It is called when all events that precede them have arrived.
func (cn *conn) deliver() error {
	for len(cn.answered) > 0 {
		a := cn.answered[0]
		cn.answered = cn.answered[1:]
		if err := cn.answer(a.call, a.outcome.Zxid, a.outcome.Err, a.outcome.Body); err != nil {
			return err
		}
	}
	return nil
}

// giveUp fails the calls of earlier connections.
func (s *session) giveUp(err error) {
	for _, cl := range s.kept {
		lose(s.watches, cl, err)
	}
	s.kept = nil
}

// abandon reports whether the caller gives the call up. If not, it is about to be answered.
func (cl *call) abandon() bool {
	for !cl.state.CompareAndSwap(callWaiting, callAbandoned) {
		if cl.state.Load() == callCompleted {
			return false
		}
		runtime.Gosched()
	}
	return true
}
