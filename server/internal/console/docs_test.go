package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren"
	"github.com/seed94657493/warren/internal/site"
	"github.com/seed94657493/warren/test/must"
)

// Everybody may read every file of the site, with the protections of the console.
func TestDocs(t *testing.T) {
	c := newConsole(&fakeServer{}, false)
	s := must.Do(site.New(warren.Pages, ""))(t)
	for _, name := range s.Files() {
		w := visit(c, "GET", "/docs/"+name, nil, "")
		require.Equal(t, http.StatusOK, w.Code, name)
		require.NotEmpty(t, w.Header().Get("Content-Type"), name)
		require.Equal(t, policy, w.Header().Get("Content-Security-Policy"), name)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), name)
	}
	require.Equal(t, visit(c, "GET", "/docs/recipes/index.html", nil, "").Body.String(),
		visit(c, "GET", "/docs/recipes/", nil, "").Body.String())
	p := parse(t, visit(c, "GET", "/docs/recipes/mutex.html", nil, ""))
	require.Equal(t, "../../console/", p.attribute("a", "class", "to-console", "href"))

	packed := send(c, "GET", "/docs/search-index.js", "", "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
	require.Less(t, packed.Body.Len(), 256<<10, "a reader loads it with the first search")
	require.Equal(t, http.StatusNotModified, send(c, "GET", "/docs/search-index.js", "", "If-None-Match",
		packed.Header().Get("ETag")).Code)

	moved := visit(c, "GET", "/docs", nil, "")
	require.Equal(t, http.StatusFound, moved.Code)
	require.Equal(t, "docs/", moved.Header().Get("Location"), "relative: a proxy may have put a prefix before it")
	for _, name := range []string{"none.html", "../go.mod", "docs/INSTALL.md", "pictures/", "pictures/shell.ansi",
		"pictures/../INSTALL.md", "static/page.html"} {
		require.Equal(t, http.StatusNotFound, visit(c, "GET", "/docs/"+name, nil, "").Code, name)
	}
	require.Equal(t, http.StatusNotFound, send(c, "POST", "/docs/index.html", "").Code)
}
