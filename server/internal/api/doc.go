// Package api answers programs and the console over HTTP: the ensemble, znodes, sessions, settings and changes as JSON
// below /api/v1, on the admin port. openapi.json describes it; a test writes that file from the routes and records.
//
// The API knows the server by the interface Server, in the records of packages visible, ensemble, facts and inside.
// ACLs decide what a visitor sees and changes, as for a client: a visitor without a login has no identity, so that it
// sees what world:anyone may read. A login proves the identities that addauth would. It lives in the memory of the
// process (logins), is found by a random cookie, and ends by time. Requests that change something need a login, the
// setting warren.console.writes, and a proof that the visitor's own page has sent them.
//
// Every queue, table, body, page and search has a limit, named where it is used. An API is used by the goroutines of
// net/http; logins and each throttle have a lock, which is held for a moment and never while the server is asked.
//
// # Files
//
//	api        API: its options and bounds, and how errors are answered
//	routes     the table of resources, and those of one znode
//	works, views, past, steering  those of many znodes, of what explains an ensemble and of backups, of the past, of
//	           orders
//	passing    requests that are passed on to another server, and those that another one passes on
//	support    bundles for bug reports
//	changes    streams of changes
//	visitor, links  logins, and links that show znodes without one
//	ensembles  what other ensembles say of themselves
//	server     Server, the server as the API needs it
//	records    records of requests, and the names of those of other packages
package api
