// Package zk has the API of github.com/go-zookeeper/zk on top of package client: an application moves by changing
// one import.
//
//	import "github.com/seed94657493/warren/client/zk" // was github.com/go-zookeeper/zk
//
// Every exported name of go-zookeeper 1.0.4 is here with the same signature and the same meaning. The intended
// improvements are:
//
//   - Events are not dropped because the receiver was slow: the channel of Connect holds 4,096, and makes room
//     for events of the session by dropping the oldest.
//   - Names are resolved again whenever a server is looked for, so that servers may move to other addresses.
//   - A single server is dialled at once after its connection was lost, not after a second.
//   - Close returns when the session has ended, its connection is closed and its goroutines have ended; an
//     expired session leaves no connection behind.
//   - Events of watches arrive before any answer that shows the change, even when a watch is set again on a new
//     connection, which happens before any other request.
//   - A callback of WithEventCallback may block, and may use the Conn: it has a goroutine of its own.
//   - CreateProtectedEphemeralSequential and Lock leave no znode behind when they fail; a Lock whose znode is
//     gone is not held.
//   - An operation that waits while its session expires fails with ErrSessionExpired, and is not sent in the next
//     session.
//   - Requests of many goroutines travel together, and a request costs an allocation or two, not dozens.
//   - Errors that the API has no name for, and those that it has, are also found by errors.Is with the errors of
//     package client.
//
// New programs should use package client: it has contexts, tells whether a lost write may have been applied, and
// has persistent watches, caches and reads in batches. With Conn.Client a program can move to it in small steps.
//
//	conn, _, err := zk.Connect([]string{"zk1", "zk2", "zk3"}, 10*time.Second)
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	data, stat, changed, err := conn.GetW("/settings")
//	if err == zk.ErrNoNode {
//
// For dependencies that import go-zookeeper the package can replace it without any change of theirs. In the
// program's go.mod:
//
//	require github.com/go-zookeeper/zk v1.0.4
//	replace github.com/go-zookeeper/zk => github.com/seed94657493/warren/client/zk v0.1.0
//
// Beyond go-zookeeper 1.0.4 there are Conn.Client and two additions of widely used forks: SimpleDNSHostProvider
// and State.IsConnected.
//
// # Inside
//
// A Conn has a client.Client and adds the differences. The goroutine that looks for servers and reads from them
// makes the states and events of go-zookeeper from the hooks of the client. A HostProvider walks through the
// servers. Operations without a connection fail with ErrNoServer when all servers were tried without success.
package zk
