// Package embed runs a server, or an ensemble of servers, inside the process that uses it. It is for tests of
// programs that use ZooKeeper: they run against the real thing, with real elections and real session expiry, in
// milliseconds and without a port to choose.
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
// Clients connect over TCP on loopback, to ports that the system has chosen and that a server keeps over its
// restarts. The servers are those of package server, with every goroutine that they have in production. Between
// them there is a switch in memory instead of a network. It can partition, delay and heal. A direction that is cut
// loses nothing: it delivers later, like TCP. Data lives in memory, on a filesystem that simulates a crash, unless
// Options.Dir names a directory.
//
// Times are short: a tick is 100 ms, a leader that is cut off steps down after a second, session timeouts are at
// least 200 ms. Options.Configure can change every setting of zoo.cfg.
//
// # Faults
//
// Stop hands over as an operator's SIGTERM does. Kill is SIGKILL: connections end, running work is not finished,
// and data that was written but not synced is still there. PowerLoss keeps the synced data and a random part of
// the rest. Wipe empties the disk of a server that is down. Start brings a server back. Partition, Isolate, OneWay
// and Delay act on the network between the servers, RefuseClients on the network to the clients; Heal ends all of
// them. ExpireSession ends a session as a silence of its client would. Disk returns the filesystem, which can be
// slow, full or broken. A server whose disk fails ends, and Server is nil then.
//
// # Ownership
//
// Ensemble and its methods may be used by any number of goroutines; actions on one server run one after the other.
// network.mu guards ports, connections and cuts, stream.mu one direction of one connection. network.mu is taken
// before stream.mu.
package embed
