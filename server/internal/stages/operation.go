package stages

import "github.com/seed94657493/warren/proto"

// Stage is a part of an operation. Stages are in the order of time.
type Stage uint8

// The stages. See the doc comment of the package.
const (
	Queue Stage = iota
	Prepare
	Forward
	Sync
	Quorum
	Apply
	Socket

	// Number is how many stages there are.
	Number
)

var names = [Number]string{"queue", "prepare", "forward", "sync", "quorum", "apply", "socket"}

// String returns the name for logs and metrics.
func (s Stage) String() string { return names[s] }

// Part says which part of an operation this server has measured.
type Part uint8

// The parts.
const (
	Whole  Part = iota // the client is connected to this server
	Led                // this server leads, and a learner has sent the request: up to its commit
	Logged             // this server of an ensemble has written the txn to its log: stage sync alone
)

// Operation is one operation, cut into its stages. It has one owner at a time.
type Operation struct {
	Part    Part
	Op      proto.OpCode
	Session proto.SessionID
	Xid     int32
	Zxid    proto.Zxid // of its txn; 0 if there is none
	Err     proto.ErrCode
	Path    string        // of the znode, the first of a multi; "" if that is not known; at most pathMax bytes
	Began   int64         // ns on the server's clock
	Spent   [Number]int64 // ns
	Sampled bool          // all servers trace it, however fast it was
	Mark    int64         // for the owner: where its reply ends in the output of the connection
	at      int64         // end of the last stage
}

// pathMax is how many bytes of a path are kept.
const pathMax = 256

// Begin returns an operation whose first stage begins at began, ns on the server's clock.
func Begin(part Part, op proto.OpCode, session proto.SessionID, xid int32, began int64) *Operation {
	o := new(Operation)
	o.Reset(part, op, session, xid, began)
	return o
}

// Reset is Begin without an allocation.
func (o *Operation) Reset(part Part, op proto.OpCode, session proto.SessionID, xid int32, began int64) {
	*o = Operation{Part: part, Op: op, Session: session, Xid: xid, Began: began, at: began}
}

// End ends a stage that began when the last one ended. A moment before that counts as that moment.
func (o *Operation) End(s Stage, at int64) {
	if at > o.at {
		o.Spent[s] += at - o.at
		o.at = at
	}
}

// Took is the time of all stages.
func (o *Operation) Took() int64 { return o.at - o.Began }

// Slowest is the stage that took longest.
func (o *Operation) Slowest() Stage {
	slowest := Stage(0)
	for s := range Number {
		if o.Spent[s] > o.Spent[slowest] {
			slowest = s
		}
	}
	return slowest
}

// SetPath keeps the beginning of a path.
func (o *Operation) SetPath(path []byte) { o.Path = string(path[:min(len(path), pathMax)]) }
