// Package embed runs a server, or an ensemble of servers, inside the process that uses it: for tests of programs that use ZooKeeper
// against the real thing, with real elections and real session expiry, in milliseconds and without a port to choose.
//
//	func TestWorker(t *testing.T) {
//		e := embed.Start(t, embed.Options{Servers: 3})
//		c, err := client.Dial(t.Context(), e.ConnectString())
//		...
//		leader, err := e.Leader(t.Context())
//		...
//		e.Kill(leader) // and see what the worker does
//	}
//
// # What is real and what is not
//
// Clients connect over TCP on loopback, to ports that the system has chosen and that a server keeps over its restarts. The
// servers are those of package server, with every goroutine they have in production. Between them there is no network but a switch in memory, which
// can part, delay and heal it; a direction that is cut loses nothing, it delivers late, as TCP does. Data lives in memory, on
// a filesystem that knows what a crash would leave, unless Options.Dir names a directory.
//
// Times are short: a tick is 100 ms, a leader that is cut off steps down after a second, session timeouts are 200 ms at
// least. Options.Configure changes whatever a zoo.cfg can say.
//
// # Faults
//
// Stop hands over as an operator's SIGTERM does. Kill is SIGKILL: connections end, nothing is finished, and what was written but not
// synced is still there. PowerLoss keeps what was synced and a random part of the rest. Wipe empties the disk of a server
// that is down. Start brings a server back. Partition, Isolate, OneWay and Delay act on the network between the servers, RefuseClients on
// that to the clients; Heal ends all of them. ExpireSession ends a session as a silence of its client would. Disk gives the
// filesystem, which can be slow, full or broken; a server whose disk fails ends, and Server is nil then.
//
// # Who owns what
//
// Ensemble and its methods may be used by any number of goroutines; what is done to one server is done one after the other.
// network.mu guards ports, connections and cuts, stream.mu one direction of one connection; network.mu comes first.
package embed
