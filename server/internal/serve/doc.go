// Package serve is the part of a server that clients see: client ports, connections, reads, watches, and the
// applier, which applies committed txns and answers.
//
// # Goroutines and what they own
//
//	accept    one per client port: accepts connections
//	reader    one per connection: its input and its reads; hears from the socket
//	drain     one per connection with a full socket; hears from goroutines that add output
//	catch up  one per connection with many reads behind a write
//	flush     helpers of the applier for an event with very many watchers
//	drain clients  ends connections at a rate, while an operator drains the server
//	applier   all writes to the State, and the watches that they fire; hears from the host and the journal
//
// # Locks
//
// Conn.mu guards the output of one client and the queue of its requests that wait for a write. watchers.Mu,
// together with Store.Mu for reading, guards the watches; the applier holds Store.Mu for writing instead. The order
// of all locks of a server is in package server.
//
// # Order of events and replies
//
// A reply that reflects the state at a zxid is added to the connection's output under the same hold of Store.Mu
// under which the state was read. The applier adds watch events under Store.Mu for writing, before it adds the
// reply to the request that caused them. So a client sees an event before anything that reflects a later state
// (guarantee 4). Requests of one connection are answered in order: while one of its writes is in flight, everything
// behind it waits in its queue, and the applier runs the waiting reads when it has applied the write.
//
// # Files
//
// A connection: conn.go (the reader: frames, requests, room), identity.go (who the client is), transport.go (its
// socket), io.go (what has arrived), output.go (what waits to be sent), flush.go (how that reaches the socket, and the
// end of a connection), pacing.go (turns and rates). Its beginning: listener.go, connset.go (limits on their number),
// tls.go, handshake.go, auth.go, inside.go (clients in this process), word.go (four-letter words). Reads: execute.go,
// listing.go (wide znodes), catchup.go (behind a write). Watches: watchers.go, setwatches.go. Writes: applier.go,
// ending.go (sessions with very many ephemerals).
// The whole: front.go, security.go, drain.go (clients that are sent elsewhere). What is told of requests: sample.go,
// stages.go. Of the system: gone_*.go (has a client ended already), backlog_*.go.
package serve
