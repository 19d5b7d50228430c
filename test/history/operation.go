package history

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/seed94657493/warren/proto"
)

// Infinity is the Return of an operation whose outcome is unknown.
const Infinity = math.MaxInt64

// Operation is one request and its answer, if it came.
type Operation struct {
	Client int // number of the session
	Sent   int // place among the requests of its connection
	Call   int64
	Return int64 // ns since the recording began, as Call; Infinity if there was no reply

	Op      proto.OpCode
	Path    string
	Data    string // written, or read
	Version int32  // expected by a write
	Watch   bool   // sets a one-shot watch
	Mode    proto.CreateMode
	Synced  bool // a read right behind a sync of the same connection, whose Call this has

	Err  proto.ErrCode
	Zxid proto.Zxid
	Stat proto.Stat // of setData, getData, exists
}

// Known reports whether there was a reply.
func (o *Operation) Known() bool { return o.Return != Infinity }

// OK reports whether there was a reply and it was no error.
func (o *Operation) OK() bool { return o.Known() && o.Err == proto.OK }

// IsWrite reports whether the operation changes its path.
func (o *Operation) IsWrite() bool {
	return o.Op == proto.OpCreate || o.Op == proto.OpDelete || o.Op == proto.OpSetData
}

// IsRead reports whether the operation shows its path.
func (o *Operation) IsRead() bool { return o.Op == proto.OpGetData || o.Op == proto.OpExists }

func (o *Operation) String() string {
	return fmt.Sprintf("%v %s by client %d (request %d): %s at %v", o.Op, o.Path, o.Client, o.Sent,
		o.Err.Name(), o.Zxid)
}

// Event is a notification.
type Event struct {
	Type proto.EventType
	Path string
	Zxid proto.Zxid
}

// Item is one arrival on a connection: a reply if Operation is set, else an event.
type Item struct {
	Operation *Operation `json:",omitempty"`
	Event     *Event     `json:",omitempty"`
}

// Connection is what arrived on one connection, in order, and what did not.
type Connection struct {
	Client  int
	Session proto.SessionID
	Items   []Item
	Unknown []*Operation // sent and not answered, in order
}

// History is a recording: connections in the order in which they were made.
type History struct {
	Connections []*Connection
}

// Operations returns all operations, answered or not.
func (h *History) Operations() []*Operation {
	var list []*Operation
	for _, c := range h.Connections {
		for _, item := range c.Items {
			if item.Operation != nil {
				list = append(list, item.Operation)
			}
		}
		list = append(list, c.Unknown...)
	}
	return list
}

// WriteFile keeps the history of a failure as JSON.
func (h *History) WriteFile(name string) error {
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return os.WriteFile(name, text, 0o644)
}
