// Package inside is how visitors of the console and the API change and follow znodes: by a ZooKeeper client in the
// server's own process, with one session on a connection that need not be a socket. So the rules for clients hold
// without a second implementation: quotas, ACLs, limits, watches and the audit log.
//
// Works are changes of many znodes. A plan is made from the tree, by package visible. A work makes the plan again,
// compares the seals, and goes through a session as multis, in which each delete names the version that the plan has
// seen, and fails if the znode has children that the plan has not. So a work of one multi does what was shown, or
// nothing.
//
// Changes has no state: any goroutine may call it. A session belongs to one goroutine. It has no state but its
// connection: when that ends, the session is over, and a call in flight may have taken effect (errUnknown).
//
// # Files
//
//	session   the client
//	change    Changes: a change of one znode; changes as they happen
//	plan      what a work would do: delete, copy, move; quota and document add quotas and imports
//	document  exports and imports
//	carry     a plan as multis
package inside
