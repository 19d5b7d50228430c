// Package visible is what a visitor of the console or the API may see: what a server knows of itself and of its
// ensemble (packages facts and ensemble), and the tree. ACLs decide what a visitor sees of the tree, as for a client;
// sessions have labels that open nothing.
//
// # State, goroutines and locks
//
// Shown changes nothing of the server. It keeps what is expensive to find again, each behind a lock of its own: the
// sizes of subtrees that are being counted (counts), a state of the past for the next page (travel), and the figures
// of the last day (trends.Ring), and the check of a backup (verifications). One visitor at a time reads the log for a
// history (reading). Of its goroutines, KeepTrends samples those figures, and verify checks a backup; the others are
// those of net/http.
//
// Store.Mu is taken for reading, and the lock of a connection, for a moment at a time: a walk of the tree takes steps,
// and keeps its place as a name in between.
//
// # Files
//
// Who may know what:
//
//	shown    Shown, visitors and their logins
//	refusal  errors for visitors, with their HTTP statuses
//	acl      ACLs as text; which znodes may be read
//
// The server and its ensemble:
//
//	sessions, session, watchers  clients of all servers
//	top, slow      what causes most of the work of all servers; what took long at them
//	trends         how figures developed, and what happened
//	task           what a visitor wants of another server
//	reconfiguration  what another configuration would change
//	audit, backups, verify  who has changed the tree; from what it can be brought back
//	activity       the requests of one znode
//
// The tree:
//
//	znode, quotas  a znode, a page of children, a quota
//	walk           the order of every walk, a walk in steps, and a search
//	recipes, sizes, growth  what else a walk finds: locks and queues, sums, and how those have grown
//	subtree        a whole subtree, for a plan or an export
//	past, difference, history, terms  what was: a znode, a comparison, the versions of a znode, who led when
package visible
