// Package audit writes the audit log: a line for each write of a client of this server, and for each ephemeral
// znode that ends with its session, in ZooKeeper's format. Source: operations 7.1.
//
// When a request is read, the fields for its line are noted (Subject) and kept beside it; the applier adds the
// outcome. Lines are gathered in memory, and the goroutine that calls Run writes them.
//
// # Locks
//
// Log has one lock, for the lines that are not written yet. Any goroutine may add lines; to add one never waits
// for the disk. When backlog bytes wait for a slow disk, Full is true, and the server takes no further request
// from any socket.
package audit
