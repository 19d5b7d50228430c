// Package client is a client of ZooKeeper's protocol, for Warren and for Apache ZooKeeper 3.5 to 3.10.
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
// string in a random order, resolving names anew each time. It offers the session with the newest zxid that it
// has seen, so that a server that lags behind refuses it. While the name server is silent or fails, the last known
// addresses of the servers are used. The client sends a heartbeat after a third of the session timeout without a
// request, and looks for another server after two thirds without a byte from the server. State and States report
// the state of the session. The connect string "dns-srv://name" takes the servers from the SRV records of a name.
//
// Only a server declares a session expired. That ends the client, unless WithRenewal asks for a new session. The
// default is enough for a program that is restarted when it fails. A program that must keep running uses
// WithRenewal(nil), or WithRenewal with a function that creates its ephemerals again:
//
//	c, err := client.Dial(ctx, servers, client.WithRenewal(nil))
//
// # Operations
//
// Every operation takes a context first and waits as long as it allows: for a connection, for room among the
// outstanding requests, for the answer. It starts no goroutine. Requests of one goroutine are answered in the order of
// its calls. On an ensemble of Warren servers, operations survive the loss of a connection: on its next connection the
// client asks which of them were executed, returns the answers of those, and sends the others again (see
// WithoutOutcomes). On other servers they fail with ErrConnectionLoss, Error.MayHaveApplied says whether a write may
// have been applied, and nothing but Retry, CreateProtected and DeleteSurely sends a request twice. Async starts
// operations without waiting.
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
// There are three layers: package proto is the codec; conn is one connection, a reader and a writer goroutine around a
// queue of calls; session opens one connection after another, and the methods of Client are thin layers on top of it.
// Owners:
//
//	session goroutine   session's fields up to mu, hosts; it is the reader of the connection, and completes calls
//	lookups             one goroutine per name of a server or service that is looked up; it ends with the client
//	writer goroutine    the socket's output; one write for all waiting requests. A caller writes a lone small one
//	callers             a call until it is pushed, and after it is done
//
// Lock order: watchSet.mu -> session.mu -> conn.mu. None is held while waiting.
package client
