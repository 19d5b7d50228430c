// Package site turns the repository's Markdown pages into a web site with navigation and a search that runs in the
// browser. "make site" writes the site to a folder; a server shows the same files below /docs/.
//
// A page keeps its place: docs/runbooks/drain.md becomes runbooks/drain.html, and README.md becomes index.html. Pages
// at the top of the repository go below project/, because docs/ has a SECURITY.md, too. Links between pages are
// relative, so the site works below any prefix and from a disk. A link to a file that is not part of the site leads to
// the repository on the web. Nothing is fetched from elsewhere, and pages need no inline script or style.
//
// A Site is immutable once New has returned. It renders a file each time it is asked for it and keeps nothing, so its
// callers decide what is cached. Any goroutine may call its methods.
package site
