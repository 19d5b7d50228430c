// Package datatree is the replicated state and its rules: znodes, sessions, ACLs and quotas
// (State), the change of that state by txns (Apply), the answers to reads, the way from a request to
// a txn (Preparer), snapshots (Walker, Loader) and watches (Watches).
//
// # Contract
//
// Apply is a function of state and txn: nothing here looks at a clock, a map's order or a random
// number where it could be seen. Two States that have applied the same txns hold the same tree,
// and the digest says so.
//
// State and Watches do not lock. The server guards both with one RWMutex: any number of readers, or
// one writer. What a read returns (names, data, ACL lists, paths) is valid until the lock is
// released.
//
// # Storage
//
// Everything of which there are millions is free of pointers, so that the garbage collector does
// not look at it: records of 80 bytes in chunks (slab), addressed by 32-bit NodeIDs; names and data
// in slots of pages (blocks); one table keyed by (parent, name) that grows a segment at a time
// (table); siblings, and the znodes of one owner, in lists that run through the records. Nothing is
// ever copied as a whole, so nothing pauses as a whole. ACL lists are interned (ACLTable).
//
// # Ownership
//
// State owns records, blocks, table, ACLs and sessions, and knows the Walkers that are about. A Walker
// belongs to one goroutine; State moves its cursor when the znode under it goes. A Preparer owns the
// changes that are not applied yet. Watches owns the watches of this server.
package datatree
