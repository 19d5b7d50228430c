package client

import (
	"context"
	"time"

	"github.com/seed94657493/warren/proto/traceid"
)

// Hooks observe a client, for counting, measuring and tracing. Nil functions cost nothing. All of them may be called
// concurrently and must return fast. State, Event, and End for an operation of Async are called by the goroutine that
// reads from the server: they must not wait for the client.
type Hooks struct {
	// Start is called before an operation and returns the context for the operation: a place to begin a span.
	Start func(ctx context.Context, op, path string) context.Context
	// End is called after every operation with the context that Start returned.
	End func(ctx context.Context, r OpResult)
	// State is called when the session changes.
	State func(StateChange)
	// Event is called for every watch event that the server sends, whatever receives it, and with WatchLost for
	// every path and kind of watch that ends with its session or client.
	Event func(Event)
}

// OpResult describes a finished operation.
type OpResult struct {
	Op   string        // name in the protocol, such as "getData"
	Path string        // the znode
	Took time.Duration // from the call to the answer
	Zxid Zxid          // of the reply; 0 if none came
	Err  error         // nil or *Error

	xid int32
	on  *conn // nil if the operation was not sent
}

// Trace returns the ids that Warren servers give to the spans of the operation, if they trace it: a tracing library
// can link its span to theirs. They are computed, not received; ok is false if the operation was not sent. Servers of
// ZooKeeper have no spans.
func (r *OpResult) Trace() (id TraceID, ok bool) {
	if r.on == nil {
		return id, false
	}
	return traceid.Of(r.on.session, r.on.password, r.xid), true
}

func (h *Hooks) isOn() bool { return h.Start != nil || h.End != nil }
