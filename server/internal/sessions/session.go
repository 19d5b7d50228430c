package sessions

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Conn is the connection of a client. Values are compared with ==.
type Conn interface {
	// Abort ends the connection at once. It takes the lock of the connection, and may be called again.
	Abort()
	// Supersede is Abort, and no request of the connection is taken any more: its client has a newer connection.
	Supersede()
}

// Session is a session that this server keeps alive. Its life in the replicated state begins and ends with a txn;
// Session is its state between the two. Any goroutine may call its methods.
type Session struct {
	ID        proto.SessionID
	timeoutMs atomic.Int32
	heard     atomic.Int64 // when its client was last heard of, ns on the server's clock
	local     atomic.Bool  // only this server knows it
	closing   atomic.Bool  // its end has begun: no more requests of it are accepted
	moved     atomic.Bool  // at a learner: another server has its client, as the leader has said

	// Guarded by the lock of Tracker.
	conn     Conn       // the connection that serves it now, or nil
	bucket   int64      // in which it expires, -1 if in none
	owner    zab.LinkID // at a leader: the link on which its requests come
	reported int64      // at a learner: the part of heard that the leader knows
	// claimed says that its client is about to go on here, or at an observer of this follower, on another connection:
	// at a learner the leader has been asked.
	claimed bool
	silent  bool // at a leader: owner has the client no more, and other servers are told so; see silent.go
	doubted bool // at a leader: a server that had the client before may still have it, and so it is never silent

	// After is the last zxid that the leader had proposed when the client came to this server. The host goroutine
	// of a learner owns it.
	After proto.Zxid
}

// Owners of sessions other than the links of learners.
const (
	ownerHere    zab.LinkID = 0
	ownerUnknown            = OwnerUnknown
)

// OwnerUnknown is the owner of a session of which a new leader does not know yet which server has its client: the
// first link with a request for the session becomes its owner.
const OwnerUnknown = ^zab.LinkID(0)

// Touch notes that the client was heard of at now. It reports whether the client was heard of within the timeout
// before: if not, the leader may have expired the session, and this server may not have applied that yet.
func (s *Session) Touch(now int64) (inTime bool) {
	return now-s.heard.Swap(now) <= int64(s.Timeout())
}

// Heard returns when the client was last heard of.
func (s *Session) Heard() int64 { return s.heard.Load() }

// TimeoutMs returns the timeout in ms.
func (s *Session) TimeoutMs() int32 { return s.timeoutMs.Load() }

// Timeout returns the timeout.
func (s *Session) Timeout() time.Duration {
	return time.Duration(s.timeoutMs.Load()) * time.Millisecond
}

// IsLocal reports whether only this server knows the session.
func (s *Session) IsLocal() bool { return s.local.Load() }

// IsClosing reports whether the end of the session has begun.
func (s *Session) IsClosing() bool { return s.closing.Load() }

// SetClosing begins the end of the session.
func (s *Session) SetClosing() { s.closing.Store(true) }
