package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile is a name and a text that tries to leave every context of a page.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;{{.}}` + "\u2028"

// fakeServer has hostile names and data everywhere. It answers only what the pages ask.
type fakeServer struct {
	api.Server
	data    []byte
	changed []api.Change
}

func (f *fakeServer) Ensemble() *api.Ensemble  { return &api.Ensemble{} }
func (f *fakeServer) Shared(api.Actor, string) {}
func (f *fakeServer) Login(_, password string) ([]auth.Identity, error) {
	if password != "right" {
		return nil, api.ErrWrong
	}
	return []auth.Identity{auth.SuperIdentity("")}, nil
}
func (f *fakeServer) Znode(_ api.Actor, path string, most int) (*api.Znode, error) {
	raw := f.data[:min(len(f.data), most)]
	return &api.Znode{Path: path, Raw: raw, Whole: len(raw) == len(f.data), Stat: api.Stat{Version: 3, Owner: hostile},
		ACL: []api.ACL{{Scheme: "digest", ID: hostile, Perms: "cdrwa"}}}, nil
}
func (f *fakeServer) Children(_ api.Actor, path, _ string, _ int) (*api.Children, error) {
	return &api.Children{Path: path, Total: 3, Order: "name", After: hostile,
		Children: []api.Child{{Name: hostile, Readable: true, Children: 2},
			{Name: "b", Readable: true, Owner: hostile, Bytes: 12_000_000}, {Name: "c"}}}, nil
}
func (f *fakeServer) Export(_ api.Actor, path string) (*api.Document, error) {
	return &api.Document{Version: 1, Root: path, Znodes: []api.DocumentZnode{{Data: new(hostile)}}}, nil
}
func (f *fakeServer) Change(_ context.Context, _ api.Actor, c api.Change) (string, error) {
	f.changed = append(f.changed, c)
	return c.Path, nil
}

// visit sends a request; a form is sent as a browser does.
func visit(c http.Handler, method, path string, form url.Values, cookie string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

func newConsole(f *fakeServer, writes bool) *Console {
	return New(api.New(api.Options{Server: f, Writes: writes, Links: true, RequestMax: 1 << 20}))
}

// logIn logs in and returns the cookie and the token that the pages have.
func logIn(t *testing.T, c http.Handler) (cookie, token string) {
	t.Helper()
	w := send(c, "POST", "/console/login", `{"user":"super","password":"right"}`)
	require.Equal(t, http.StatusOK, w.Code)
	var who api.Identity
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &who))
	return strings.Split(w.Header().Get("Set-Cookie"), ";")[0], who.Token
}

// page is a page as a browser takes it.
type page struct {
	t    *testing.T
	root *html.Node
}

func parse(t *testing.T, w *httptest.ResponseRecorder) *page {
	t.Helper()
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	root := must.Do(html.Parse(w.Body))(t)
	return &page{t, root}
}

// all returns the elements with a name.
func (p *page) all(name string) (found []*html.Node) {
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, n)
		}
	}
	return found
}

func get(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// element returns the first element that has key=value; one without anything if there is none.
func (p *page) element(name, key, value string) *html.Node {
	for _, n := range p.all(name) {
		if get(n, key) == value {
			return n
		}
	}
	return &html.Node{}
}

// attribute returns an attribute of the first element that has key=value.
func (p *page) attribute(element, key, value, wanted string) string {
	return get(p.element(element, key, value), wanted)
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// check holds what every page has to be: nothing of what clients have chosen became an element or an attribute,
// everything has a name for screen readers, and nothing is fetched from elsewhere.
func (p *page) check(name string) {
	t := p.t
	ids := map[string]bool{}
	labels := map[string]bool{}
	for _, n := range p.all("label") {
		labels[get(n, "for")] = true
	}
	for n := range p.root.Descendants() {
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style", "%s: %s=%s", name, a.Key, a.Val)
			switch a.Key {
			case "id":
				require.False(t, ids[a.Val], "%s: two elements with the id %s", name, a.Val)
				ids[a.Val] = true
			case "href", "src", "action", "hx-get", "data-stream":
				u, err := url.Parse(a.Val)
				require.NoError(t, err, "%s: %s", name, a.Val)
				require.False(t, u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "/"), "%s: %s", name, a.Val)
			}
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			require.NotEmpty(t, get(n, "src"), name)
			require.Empty(t, textOf(n), name)
		case "img", "iframe", "style", "object", "base":
			t.Errorf("%s: an element %s", name, n.Data)
		case "input", "textarea":
			inLabel := n.Parent != nil && n.Parent.Data == "label"
			require.True(t, get(n, "type") == "hidden" || inLabel || labels[get(n, "id")], "%s: %s has no label",
				name, get(n, "name"))
		case "form":
			if strings.EqualFold(get(n, "method"), "post") && get(n, "action") != "login" {
				require.NotEmpty(t, (&page{t, n}).attribute("input", "name", "token", "value"),
					"%s: a form without a token", name)
			}
		}
	}
	require.Len(t, p.all("h1"), 1, name)
	require.Len(t, p.all("main"), 1, name)
	require.Equal(t, "en", get(p.all("html")[0], "lang"))
	for _, n := range p.all("a") {
		if to, ok := strings.CutPrefix(get(n, "href"), "#"); ok {
			require.True(t, ids[to], "%s: #%s leads nowhere", name, to)
		}
	}
}

var pagePaths = []string{"links", "links?path=" + url.QueryEscape("/a/"+hostile), "shared?link=x", "shared", "none"}

func TestPages(t *testing.T) {
	for _, data := range []string{
		"", hostile, `{"a":` + strings.Repeat(" ", 70<<10) + `"` + `<script>"}`,
		"\x00\xff" + strings.Repeat("x", 5000), "a\r\nb",
	} {
		c := newConsole(&fakeServer{data: []byte(data)}, true)
		cookie, _ := logIn(t, c)
		for _, visitor := range []string{"", cookie} {
			for _, path := range pagePaths {
				w := visit(c, "GET", "/console/"+path, nil, visitor)
				require.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
				require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
				want := map[string]int{"none": 404, "shared": 410}[path]
				if want == 0 {
					want = 200
				}
				require.Equal(t, want, w.Code, path)
				parse(t, w).check(path)
			}
		}
	}
}

func TestRedirectsAreRelative(t *testing.T) {
	c := newConsole(&fakeServer{}, false)
	for _, path := range []string{"/", "/console"} {
		w := visit(c, "GET", path, nil, "")
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, "console/", w.Header().Get("Location"))
	}
}

func TestDataIsSentAsAFile(t *testing.T) {
	c := newConsole(&fakeServer{data: []byte("<script>alert(1)</script>")}, false)
	w := visit(c, "GET", "/console/data?path=/a", nil, "")
	require.Equal(t, "<script>alert(1)</script>", w.Body.String())
	require.Equal(t, "application/octet-stream", w.Header().Get("Content-Type"))
	require.Contains(t, w.Header().Get("Content-Disposition"), "attachment")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "sandbox")
}

func TestExportIsSentAsAFile(t *testing.T) {
	w := visit(newConsole(&fakeServer{}, false), "GET", "/console/export?path=/a", nil, "")
	require.Contains(t, w.Header().Get("Content-Disposition"), "attachment")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "sandbox")
	var d api.Document
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
	require.Equal(t, hostile, *d.Znodes[0].Data)
}

// The forms of links need the token of the login, and are bounded.
func TestLinkForms(t *testing.T) {
	c := newConsole(&fakeServer{}, true)
	cookie, token := logIn(t, c)
	form := func(values ...string) url.Values {
		f := url.Values{}
		for i := 0; i < len(values); i += 2 {
			f.Set(values[i], values[i+1])
		}
		return f
	}
	share := form("path", "/a", "hours", "1")
	require.Equal(t, 401, visit(c, "POST", "/console/links", share, "").Code)
	require.Equal(t, 403, visit(c, "POST", "/console/links", share, cookie).Code)
	share.Set("token", token)
	require.Equal(t, 200, visit(c, "POST", "/console/links", share, cookie).Code)
	require.Equal(t, 400, visit(c, "POST", "/console/links", form("token", token, "path", "a"), cookie).Code)
	require.Equal(t, 400, visit(c, "POST", "/console/links", form("token", token, "path", "/a"), cookie).Code)
	require.Equal(t, 403, visit(c, "POST", "/console/unlink", form("token", "guess", "id", "x"), cookie).Code)
	large := form("data", strings.Repeat("x", 20<<10))
	for _, page := range []string{"links", "unlink", "shared"} {
		require.Equal(t, 413, visit(c, "POST", "/console/"+page, large, "").Code, page)
	}
	large = form("data", strings.Repeat("\xff", 2<<20))
	require.Equal(t, 413, visit(c, "POST", "/console/links", large, cookie).Code)
}
