package recipes

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed94657493/warren/client"
)

// Kind says what an Operation is.
type Kind int

// The kinds of operations.
const (
	Grant Kind = iota
	Use
	End
)

var kindNames = [...]string{"grant", "use", "end"}

// Operation is one thing that a user of a lock saw. Call and Return are nanoseconds since the recording began.
type Operation struct {
	Kind         Kind
	Client       int
	Token        client.Zxid
	Call, Return int64
	IsShared     bool // others may have the lock at the same time, if they share it too
}

// String returns kind, client, token and times.
func (o Operation) String() string {
	return fmt.Sprintf("%s of %v by client %d [%d, %d]", kindNames[o.Kind], o.Token, o.Client, o.Call, o.Return)
}

// never is the Return of an End: the lock may be taken away long after the last Use.
const never = math.MaxInt64

// History is what was recorded about one lock. Its methods may be called concurrently.
type History struct {
	start time.Time

	mu  sync.Mutex
	ops []Operation
}

// NewHistory starts the clock.
func NewHistory() *History { return &History{start: time.Now()} }

// Now is the time since the recording began, in nanoseconds.
func (h *History) Now() int64 { return int64(time.Since(h.start)) }

// Add records an operation.
func (h *History) Add(o Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Operations returns what was recorded so far, in the order of Add.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Operation(nil), h.ops...)
}

// possession is the state of a lock: the token of the holder, and the largest so far.
type possession struct{ holder, last client.Zxid }

// exclusive is a lock as one thing after the other.
var exclusive = porcupine.Model{
	Init: func() any { return possession{} },
	Step: func(state, input, _ any) (bool, any) {
		s, o := state.(possession), input.(Operation)
		switch {
		case o.Kind == Grant && s.holder == 0 && o.Token > s.last:
			return true, possession{o.Token, o.Token}
		case o.Kind == Use && s.holder == o.Token:
			return true, s
		case o.Kind == End && s.holder == o.Token:
			return true, possession{0, s.last}
		}
		return false, s
	},
	DescribeOperation: func(input, _ any) string { return input.(Operation).String() },
}

// Judge returns an error unless the operations are those of a lock that excludes. An error is also that it was not
// decided in time.
func Judge(ops []Operation, timeout time.Duration) error {
	events := make([]porcupine.Operation, len(ops))
	for i, o := range ops {
		events[i] = porcupine.Operation{ClientId: o.Client, Input: o, Output: nil, Call: o.Call, Return: o.Return}
	}
	switch porcupine.CheckOperationsTimeout(exclusive, events, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("recipes: %d operations: not decided within %v", len(ops), timeout)
	}
	if breach := firstBreach(ops); breach != "" {
		return fmt.Errorf("recipes: %d operations: %s", len(ops), breach)
	}
	return fmt.Errorf("recipes: %d operations are in no order of a lock", len(ops))
}

// firstBreach describes a use that began after a later grant had returned, which is what most breaches are.
func firstBreach(ops []Operation) string {
	for _, use := range ops {
		for _, grant := range ops {
			if use.Kind == Use && grant.Kind == Grant && grant.Token > use.Token && grant.Return < use.Call {
				return fmt.Sprintf("%v after %v", use, grant)
			}
		}
	}
	return ""
}
