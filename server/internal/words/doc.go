// Package words answers operators: the four-letter words of the client port, the commands of the admin server, and
// the metrics. It also hands the facts of the server to the console and the API.
//
// A Reporter reads the other parts of a server and owns nothing of them. Changes go through the part that they
// concern: package orders, the admin command restore (Host.Restore), and what visitors of the console and the
// API change (package inside). Words are answered in the reader goroutine of their connection, admin commands and
// scrapes in the goroutines of net/http. Each takes Store.Mu for reading, and the lock of a connection, for a
// moment at a time.
package words
