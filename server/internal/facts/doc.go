// Package facts is what a server knows of itself and of its ensemble, and what of it a visitor may know. Operators ask
// for it in several ways, which all say the same: four-letter words (package words), metrics (metrics), admin commands
// (admin), the API and the console (api, console).
//
// Facts has everything that there is to know; it hides nothing. Shown is Facts for a visitor, with the tree: ACLs
// decide what it sees, as for a client. A record of an answer is here, once, with its keys in JSON. Answers of admin
// commands have ZooKeeper's keys (package admin has the few records whose keys differ from those of the API).
//
// # State, goroutines and locks
//
// The package owns nothing of the server, and changes nothing but the figures that an operator resets. Its one
// goroutine, Keep, asks the other servers of the ensemble every two seconds and tells the log what is wrong. What
// they have said last, and since when there is each finding, is in keeper, behind its lock, which nobody holds
// while a server is asked. Facts keeps the trace mask, too, which has no effect, and the probe of the locks
// (env.Liveness). Shown keeps what is expensive to find again: the sizes of subtrees that are being counted
// (counts) and a state of the past for the next page (travel), each behind a lock of its own.
//
// Facts also has the tickets for tasks of other servers (tasks), behind a lock that is held for a moment.
//
// Any goroutine may ask: the reader goroutine of a connection for a word, those of net/http for everything else.
// Store.Mu is taken for reading, and the lock of a connection, for a moment at a time: a walk of the tree takes steps,
// and keeps its place as a name in between.
//
// # Files
//
// Of the server:
//
//	facts          Facts: the parts of a server that are read
//	process        the process and its machine: environment, memory, descriptors
//	configuration  what the server was told
//	disk           sizes, snapshots, digests
//	stats          how much was done, and how fast
//	gauges, quotas, numbers  the numbers of mntr and of the exporter
//	connections, watches, dump  clients, what they watch, their sessions and ephemerals
//	top, slow      what causes most of the work; what took long
//	quorum         the place in the ensemble, as admin commands tell it
//	own, troubles  what this server tells of itself to the others, and what it finds of itself
//	held           what servers tell each other about their clients, sealed
//	task           what visitors of one server want of another, sealed
//	asking, keeper what the others have said last; the findings, as every surface tells them
//	servers, ensemble  the servers and the ensemble, as the API tells them
//
// Who may know what:
//
//	operator       checks credentials: of admin commands, of super users, and of identities in ACLs
//	refusal        errors for visitors, with their HTTP statuses
//	acl            ACLs as text; which znodes may be read
//	shown          Shown, visitors and their logins
//
// The tree, for visitors:
//
//	znode, sessions  a znode, a page of children, of sessions
//	walk           the order of every walk, a walk in steps, and a search
//	recipes, sizes  what else a walk finds: locks and queues, sums
//	subtree        a whole subtree, for a plan or an export
//	past, difference, history  what was: a znode, a comparison, the versions of a znode
//	audit, backups  who has changed it; from what it can be brought back
package facts
