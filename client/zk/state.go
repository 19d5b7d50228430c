package zk

import "cmp"

// State is the state of a Conn.
type State int32

// The states of a Conn. It goes from StateConnecting to StateConnected when a server has accepted the connection,
// to StateHasSession when it has accepted the session, and to StateDisconnected when the connection is lost.
const (
	StateUnknown       State = -1
	StateDisconnected  State = 0
	StateConnecting    State = 1
	StateSyncConnected State = 3 // in the events of watches
	// Credentials that were accepted before have been refused; the Conn cannot be used any more.
	StateAuthFailed        State = 4
	StateConnectedReadOnly State = 5
	StateSaslAuthenticated State = 6
	StateExpired           State = -112 // the session has expired; a new one follows

	StateConnected  = State(100)
	StateHasSession = State(101)
)

var stateNames = map[State]string{StateUnknown: "StateUnknown", StateDisconnected: "StateDisconnected",
	StateConnecting: "StateConnecting", StateSyncConnected: "StateSyncConnected", StateAuthFailed: "StateAuthFailed",
	StateConnectedReadOnly: "StateConnectedReadOnly", StateSaslAuthenticated: "StateSaslAuthenticated",
	StateExpired: "StateExpired", StateConnected: "StateConnected", StateHasSession: "StateHasSession"}

// String returns the name of the constant.
func (s State) String() string { return cmp.Or(stateNames[s], "Unknown") }

// IsConnected reports whether a server has accepted the session, even if it serves reads only. Forks of
// go-zookeeper have it.
func (s State) IsConnected() bool { return s == StateHasSession || s == StateConnectedReadOnly }

// EventType is the kind of an Event.
type EventType int32

// The types of events.
const (
	EventNodeCreated         EventType = 1
	EventNodeDeleted         EventType = 2
	EventNodeDataChanged     EventType = 3
	EventNodeChildrenChanged EventType = 4

	// EventSession reports a State of the Conn.
	EventSession EventType = -1
	// EventNotWatching is the event of a watch that ended with its session (ErrSessionExpired) or Conn (ErrClosing).
	EventNotWatching EventType = -2
)

var eventNames = map[EventType]string{EventNodeCreated: "EventNodeCreated", EventNodeDeleted: "EventNodeDeleted",
	EventNodeDataChanged: "EventNodeDataChanged", EventNodeChildrenChanged: "EventNodeChildrenChanged",
	EventSession: "EventSession", EventNotWatching: "EventNotWatching"}

// String returns the name of the constant.
func (t EventType) String() string { return cmp.Or(eventNames[t], "Unknown") }

// Event is a change of a watched znode, or of the state of the Conn.
type Event struct {
	Type   EventType
	State  State
	Path   string // of the znode; empty for EventSession
	Err    error  // of EventNotWatching
	Server string // of EventSession: the address
}

// EventCallback is called with every event, one after the other.
type EventCallback func(Event)
