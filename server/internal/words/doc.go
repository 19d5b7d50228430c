// Package words answers operators: the four-letter words of the client port, the commands of the admin server, and
// the metrics.
//
// A Reporter reads the other parts of a server and owns nothing of them. Only the admin command restore changes
// something, by Host.Restore. Words are answered in the reader goroutine of their connection, admin commands and
// scrapes in the goroutines of net/http. Each takes Store.Mu for reading, and the lock of a connection, for a
// moment at a time.
package words
