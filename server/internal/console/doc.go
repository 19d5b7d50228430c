// Package console serves the console below /console/ of the admin port: an application that runs in the browser,
// files of znodes, and the pages of links. It has no facts of its own: it asks package api, as a program would over
// HTTP, and so everything holds that api promises about ACLs, logins and limits.
//
// The application is TypeScript below app/, bundled into static/app by test/bundle, and checked in. It asks the API
// below its own folder, where the cookie of its login holds; see app.go.
//
// The pages of links are for readers without a login. They are Go code on gomponents, a library that escapes every
// text and is called through package html, and have no scripts.
//
// The project's pages are below /docs/: package site makes them from Markdown that is built in.
//
// All links are relative, so that a proxy may put any prefix before them. Nothing is fetched from other servers, and
// the content security policy allows no script and no style in a page.
//
// A Console is used by the goroutines of net/http. After New nothing of it changes but the files that it has packed,
// which any of them may add under a mutex.
package console
