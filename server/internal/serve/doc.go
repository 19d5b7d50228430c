// Package serve is the part of a server that clients see: client ports, connections, reads, watches, and the
// applier, which applies committed txns and answers.
//
// # Goroutines and what they own
//
//	accept         one per client port: accepts connections
//	reader         one per connection: its reader, with the input; executes reads; hears from the socket
//	writer         one per connection with a full socket: writes; hears from goroutines that add output
//	catch up       one per connection with many reads behind a write: executes them
//	flush          helpers of the applier for an event with very many watchers
//	drain clients  ends connections at a rate, while an operator drains the server
//	applier        all writes to the State, and the watches that they fire; hears from the host and the journal
//
// # Locks
//
// Conn.mu guards the output of one client and the queue of its requests in flight. watchers.mu, together with Store.Mu
// for reading, guards the watches; the applier holds Store.Mu for writing instead. The order of all locks of a server
// is in package server.
//
// # Order of events and replies
//
// A reply that reflects the state at a zxid is added to the connection's output under the same hold of Store.Mu
// under which the state was read. The applier adds watch events under Store.Mu for writing, before it adds the
// reply to the request that caused them. So a client sees an event before anything that reflects a later state
// (guarantee 4). Requests of one connection are answered in order: while one of its writes is in flight, everything
// behind it waits in its queue, and the applier runs the waiting reads when it has applied the write.
//
// # A connection
//
// A connection has two sides. Conn is what any goroutine may use; feed and reader are what one goroutine alone
// touches. A greeting has the feed until there is a session, and the reader has it from then on. Both sides are made
// of parts: types that hold state, know neither the connection nor the server, and return what is to be done. The
// side that has the part does it, because it knows the locks and the socket.
//
// # Files
//
// From the ground up; a file uses those before it.
//
//   - The parts. Of both sides: identity.go (who the client is), transport.go (its socket, with TLS or without). Of
//     Conn: output.go (what waits to be sent, and how far the connection has come to its end), and inflight.go
//     (requests that cannot be answered yet). Of feed: input.go (what has arrived, cut into frames) and pacer.go
//     (turns and rates). Of reader: arrival.go (a long setWatches).
//   - The connection: conn.go (Conn, and how its reader is woken), connset.go (all connections, and limits on their
//     number), watchers.go (all watches), front.go (the whole, and what it needs of the host).
//   - Output: reply.go (frames), flush.go (how output reaches the socket), end.go (how connections end).
//   - Figures: figures.go (counts, samples), stages.go (how long the stages of requests take).
//   - Reads: execute.go, listing.go (wide znodes), catchup.go (behind a write).
//   - Writes: applier.go, ending.go (sessions with very many ephemerals).
//   - What a client sends: feed.go (how it arrives). Its beginning, a greeting: handshake.go (sessions), word.go
//     (four-letter words), tls.go (the handshake of TLS).
//   - The reader: reader.go (its state and locks), request.go (reads and writes), auth.go, setwatches.go, outcomes.go,
//     serve.go (the loop).
//   - The parts of the server: security.go with credentials.go (certificates, users, secrets, the audit log),
//     ports.go (client ports), drain.go (clients that are sent elsewhere). They and watchers.go do not know Front,
//     which has their methods.
//   - The server: listener.go (accepts connections), inside.go (clients in this process). Of the system: gone_*.go
//     (has a client ended already), backlog_*.go.
package serve
