// Package serve is the side of a server that clients see: ports, connections, what they may ask, watches, and the applier, which
// applies committed txns and answers.
//
// # Goroutines and what they own
//
//	accept    one per client port: takes connections
//	reader    one per connection: its input and its reads; hears from the socket
//	drain     one per connection whose socket is full; hears from goroutines that add output
//	catch up  one per connection with many reads behind a write
//	flush     helpers of the applier for an event with very many watchers
//	applier   all writes to the State, and the watches that they fire; hears from the host and the journal
//
// # Locks
//
// Conn.Mu guards what is to be sent to one client and which of its requests wait for a write. watchers.mu, together with
// Store.Mu for reading, guards the watches; the applier has Store.Mu for writing instead. The order of all locks of a server is
// in package server.
//
// # Order of events and replies
//
// A reply that reflects the state at a zxid is added to the connection's output under the same hold of Store.Mu under
// which the state was read. The applier adds watch events under Lock, before it adds the reply to the request that caused them.
// So a client sees an event before anything that reflects a later state (guarantee 4). Requests of one connection are
// answered in order: while one of its writes is in flight, everything behind it waits in its queue, and the applier
// runs what waited when it has applied the write.
package serve
