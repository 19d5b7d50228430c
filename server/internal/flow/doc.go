// Package flow holds the values that move through a server: requests on their way to txns, txns on their way to
// the tree, and the queues in which they wait.
//
//	connection --Batch of Requests--> node --ApplyBatch of Items--> applier --answers--> connection
//
// A Request is a write of a client, or the begin or end of a session. The host goroutine makes an Item of it: the
// txn that it became, if any, and the client that gets the answer. The Item goes on when the txn is durable and
// committed.
//
// # Owners
//
// A Batch and an ApplyBatch have one owner at a time, the goroutine that holds them; they pass from one goroutine
// to the next through an Inbox, and back to a Pool. A FIFO and RecentTxns have one owner, or the owner's lock guards
// them.
//
// # Locks
//
// Only Inbox has a lock. Within it no other lock is taken, and no method of a client is called. The package
// starts no goroutine and reads no clock.
package flow
