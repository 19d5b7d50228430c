// Package words answers operators: the four-letter words of the client port, the commands of the admin server, and the metrics.
//
// A Reporter reads the other parts of a server and owns nothing of them; the admin command restore is the only one that changes
// something, by host.Restore. Words are answered in the goroutine of their connection, admin commands and scrapes in those of
// net/http. Each takes Store.Mu for reading, and the lock of a connection, for a moment at a time.
package words
