package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/seed94657493/warren/server/internal/api"
)

// The application is a program for the browser, in TypeScript below app/, bundled into static/app by test/bundle. It
// has no facts but those of the API. Its addresses are behind a #, so that paths of znodes reach neither proxies nor
// their logs, and any prefix works.

// shell is the page in which the application runs: its frame, empty, which is painted while the application loads. The
// names of its files are followed by their tags, so that a browser that has them need not ask for them.
const shell = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Warren</title>
<link rel="icon" href="static/icon.svg">
<link rel="modulepreload" href="static/app/app.js">
<script src="static/app/boot.js"></script>
<link rel="stylesheet" href="static/app/app.css">
</head>
<body>
<div id="app"><div class="frame"><aside class="rail"><a class="brand" href="./"><img src="static/icon.svg" alt="">
<span class="label">Warren</span></a></aside><header class="top"></header>
<main><div class="page faint" role="status">Loading…</div></main></div></div>
<noscript><p>The console needs scripts. <code>warren status</code>, <code>warren shell</code> and the API below
<code>/api/v1</code> do not.</p></noscript>
</body>
</html>
`

func (c *Console) app(w http.ResponseWriter, _ *http.Request, _ *api.Visitor) error {
	text := shell
	for _, name := range []string{"static/icon.svg", "static/app/boot.js", "static/app/app.css", "static/app/app.js"} {
		text = strings.ReplaceAll(text, `"`+name, `"`+name+"?v="+strings.Trim(c.files.get(name).tag, `"`))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write([]byte(text)) // the visitor may have gone
	return nil
}

// moved are the pages that the application shows now, by the names that they had before.
var moved = map[string]string{"tree": "tree", "search": "search", "recipes": "recipes", "hot": "top", "slow": "slow",
	"sizes": "sizes", "sessions": "sessions", "configuration": "configuration", "changes": "live",
	"steering": "servers", "past": "past", "difference": "difference", "ensembles": "ensembles", "login": ""}

// forApp hands a request of the application to the API, and reports whether it is one. The cookie of a login holds for
// the folder of the page that has set it: so the application has the API below its own folder, and logs in and out
// beside its page, as the forms of the other pages do.
func (c *Console) forApp(w http.ResponseWriter, r *http.Request, name string) bool {
	switch {
	case strings.HasPrefix("/"+name, api.Root+"/"):
	case (name == "login" || name == "logout") && r.Method == http.MethodPost && isJSON(r):
		name = strings.TrimPrefix(api.Root, "/") + "/" + name
	default:
		return false
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + name
	c.api.ServeHTTP(w, inner)
	return true
}

func isJSON(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
}

// file is a file that is served, and does not change while the program runs.
type file struct {
	plain, packed []byte // packed is nil if it is no smaller
	tag           string // of the content
}

// files are those that were asked for, by name. There are only as many as read has.
type files struct {
	read func(name string) ([]byte, error)

	mu   sync.Mutex // held while a file is read and packed, so that visitors keep at most one core busy
	kept map[string]*file
}

func newFiles(read func(name string) ([]byte, error)) *files {
	return &files{read: read, kept: map[string]*file{}}
}

// get returns a file; nil if there is none.
func (f *files) get(name string) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.kept[name]; one != nil {
		return one
	}
	text, err := f.read(name)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(text)
	one := &file{plain: text, tag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	var small bytes.Buffer
	packer, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // the level is one
	_, _ = packer.Write(text)                                      // a buffer takes everything
	_ = packer.Close()
	if small.Len() < len(text)*9/10 {
		one.packed = small.Bytes()
	}
	f.kept[name] = one
	return one
}

// hashed are the names of files that another content would change.
var hashed = regexp.MustCompile(`-[0-9A-Z]{8}\.(js|woff2)$`)

// serve answers with a file. A browser asks each time whether its copy still holds, unless the address has a hash of
// the content.
func (f *files) serve(w http.ResponseWriter, r *http.Request, name string) {
	one := f.get(name)
	if one == nil || !isGet(r) {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if v := r.URL.Query().Get("v"); hashed.MatchString(name) || v != "" && `"`+v+`"` == one.tag {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("Content-Type", kinds[path.Ext(name)])
	h.Set("ETag", one.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == one.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	text := one.plain
	if one.packed != nil && takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		text = one.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // the visitor may have gone
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if coding, weight, _ := strings.Cut(part, ";"); strings.TrimSpace(coding) == "gzip" {
			return strings.ReplaceAll(weight, " ", "") != "q=0"
		}
	}
	return false
}
