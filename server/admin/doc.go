// Package admin is ZooKeeper's AdminServer: commands over HTTP that say in JSON what the four-letter words
// say in text, and beside them what schedulers and scrapers ask for. Source: operations 3.
//
//	GET /commands            names of the commands, as HTML
//	GET /commands/NAME       one command, by its name or an alias; the prefix is admin.commandURL
//	GET /metrics             the metrics, in Prometheus' format
//	GET /healthz             200 while the process answers
//	GET /readyz              200 while the server serves clients, 503 while it does not
//	GET /debug/pprof/        Go's profiles, only if they are switched on
//
// A command answers 200 even if it fails, as ZooKeeper's does: the outcome is in the key "error" of the
// answer. Exceptions are wrong methods (405), refused credentials (401, 403) and the commands snapshot and
// restore. All of it is open to everybody who reaches the port, but for those two: bind it accordingly, or ask
// for certificates (Options.TLS).
//
// # Contract
//
// The package knows a server only by the interface Node, so that it can be tested without one. It never calls
// Node for a command that needs a serving server while Node.Serving is false.
//
// # Bounds
//
// Connections, the size of headers and bodies, the time to send a request and to take an answer, and the
// number of commands that run at once are limited: see limits.go. What is beyond a limit waits or is refused;
// it does not disturb the clients of the server.
//
// # State
//
// A Server owns the limits above and the times of the last snapshot and the last restore that were asked for. Everything else is
// asked of Node for each request. All methods may be called by any number of goroutines.
package admin
