// Package bench puts ZooKeeper servers under load over the client protocol and measures them. It is
// what `warren bench` runs; it works against any server that speaks the protocol.
//
// # Parts
//
// A Load is one kind of work, one file each: load_mix.go (get, set, create, mixed and the mixes of
// other tools), load_paper.go, load_latencies.go, load_fanout.go, load_storm.go, load_fill.go,
// load_connections.go. Its function prepare makes a Trial of it on one Target; Run measures one Trial,
// or two in turns, and returns a Report, which is written as a table or as JSON.
//
// A fleet is the sessions of a Trial, a lane is one session and its connection. A drive is one
// stretch of load on all lanes, in which each lane asks its requester for requests. A recorder
// collects latencies and errors of a window within a drive.
//
// # Cost
//
// The generator shares the machine with what it measures, so a request costs it little: a lane has
// one goroutine; requests are encoded into one buffer by appending; all replies of one read are
// handled, and all requests they make room for are written, with one read, one clock reading and
// one write. Nothing is allocated per request. BenchmarkNothing measures this against a server
// that only answers.
//
// # Time
//
// In a closed loop a latency counts from the write of the request to the read that brought its
// reply. In an open loop it counts from when the request was due (see schedule), so that a server
// that pauses is charged for the requests it kept from being sent.
//
// # Goroutines and locks
//
// A lane's mutex guards its connection, its output and its queue of requests in flight. It is held
// while a batch is handled and never while a socket is waited for. It is taken by the lane's
// goroutine, by the pacer of an open loop, by the goroutine that writes what a full socket left
// over, and by the fleet's goroutine that pings idle lanes. A recorder's shard is locked within it.
package bench
