// Package admin is ZooKeeper's AdminServer: commands over HTTP that answer in JSON what the four-letter words
// answer in text, and endpoints for schedulers and metrics scrapers. Source: operations 3.
//
//	GET /commands            names of the commands, as HTML
//	GET /commands/NAME       one command, by its name or an alias; the prefix is admin.commandURL
//	POST /commands/NAME      one that changes something; it reads a JSON object, restore reads a snapshot
//	GET /metrics             the metrics, in Prometheus' format
//	GET /healthz             200 while the process answers, 503 while clients wait for the server itself
//	GET /readyz              200 while the server does its part, 503 while it does not; ?clients: takes clients
//	GET /debug/pprof/        Go's profiles, only if they are switched on
//
// A command answers 200 even if it fails, as ZooKeeper's does: the outcome is in the key "error" of the answer.
// Exceptions are wrong methods (405), refused credentials (401, 403), the commands snapshot and restore, and those
// that steer the server (400, 409, 429). Every client that reaches the port may use all of it except these commands:
// bind the port accordingly, or ask for certificates (Options.TLS).
//
// # Contract
//
// The package knows a server only by the interface Node, so that it can be tested without one. It never
// calls Node for a command that needs a serving server while Node.Serving is false.
//
// # Bounds
//
// Connections, the size of headers and bodies, the time to send a request and to take an answer, and the number
// of commands that run at once are limited: see limits.go. Requests beyond a limit wait or are refused; they do
// not disturb the clients of the server.
//
// # State
//
// A Server owns the limits above and the times of the last requested snapshot and restore. It reads everything
// else from Node for each request, in the records of package facts, which have ZooKeeper's keys. All methods may be
// called by any number of goroutines.
//
// # Files
//
//	server     the server: which path is answered by what, and the probes
//	command    the table of commands, and how one is run
//	answer, layout  answers, and ZooKeeper's layout of JSON
//	authorize, ids  credentials, and what a request without them sees of sessions
//	inspect, clients, ensemble, top  commands that tell something
//	snapshot, restore, steer  commands that change something
//	limits, tls, fatal  of any HTTP server of operators: places for connections, TLS beside plain text, panics
//	node       Node, the server as the commands need it
package admin
