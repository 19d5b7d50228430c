package zab

import (
	"hash/adler32"

	"github.com/seed94657493/warren/proto"
)

// Seq numbers the writes that the core asks for, from 1.
type Seq uint64

// Output is what the host must do after it has given the core some input. Source: doc.go, the duties of the host.
type Output struct {
	// Persist is what the host makes durable, in this order, after everything that earlier Outputs asked for.
	Persist []Persist
	// Lineage, if not nil, is stored after all of Persist. No promise waits for it, and a crash may lose it.
	Lineage *Lineage
	// Send may leave at once, in this order for each link. It holds no promise before what it promises is
	// durable: the core holds a promise back until Persisted.
	Send []Message
	// Deliver holds committed txns, durable here, in zxid order without gaps: apply them to the served state.
	Deliver []Txn
	// Dial asks for connections to the server that this server learns from. The host answers each with LinkUp or
	// LinkDown.
	Dial []Dial
	// Close names links to close when all earlier messages on them have been sent. The core hears nothing more
	// from them.
	Close []LinkID
	// Throttled names those of Close whose observers have to connect again later: see Limits.SnapSyncsMax.
	Throttled []LinkID
	// Rivals names those of Close on which a learner has introduced itself as a server that follows on another link.
	Rivals []Rival
	// Synced holds the tokens of the Sync calls of this server itself that are answered: reads after them are up
	// to date.
	Synced []uint64
	// Renew asks the host to call Core.Renew as soon as it has proposed every txn that it has numbered.
	Renew bool
	// Status is the state of the core after the input.
	Status Status
}

// Persist is one write. The parts are made durable one after the other in the order of the fields: the epochs
// must never be on the disk before the history above them. Source: quorum-protocol 6.8 S2, S5.
type Persist struct {
	Seq Seq

	// Interim, if not nil, is stored as the lineage: what holds of the history that is on the disk as well as of the
	// one that this write begins to make of it. A crash in between may leave a part of the latter.
	Interim *Lineage

	// Truncate: discard every txn above Last in the log and every snapshot that may hold one; if the state in
	// memory holds one, load it again.
	Truncate bool
	Last     proto.Zxid

	// Install, if not nil, replaces the whole database.
	Install *Install

	// Append is added to the log. The slice and the payloads are shared: read only.
	Append []Txn

	// AcceptedEpoch and CurrentEpoch are stored if not -1.
	AcceptedEpoch int64
	CurrentEpoch  int64

	// Lineage is stored in one step with CurrentEpoch.
	Lineage *Lineage

	// Initialize: this server counts from now on (Config.Blank). Remember that the database exists, though it may
	// be empty, and then that this server is not blank any more.
	Initialize bool

	// Ensemble, if not nil, is the committed configuration now. Source: quorum-protocol 11.5.
	Ensemble *Ensemble
}

// Install says how a received state becomes the database: take the state loaded from the SNAP on Link, apply Txns
// in order (some of them may be in it already), write it as a snapshot at Last, fsync, switch to it atomically
// and discard the old log, whose tail may belong to another history. Served reads see the new state from then on.
// Source: quorum-protocol 6.8 S5, B5, B15.
type Install struct {
	Link LinkID
	Txns []Txn
	Last proto.Zxid
}

// Dial asks for a connection to a port of Peer; Link is its number.
type Dial struct {
	Link LinkID
	Peer proto.ServerID
	Port Port
}

// Rival is a link on which the server of another link, the holder, is said to have connected, and has not.
type Rival struct{ Link, Holder LinkID }

// Port is one of the ports on which a server serves learners.
type Port uint8

// The ports.
const (
	LearnerPort Port = iota // of a leader. Source: quorum-protocol 4
	// Of a follower, for observers. ZooKeeper: observerMasterPort. Source: quorum-protocol 12.2.
	MasterPort
)

// Phase is the phase of the protocol that a server is in. Source: quorum-protocol 1.1.
type Phase uint8

// The phases.
const (
	Election Phase = iota
	Discovery
	Synchronization
	Broadcast
)

// String returns the name in ZooKeeper's capitals.
func (p Phase) String() string {
	return [...]string{"ELECTION", "DISCOVERY", "SYNCHRONIZATION", "BROADCAST"}[p]
}

// Status is what the host may report about a core.
type Status struct {
	State  State
	Phase  Phase
	Leader proto.ServerID // the leader that is followed, or this server; -1 while looking
	// The server that this server learns from: Leader, or of an observer perhaps a follower; -1 if none.
	Master  proto.ServerID
	Epoch   int64  // of that leader; 0 before it is known
	Serving bool   // clients may be accepted: the state reflects what a quorum agreed on
	Stopped bool   // handed over; the server no longer takes part in anything
	Fatal   error  // not nil: the process must stop; nothing was promised that does not hold
	Reason  string // why the last role ended

	// Outside is not nil while this server has to stay outside of the ensemble, because the ensemble has another
	// history, or an epoch below one that this server has promised. Only an operator, or the next election,
	// changes that.
	Outside *Outside

	// How often leading ended because a voter that elected this server looked again: see Timing.EpochWait.
	Deserted int
}

// ended reports whether the core does nothing any more.
func (s *Status) ended() bool { return s.Stopped || s.Fatal != nil }

// Outside says why a server stays outside of the ensemble.
type Outside struct {
	Leader proto.ServerID // the server that leads the ensemble
	Reason string
	Theirs string // the lineage of the leader, "" if it has none
	Own    string // the lineage of this server
}

// Epochs are the two numbers that a server keeps forever. Current <= Accepted. Source: quorum-protocol 1.3.
type Epochs struct {
	Accepted int64 // highest epoch promised to a leader
	Current  int64 // epoch of the last leader whose history was adopted
}

// History answers questions about the durable log of this server.
type History interface {
	// Locate finds the neighbours of z: at is the largest zxid <= z and next the smallest > z in the log. next is
	// 0 if at is the last. ok is false if the log does not reach down to z, if the log is not verified to be
	// without a gap from at to its end, or if reading from there costs too much; false is always safe. The core
	// calls it and waits: it reads one segment at most. Source: quorum-protocol 6.3 rule 4, B15.
	Locate(z proto.Zxid) (at, next proto.Zxid, ok bool)
	// Sums returns the checksums of the txn at z. ok is false if the log does not have the txn, or if reading it
	// costs too much; false is always safe. The core calls it and waits.
	Sums(z proto.Zxid) (sums Sums, ok bool)
}

// Sums are checksums of the payload of a txn, by which two servers find out whether they have the same one.
//
// A ZooKeeper server with digest.enabled=false logs what its leader proposes without the digest of the tree. So the
// logs of an ensemble may hold the same txn in two forms.
type Sums struct {
	Whole uint32 // Adler-32 of the payload
	Bare  uint32 // Adler-32 of the payload without the digest; Whole if it has none
}

// SumsOf returns the checksums of a payload. Its first n bytes are what is left without the digest.
func SumsOf(payload []byte, n int) Sums {
	s := Sums{Whole: adler32.Checksum(payload)}
	s.Bare = s.Whole
	if n < len(payload) {
		s.Bare = adler32.Checksum(payload[:n])
	}
	return s
}

// same reports whether both are of the same txn: equal in all, or equal without the digest that one of them has.
func (s Sums) same(o Sums) bool {
	return s.Whole == o.Whole || s.Bare == o.Bare && (s.Bare == s.Whole || o.Bare == o.Whole)
}
