package flow

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Client is the connection of a client, as the host goroutine and its roles see it. Values are compared with ==.
type Client interface {
	sessions.Conn
	// Generation is the number of the period of service in which the connection was accepted. A member that
	// serves again does not answer connections of an earlier period.
	Generation() int64
	// Superseded reports whether Supersede was called.
	Superseded() bool
	// Resumed answers a client that reconnects with its session: s is the session and old the connection that
	// served it so far; s is nil if the session does not exist. whole is that of the Resumption. It is called once, by
	// a goroutine that does not hold the lock of the connection.
	Resumed(s *sessions.Session, old sessions.Conn, timeoutMs int32, whole bool)
	// Unanswered tells a client that connects that the leader was lost before it was known whether its session exists.
	// The client asks again when there is a leader, or its connection ends.
	Unanswered()
	// Release ends a hold, in which the connection takes no requests: it goes on in a later period of service, or
	// ends. It reports false if the connection has ended. The caller does not hold the lock of the connection.
	Release(generation int64, goesOn bool) bool
}

// Held is a connection that takes no requests until Client.Release, and its session.
type Held struct {
	Client  Client
	Session *sessions.Session
}

// Resumption is a client that reconnects with its session, and waits until the leader has confirmed the session.
type Resumption struct {
	Client    Client
	ID        proto.SessionID
	TimeoutMs int32
	Received  int64 // when the client was heard of, ns on the server's clock
	Asked     int64 // when the leader was asked, on the same clock
	Question  int64 // the number of the question, which the answer repeats
	// Whole is set with the answer: the state has all that the client has asked for before, or it never will.
	Whole bool
}
