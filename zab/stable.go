package zab

import "github.com/seed94657493/warren/proto"

// stable is what is on the disk of this server, as reported by the host. Only Persisted raises it. Truncate
// lowers it when the cut is asked for.
//
// A promise is a message that claims durability: LEADERINFO, ACKEPOCH, ACK, and a vote. Each method of stable refuses
// a claim that the disk does not support: see doc.go. Source: quorum-protocol 15.3 D1 to D9.
type stable struct {
	epochs Epochs
	last   proto.Zxid
	blank  bool // messages of this server must not count
	seq    Seq  // all writes up to this one are done
}

// promise is a message that claims durability. Only the methods of stable make one.
type promise struct{ message Message }

// flight is a write that was asked for and is not reported yet, with the state of the disk after it.
type flight struct {
	seq    Seq
	last   proto.Zxid
	epochs Epochs
	blank  bool
}

// is records a write as durable.
func (s *stable) is(f *flight) { s.seq, s.last, s.epochs, s.blank = f.seq, f.last, f.epochs, f.blank }

// leaderInfo is the leader's promise to be the only leader of the epoch (D1).
func (s *stable) leaderInfo(epoch int64) promise {
	if s.epochs.Accepted != epoch {
		violated("LEADERINFO of epoch %d, but acceptedEpoch is durably %d", epoch, s.epochs.Accepted)
	}
	return promise{Message{Type: LeaderInfo, Epoch: epoch, Zxid: proto.MakeZxid(epoch, 0), Warren: true}}
}

// ackEpoch is the learner's promise not to follow an older epoch, with the end of its history (D2). repeated says
// that the epoch had been promised before this connection, so the answer must not count; the answer of a blank
// server must not count either.
func (s *stable) ackEpoch(epoch int64, repeated bool) promise {
	if s.epochs.Accepted != epoch {
		violated("ACKEPOCH of epoch %d, but acceptedEpoch is durably %d", epoch, s.epochs.Accepted)
	}
	current := s.epochs.Current
	if repeated || s.blank {
		current = -1
	}
	return promise{Message{Type: AckEpoch, Epoch: current, Zxid: s.last}}
}

// ackEpochWithNothing is the answer of a learner that cannot use its history: it does not count and asks for a
// snapshot. Source: quorum-protocol 5.5.
func (s *stable) ackEpochWithNothing(epoch int64) promise {
	p := s.ackEpoch(epoch, true)
	p.message.Zxid = 0
	return p
}

// ackNewLeader promises that the history of the leader of the epoch is durable, and then its epoch (D6).
func (s *stable) ackNewLeader(epoch int64, history proto.Zxid) promise {
	if s.epochs.Current != epoch {
		violated("ACK of NEWLEADER of epoch %d, but currentEpoch is durably %d", epoch, s.epochs.Current)
	}
	if s.last < history {
		violated("ACK of NEWLEADER of epoch %d, but the log is durable up to %v only and not %v",
			epoch, s.last, history)
	}
	return promise{Message{Type: Ack, Zxid: proto.MakeZxid(epoch, 0)}}
}

// ack promises that the log is durable through z (D8).
func (s *stable) ack(z proto.Zxid) promise {
	if s.last < z {
		violated("ACK of %v, but the log is durable up to %v", z, s.last)
	}
	return promise{Message{Type: Ack, Zxid: z}}
}

// vote returns what this server votes for in an election (D3); a blank server votes for none. It must not be
// called while a write is in flight.
func (s *stable) vote(id proto.ServerID) Vote {
	if s.blank {
		return Vote{Leader: id, Zxid: -1}
	}
	return Vote{Leader: id, Zxid: s.last, Epoch: s.epochs.Current}
}

// writes collects the writes for the host, in an order in which no part can be durable before an earlier one.
type writes struct {
	seq  Seq
	jobs []Persist
	// State of the last job: whether it may still take an Append or a change of epochs, and where its Append
	// begins.
	from proto.Zxid
}

// job returns the last write of this Output if a part of the given rank may still join it, or a new write.
func (w *writes) job(rank int) *Persist {
	if n := len(w.jobs); n > 0 && w.jobs[n-1].rank() <= rank {
		return &w.jobs[n-1]
	}
	w.seq++
	w.jobs = append(w.jobs, Persist{Seq: w.seq, AcceptedEpoch: -1, CurrentEpoch: -1})
	return &w.jobs[len(w.jobs)-1]
}

// The parts of a Persist in the order in which they are made durable.
const (
	rankInterim = iota + 1
	rankTruncate
	rankInstall
	rankAppend
	rankEpochs
	rankEnsemble
)

func (p *Persist) rank() int {
	switch {
	case p.Ensemble != nil:
		return rankEnsemble
	case p.AcceptedEpoch >= 0, p.CurrentEpoch >= 0, p.Initialize:
		return rankEpochs
	case len(p.Append) > 0:
		return rankAppend
	case p.Install != nil:
		return rankInstall + 1 // another Install is a new write
	case p.Truncate:
		return rankTruncate + 1
	case p.Interim != nil:
		return rankInterim + 1
	}
	return 0
}
