// Package server runs one Warren node: it accepts clients, keeps their sessions, turns their
// writes into txns, makes those durable, applies them, and answers reads from the local state.
// Every other package of the server side is used here and meets the others only here.
//
// # Goroutines and what they own
//
//	node        the agreement, the role, links, Preparer hears from readers, peers and the journal through inboxes
//	journal     the tail of the wal.Log, the epochs      hears from node
//	applier     writes to State and Watches              hears from node
//	reader      one per connection: its input, its reads hears from the socket
//	drain       one per connection whose socket is full  hears from whoever adds output
//	clock       expiry of sessions                       hears from time
//	snapshotter at most one snapshot at a time, purging  hears from journal
//	reaper      abandoned containers and TTL znodes      hears from time
//	guard       free disk space                          hears from time
//
// All of them are started by Server.start and joined by Server.Stop.
//
// # Locks
//
// store.mu guards the State: the applier writes under Lock, all others read under RLock. Watches and the
// slots of watchers change under Lock, or under RLock together with watchMu. conn.mu guards what is to be
// sent to one client and which of its requests wait for a write.
//
// Order: store.listings or store.long, then store.mu, then conn.mu, then one of store.watchMu, connSet.mu
// and the locks of flow.Inbox, sessions.Tracker and limits.WriteBudget. Within one of the last no other
// lock is taken. No lock is held across I/O that can block.
//
// # Order of events and replies
//
// A reply that reflects the state at a zxid is added to the connection's output under the same
// hold of store.mu under which the state was read. The applier adds watch events under Lock, before it
// adds the reply to the request that caused them. So a client sees an event before anything that
// reflects a later state (guarantee 4). Requests of one connection are answered in order:
// while one of its writes is in flight, everything behind it waits in its queue, and the applier
// runs what waited when it has applied the write.
package server
