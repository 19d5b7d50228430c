// Package abuse lets one bad client at a time loose on a server and watches what it costs the others.
//
// The server is a process with the limits of a default configuration. Well-behaved clients read and write in a closed
// loop all the time, from an address of their own; the bad client is another process, at a low priority, that comes
// from other loopback addresses. Beside them there is a second server, which is not abused, with as many well-behaved
// clients of its own. What the good ones wait (99th percentile and worst), the processors that server and bad client
// use, and the resident memory of the server are taken while no other client is there, and during the abuse. What the
// clients of the second server wait during the abuse is what the machine makes any client wait: the bad client and
// the server that it keeps busy use the processors that all share. What the clients of the first server wait beyond
// that is what the server does to them.
//
// # Contract
//
// Whatever the bad client does: no good client sees an error or waits longer than a stated time, the memory stays
// below the limit that the abuse is listed with, the server goes on, and connections, file descriptors, sessions,
// watches and requests in flight are back to what they were soon after the end.
//
// The numbers are small. With -abuse.full they are large, and a table is printed for docs/PROOF.md; that takes
// seven minutes:
//
//	go test -count=1 -timeout 60m -v ./test/abuse -run TestAbuse -abuse.full
package abuse
