// Package datatree is the replicated state: znodes, sessions, ACL lists and the use of quotas (State),
// the change of that state by txns (Apply), the answers to reads, and snapshots (Walker, Loader).
// Package prepare makes the txns, package watch tells connections of changes; State knows neither.
//
// # Contract
//
// Apply is a function of state and txn: nothing here lets a clock, the order of a map or a random number change a
// visible result. Two States that have applied the same txns hold the same tree and have the same digest.
//
// State does not lock. The server guards it with one RWMutex: any number of readers, or one writer.
// The results of a read (names, data, ACL lists, paths) are valid until the lock is
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
// A session may own millions of ephemerals. An Ending takes them out of the tree at once, in one short
// step, and leaves their memory to Reap. Until that has freed it, the table has entries of znodes that
// do not exist any more; find alone meets them.
//
// # Ownership
//
// State owns records, blocks, table, ACLs and sessions, and knows the Walkers that exist. A Walker
// belongs to one goroutine; State moves its cursor when the znode under it goes. An Ending belongs
// to the goroutine that applies.
package datatree
