// Package console serves the console: pages about the ensemble, znodes, sessions, settings and changes, below
// /console/ of the admin port. It has no facts of its own: it asks package api, as a program would over HTTP, and so
// everything holds that api promises about ACLs, logins and limits.
//
// Pages are Go code on gomponents, a library that escapes every text and is called through package html. They work
// without scripts. Two scripts make them comfortable: htmx, a library (static/htmx-2.0.11.min.js, its licence beside
// it), replaces parts of a page, and console.js shows the stream of changes and moves by keys. All links are relative,
// so that a proxy may put any prefix before them. Nothing is fetched from other servers, and the content security
// policy allows no script in a page.
//
// A Console is used by the goroutines of net/http; it does not change after New.
package console
