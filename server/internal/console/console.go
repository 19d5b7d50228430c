package console

import (
	"bytes"
	"embed"
	"net/http"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/seed94657493/warren/server/internal/api"
	h "github.com/seed94657493/warren/server/internal/console/html"
)

//go:embed static
var staticFiles embed.FS

// Root is the path below which the console is served, before a proxy adds a prefix.
const Root = "/console/"

// policy lets a page load from this server only, and no script or style that stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Console answers requests for pages, and hands those for the API on.
type Console struct {
	api    *api.API
	files  *files
	manual *files // below /docs/
}

// New returns the console of an API.
func New(a *api.API) *Console {
	return &Console{api: a, files: newFiles(staticFiles.ReadFile), manual: newFiles(readPages())}
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, isPage := strings.CutPrefix(r.URL.Path, Root)
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		c.api.ServeHTTP(w, r)
	case r.URL.Path == "/docs" || strings.HasPrefix(r.URL.Path, docsRoot):
		c.docs(w, r)
	case !isPage:
		api.Guard(w)
		w.Header().Set("Location", "console/") // relative: a proxy may have put a prefix before it
		w.WriteHeader(http.StatusFound)
	case strings.HasPrefix(name, "static/"):
		api.Guard(w)
		c.files.serve(w, r, name)
	case c.forApp(w, r, name):
	default:
		c.page(w, r, name)
	}
}

// kinds are the types of static files.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml", ".gif": "image/gif",
	".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2"}

func isGet(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// page serves a page, or what belongs to one.
func (c *Console) page(w http.ResponseWriter, r *http.Request, name string) {
	api.Guard(w)
	w.Header().Set("Content-Security-Policy", policy)
	if at, ok := moved[name]; ok && isGet(r) {
		if q := r.URL.Query().Encode(); q != "" { // as it is read, not as it was written
			at += "?" + q
		}
		_ = redirect(w, "./#/"+at)
		return
	}
	serve := routes[r.Method+" "+name]
	if r.Method == http.MethodHead {
		serve = routes[http.MethodGet+" "+name]
	}
	v, err := c.api.Visitor(w, r)
	switch {
	case err != nil:
		v = &api.Visitor{}
	case serve == nil:
		err = &api.Refusal{Status: http.StatusNotFound, Text: "there is no such page"}
	default:
		err = serve(c, w, r, v)
	}
	if err != nil {
		_ = show(w, frame{title: api.TroubleOf(err).Title, visitor: v, trouble: err},
			h.P(link("./", "Back to the overview")))
	}
}

// show writes a page, with the status of what was refused.
func show(w http.ResponseWriter, f frame, main ...g.Node) error {
	status := http.StatusOK
	if f.trouble != nil {
		status = api.TroubleOf(f.trouble).Status
	}
	var text bytes.Buffer
	if err := layout(f, main...).Render(&text); err != nil {
		return err // cannot happen: a buffer takes everything
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the visitor may have gone
	return nil
}

// redirect sends the visitor to another page of the console.
func redirect(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
