package console

import (
	"net/http"
	"strings"
	"sync"

	"github.com/seed94657493/warren"
	"github.com/seed94657493/warren/internal/site"
	"github.com/seed94657493/warren/server/internal/api"
)

// docsRoot is the path below which the project's pages are served, before a proxy adds a prefix. Everybody may read
// them: they say nothing about the server.
const docsRoot = "/docs/"

// readPages returns a function that reads a file of the site. The site is made when the first visitor asks for it.
func readPages() func(name string) ([]byte, error) {
	made := sync.OnceValues(func() (*site.Site, error) { return site.New(warren.Pages, "../console/") })
	return func(name string) ([]byte, error) {
		s, err := made()
		if err != nil {
			return nil, err
		}
		return s.File(name)
	}
}

// docs serves a page, or what belongs to one.
func (c *Console) docs(w http.ResponseWriter, r *http.Request) {
	api.Guard(w)
	name, ok := strings.CutPrefix(r.URL.Path, docsRoot)
	if !ok {
		w.Header().Set("Location", "docs/") // relative: a proxy may have put a prefix before it
		w.WriteHeader(http.StatusFound)
		return
	}
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	w.Header().Set("Content-Security-Policy", policy)
	c.manual.serve(w, r, name)
}
