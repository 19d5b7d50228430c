// Package abuse lets one bad client at a time loose on a server and watches what it costs the others.
//
// The server is a process with the limits of a default configuration. Well-behaved clients read and write in a closed loop
// all the time, from an address of their own; the bad client comes from other loopback addresses. What the good ones
// wait (99th percentile and worst), and the resident memory of the server, are taken before, during and after the abuse.
//
// # Contract
//
// Whatever the bad client does: no good client sees an error or waits longer than a stated time, the memory stays below the
// limit that the abuse is listed with, the server goes on, and connections, file descriptors, sessions, watches and requests in
// flight are back to what they were soon after the end.
//
// The numbers are small. With -abuse.full they are large, and a table is printed for docs/SECURITY.md:
//
//	go test -count=1 -timeout 60m -v ./test/abuse -run TestAbuse -abuse.full
package abuse
