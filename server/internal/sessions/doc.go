// Package sessions tracks the sessions of clients between the txns that begin and end them: when the server last
// heard of a client, which connection serves it, and when its session expires.
//
// A standalone server, and the leader of an ensemble, track every session and decide that one has expired. A
// learner tracks the sessions of its own clients and tells the leader which of them it heard of. A local session
// is known to one server only, which alone decides about it. Source: quorum-protocol 8.4 to 8.6.
//
// # What it owns
//
// Tracker owns the table of sessions and the buckets in which they expire. It knows neither sockets nor txns: the
// connection of a client is a Conn, and callers pass times, ns on the server's clock. It gives new sessions their
// ids, which are reserved on the disk ahead of use (ids.go): callers pass the function that writes.
//
// # Goroutines
//
// The package starts none. Readers of connections create, resume and touch sessions; the applier removes them;
// the host goroutine leads, follows and checks them; the session clock, one goroutine with a Clock, expires
// them.
//
// # Locks
//
// Tracker has one lock, which its methods take. Within it no other lock is taken, and no method of a Conn is
// called. To touch a session takes no lock: it stores a time. The sweep moves a session that was touched
// meanwhile to its later bucket.
package sessions
