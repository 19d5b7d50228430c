// Package figures holds the numbers that a server keeps of itself: counters, summaries with quantiles, sizes,
// digests of the tree. The code that does the work adds to its numbers; the four-letter words, the admin commands
// and the exporter of metrics read them.
//
//	Metrics         the counters and summaries that have one of ZooKeeper's names, for mntr and the exporter
//	Server, Quorum  the figures of one server, and of its part in an ensemble
//	Conn            the figures of one connection
//	Sizes, Digests  the last, smallest and largest message; the tree's digest at some zxids
//	Pauses          the pauses of Go's runtime, under the name that dashboards of a JVM use
//
// # Goroutines and locks
//
// Any goroutine may add to the figures and read them. Counters and summaries are atomics; Sizes, Digests and the sets
// have a lock each, within which no other lock is taken. Metrics is filled when the server starts, by one goroutine;
// after that only values change. A Conn and a SizeRange have no lock: their owner guards them.
//
// srst restarts the numbers of the words. The numbers of the exporter go on, because a counter must not fall.
//
// # Files
//
//	metrics, summary, sizes  kinds of figures
//	server, ops, quorum, conn, digests, pauses  the figures that a server has
//	decimal  numbers as ZooKeeper prints them
package figures
