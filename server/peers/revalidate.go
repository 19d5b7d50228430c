package peers

import "github.com/seed94657493/warren/proto"

// Revalidated is the answer of a leader to a learner that has asked about a session. A learner numbers its questions,
// in the zxid of the packet, because a client that gives up a connection and comes back asks again before the first
// answer is there: that one says nothing of what the client has asked for since. Not every question is answered. A
// leader in Java returns the zxid of the question, a Warren leader appends it to the data.
// Source: quorum-protocol 8.4.
type Revalidated struct {
	Session  proto.SessionID
	Valid    bool
	Proposed proto.Zxid // up to which the leader had proposed by then; -1 if it does not say
	Question int64      // from 1; 0 if the leader does not say which one it answers
}

// AskRevalidate returns a question. REQUIRES: question > 0.
func AskRevalidate(id proto.SessionID, timeoutMs int32, question int64) *Packet {
	data := proto.AppendInt32(proto.AppendInt64(nil, int64(id)), timeoutMs)
	return &Packet{Type: proto.PacketRevalidate, Zxid: proto.Zxid(question), Data: data}
}

// DecodeRevalidated reads the answer of a leader, or of the server between: one of Warren or in Java. REQUIRES: the
// packet has passed the checks of this package.
func DecodeRevalidated(p *Packet, warren bool) Revalidated {
	r := proto.NewReader(p.Data)
	a := Revalidated{Session: proto.SessionID(r.Int64()), Valid: r.Bool(), Proposed: p.Zxid}
	switch {
	case !warren:
		a.Proposed, a.Question = -1, max(int64(p.Zxid), 0)
	case r.Len() >= 8:
		a.Question = max(r.Int64(), 0)
	}
	return a
}

// Packet is the answer as a Warren learner gets it.
func (a *Revalidated) Packet() *Packet {
	p := a.JavaPacket(a.Proposed)
	if a.Question > 0 {
		p.Data = proto.AppendInt64(p.Data, a.Question)
	}
	return p
}

// JavaPacket is the answer as a learner in Java gets it, which has asked with this zxid.
func (a *Revalidated) JavaPacket(asked proto.Zxid) *Packet {
	data := proto.AppendBool(proto.AppendInt64(nil, int64(a.Session)), a.Valid)
	return &Packet{Type: proto.PacketRevalidate, Zxid: asked, Data: data}
}
