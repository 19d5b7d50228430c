package system

import "fmt"

// Check is one thing that a run checks. A run that fails names the first check that has noticed something.
type Check string

// The checks.
const (
	OneHistory     Check = "one history"               // all servers apply the same txns
	SameDigest     Check = "same digest"               // and have the same digest at the same zxid
	ModelDigest    Check = "digest of the model"       // which is that of the model
	AskedFor       Check = "each txn was asked for"    // by one request, and is what the model makes of it
	SessionOrder   Check = "order of a session"        // its writes become txns in the order in which it sent them
	ReplyOrder     Check = "order of replies"          // replies come in the order of the requests
	NeverBack      Check = "a session never goes back" // to an earlier zxid
	Syncs          Check = "syncs"                     // show all that any client had heard of before
	Writes         Check = "writes"                    // have the result of the model; what is acknowledged is a txn
	Outcome        Check = "outcomes"                  // what is told of requests that were not answered is so
	Reads          Check = "reads"                     // are what the model answers at their zxid
	Events         Check = "events"                    // are those of the model, in their place
	SessionEnds    Check = "end of sessions"           // of clients that are there: only in time
	DeadClients    Check = "sessions of dead clients"  // end in time
	SessionIDs     Check = "session ids"               // are given out once
	LocalSessions  Check = "local sessions"            // stay at their server
	ReadOnlyWrites Check = "writes to read-only"       // are refused
	Configurations Check = "configurations"            // are what was asked for, everywhere
	Room           Check = "refusals for lack of room" // are not given because of one follower
	EachAnswers    Check = "each server answers"       // while nothing goes wrong
	EndsByItself   Check = "a server ends by itself"   // without a disk that fails
	Asserted       Check = "assertion"                 // of the server's code
	Convergence    Check = "convergence"               // after the last fault
	Bounded        Check = "memory is bounded"         // that of the server's queues
)

// Broken is what a check has noticed.
type Broken struct {
	Check Check
	Text  string
}

// Error implements error.
func (b *Broken) Error() string { return string(b.Check) + ": " + b.Text }

// broken returns an error of a check.
func broken(c Check, format string, args ...any) error {
	return &Broken{c, fmt.Sprintf(format, args...)}
}
