package client

import (
	"strconv"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/traceid"
)

// Types of package proto that are part of this API.
type (
	// Stat is a znode's metadata. Czxid, the zxid of its creation, is a fencing token.
	Stat = proto.Stat
	// Zxid is the position of a txn in the order that all servers agree on.
	Zxid = proto.Zxid
	// SessionID identifies a session.
	SessionID = proto.SessionID
	// WatcherType selects watches for HasWatch and RemoveWatches.
	WatcherType = proto.WatcherType
	// TraceID holds the ids of an operation in traces.
	TraceID = traceid.ID
	// Mode is the kind of znode that a create makes.
	Mode = proto.CreateMode
)

// The kinds of znodes.
const (
	Persistent              = proto.ModePersistent
	Ephemeral               = proto.ModeEphemeral
	PersistentSequential    = proto.ModePersistentSequential
	EphemeralSequential     = proto.ModeEphemeralSequential
	Container               = proto.ModeContainer
	PersistentTTL           = proto.ModePersistentTTL
	PersistentSequentialTTL = proto.ModePersistentSequentialTTL
)

// The watches that a WatcherType selects. A one-shot watch of ExistsW is one of data.
const (
	WatcherAny        = proto.WatcherAny
	WatcherData       = proto.WatcherData
	WatcherChildren   = proto.WatcherChildren
	WatcherPersistent = proto.WatcherPersistent
	WatcherSubtree    = proto.WatcherPersistentRecursive
)

// Permission bits of an ACL.
const (
	PermRead   = proto.PermRead
	PermWrite  = proto.PermWrite
	PermCreate = proto.PermCreate
	PermDelete = proto.PermDelete
	PermAdmin  = proto.PermAdmin
	PermAll    = proto.PermAll
)

// AnyVersion as an expected version matches every version.
const AnyVersion int32 = -1

// ACL grants permissions to an identity.
type ACL struct {
	Perms  int32  // bit set of PermRead, PermWrite, PermCreate, PermDelete, PermAdmin
	Scheme string // "world", "digest", "ip", "sasl", "x509", "auth"
	ID     string // identity within the scheme
}

// OpenACL grants every permission to every client: the ACL of a create without an ACL.
func OpenACL() []ACL { return []ACL{{PermAll, "world", "anyone"}} }

// ReadACL lets every client read.
func ReadACL() []ACL { return []ACL{{PermRead, "world", "anyone"}} }

// CreatorACL grants every permission to the identities of the connection that creates, and none to others.
func CreatorACL() []ACL { return []ACL{{PermAll, "auth", ""}} }

// EventType is the kind of a watch event.
type EventType int32

// The events of a watch. The first four come from the server; the client makes the others, so that every change
// that may have been missed is reported.
const (
	NodeCreated         = EventType(proto.EventNodeCreated)
	NodeDeleted         = EventType(proto.EventNodeDeleted)
	NodeDataChanged     = EventType(proto.EventNodeDataChanged)
	NodeChildrenChanged = EventType(proto.EventNodeChildrenChanged)

	// WatchRearmed follows a reconnect on a persistent watch: the watch is set again, and changes made in between
	// may not have been reported. One-shot watches do not need it: the server reports what they missed.
	WatchRearmed EventType = -10
	// WatchOverflow says that the receiver was too slow: events after this one were dropped until it was received.
	WatchOverflow EventType = -11
	// WatchLost says that the watch could not be kept and why (Event.Err): the session has expired, the client is
	// closed, or the server does not know persistent watches. Without renewal of the session it is the last
	// event.
	WatchLost EventType = -12
)

// String returns the event's name.
func (t EventType) String() string {
	switch t {
	case WatchRearmed:
		return "WatchRearmed"
	case WatchOverflow:
		return "WatchOverflow"
	case WatchLost:
		return "WatchLost"
	}
	return proto.EventType(t).String()
}

// Event is an event of a watch.
type Event struct {
	Type EventType
	Path string // the znode that changed; for the client's own events the watched path
	// Txn that changed it; -1 if the server did not send it (before 3.9, and events missed while
	// disconnected).
	Zxid Zxid
	Err  error // why, for WatchLost
}

// String returns the type, path and zxid.
func (e Event) String() string {
	s := e.Type.String() + " " + e.Path
	if e.Zxid > 0 {
		s += " " + e.Zxid.String()
	}
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// State is the state of the session as far as the client knows it.
type State int

// The states of a session. Expired, AuthFailed and Closed are final, except that a client with renewal goes from
// Expired to Connecting with a new session.
const (
	// Connecting is the state before the first connection of a session.
	Connecting State = iota
	// Connected means that the session is alive and served.
	Connected
	// ConnectedReadOnly means that a server without quorum answers reads.
	ConnectedReadOnly
	// Disconnected means that no server is connected; the session is alive if a server is found in time. A holder
	// of a lock must stop here.
	Disconnected
	// Lost follows Disconnected when it is not certain that a server has heard of the session within its timeout.
	// The session has probably expired, but no server has said so. It may still become Connected, with all its
	// ephemerals.
	Lost
	// Expired means that a server has declared the session dead; its ephemerals are gone.
	Expired
	// AuthFailed means that a server refused the credentials in the options of the client.
	AuthFailed
	// Closed means that Close was called.
	Closed
)

var stateNames = [...]string{"connecting", "connected", "connected read-only", "disconnected", "lost", "expired",
	"auth failed", "closed"}

// String returns the state's name.
func (s State) String() string {
	if s >= 0 && int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// IsConnected reports whether requests are being answered.
func (s State) IsConnected() bool { return s == Connected || s == ConnectedReadOnly }
