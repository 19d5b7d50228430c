// Package client is a client of ZooKeeper's protocol, for Warren and for Apache ZooKeeper 3.5 to 3.9.
//
//	c, err := client.Dial(ctx, "zk1:2181,zk2:2181,zk3:2181/app")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	data, stat, err := c.Get(ctx, "/settings")
//
// # Session
//
// A Client is one session. It survives connections: when one is lost the client tries the servers of the connect
// string in an order of its own, resolving names anew each time, and offers the session with the newest zxid it has
// seen, so that a server that is behind refuses it. A heartbeat is sent after a third of the session timeout without
// a request, and another server is looked for after two thirds without a byte. State and States tell what is known of
// the session.
//
// Expiry is said by a server. It ends the client, unless WithRenewal asks for a new session. A program that is
// restarted when it fails may do with the default. One that shall go on gives WithRenewal(nil), and a function
// instead of nil if there are ephemerals to be created again:
//
//	c, err := client.Dial(ctx, servers, client.WithRenewal(nil))
//
// # Operations
//
// Every operation takes a context first and waits as long as it allows: for a connection, for room among the
// outstanding requests, for the answer. No goroutine is made for it. Requests of one goroutine are answered in the
// order of its calls; those in flight when a connection is lost all fail with ErrConnectionLoss. Error.MayHaveApplied
// then says whether a write may have happened. Nothing is sent twice unless Retry, CreateProtected or DeleteSurely is
// asked to. Async starts operations without waiting.
//
// # Watches
//
// A Watch is a value with a channel. One-shot watches come from GetW, ExistsW and ChildrenW, persistent ones from
// Watch. They are set again on every new connection. No event is dropped silently: a full queue ends in
// WatchOverflow, a reconnect of a persistent watch in WatchRearmed, an expired session in WatchLost. An event is in
// its channel before the client returns any answer that shows the change.
//
// # Inside
//
// Three layers: package proto is the codec; conn is one connection, a reader and a writer goroutine around a queue of
// calls; session keeps connections coming, and the methods of Client are thin on top of it. Who owns what:
//
//	session goroutine   session's fields up to mu, hosts; it is the reader of the connection, and completes calls
//	writer goroutine    the socket's output; one write for all requests that wait. A small request that is alone is written by its caller
//	callers             a call until it is pushed, and after it is done
//
// Lock order: watchSet.mu -> session.mu -> conn.mu. None is held while waiting.
package client
