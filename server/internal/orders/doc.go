// Package orders has the orders that operators give to a running server: which there are, their records, their checks,
// how often each is carried out, and the line of each in the log. The commands of the admin server and the API of the
// console take their orders from here, so that an order is the same whichever way it comes.
//
// Each order may be repeated: the second time it finds everything done. Most have a dry run, which changes nothing. An
// order knows the server by the interface Server. Whether the operator may give it is decided before, by the package
// that has received it.
//
// Live is the running server behind that interface. It owns the change of the log level that ends by itself, with a
// timer and a lock; everything else it reads and changes by the parts of the server. It also writes a snapshot for a
// client, and takes the state of one that a client sends.
//
// The package has no goroutine. An Executor may be used by any number of them; the lock of each of its intervals is
// held for a moment, and never while the server is asked.
//
// # Files
//
//	kinds     the orders and their answers, with their checks
//	orders    Executor: decodes an order, carries it out, writes its line in the log; Interval: how often
//	loglevel  the level of the log, changed for a time
//	server    Live: the running server
//	restore   snapshots for clients, and from them
package orders
