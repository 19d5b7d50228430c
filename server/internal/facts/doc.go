// Package facts is what a server knows of itself: of its process, its disk, its tree, its clients and its place in the
// ensemble. Operators ask for it in several ways, which all say the same: four-letter words (package words), metrics
// (metrics), admin commands (admin), the API and the console (api, console). What it has heard of other servers is in
// package ensemble, and what of all that a visitor may know is in package visible.
//
// Facts hides nothing. A record of an answer is here, once, with its keys in JSON. Answers of admin commands have
// ZooKeeper's keys (package admin has the few records whose keys differ from those of the API).
//
// # State, goroutines and locks
//
// The package owns nothing of the server, and changes nothing but the figures that an operator resets. It keeps the
// trace mask, which has no effect, the probe of the locks (env.Liveness), and what is known of the folders of backups.
// It has one goroutine for each of these while somebody asks: their disks may not answer.
//
// Any goroutine may ask: the reader goroutine of a connection for a word, those of net/http for everything else.
// Store.Mu is taken for reading, and the lock of a connection, for a moment at a time.
//
// # Files
//
//	facts          Facts: the parts of a server that are read
//	process        the process and its machine: environment, memory, descriptors
//	configuration  what the server was told
//	disk, backups, verify  sizes, snapshots, digests, free space; what the manifest of a backup tells
//	tree           how large the tree is
//	stats          how much was done, and how fast
//	gauges, quotas, numbers  the numbers of mntr and of the exporter
//	connections, watches, dump  clients, what they watch, their sessions and ephemerals
//	top, slow      what causes most of the work; what took long
//	quorum         the place in the ensemble, as admin commands tell it
//	operator       checks credentials: of admin commands, of super users, and of identities in ACLs
package facts
