package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/orders/orderstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile is a name and a text that tries to leave every context of a page.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;{{.}}` + "\u2028"

// fakeServer has one znode with a hostile name everywhere, and one user.
type fakeServer struct {
	fakeViews
	data    []byte
	acl     []api.ACL // nil for one with a hostile id
	changed []api.Change
	refuse  error

	steered        orderstest.Server
	mayNotSteer    error
	works, carried []api.Work
	refusals       []api.Refused
}

func (f *fakeServer) Ensemble() *api.Ensemble {
	leader, lag := int64(2), int64(5)
	return &api.Ensemble{State: "leader", Leader: &leader, Version: hostile,
		Problems: []api.Problem{{Severity: hostile, Check: hostile, Text: hostile, Remedy: hostile}},
		Members: []api.Member{{ID: 1, State: "absent", Addresses: []string{hostile}, ClientAddress: hostile},
			{ID: 2, Self: true, Lag: &lag}}}
}
func (f *fakeServer) DigestID(user, password string) (string, error) {
	return user + ":hash-of-" + strings.ToUpper(password), nil
}
func (f *fakeServer) Login(user, password string) ([]auth.Identity, error) {
	if password != "right" {
		return nil, api.ErrWrong
	}
	if user != "super" {
		return []auth.Identity{{Scheme: "digest", ID: user + ":hash"}}, nil
	}
	return []auth.Identity{auth.SuperIdentity("")}, nil
}
func (f *fakeServer) Znode(_ api.Actor, path string, most int) (*api.Znode, error) {
	if path == "/none" {
		return nil, proto.ErrNoNode
	}
	raw, acl := f.data[:min(len(f.data), most)], f.acl
	if acl == nil {
		acl = []api.ACL{{Scheme: "digest", ID: hostile, Perms: "cdrwa"}}
	}
	return &api.Znode{Path: path, Raw: raw, Whole: len(raw) == len(f.data), Stat: api.Stat{Version: 3, Owner: hostile},
		ACL: acl}, nil
}
func (f *fakeServer) Children(_ api.Actor, path, after string, limit int) (*api.Children, error) {
	return &api.Children{Path: path, Total: 3, Order: "name", After: hostile,
		Children: []api.Child{{Name: hostile, Readable: true, Children: 2},
			{Name: "b", Readable: true, Owner: hostile, Bytes: 12_000_000}, {Name: "c"}}}, nil
}
func (f *fakeServer) Search(api.Actor, api.Query) (*api.Found, error) {
	return &api.Found{Paths: []string{"/" + hostile}, Visited: 5, After: hostile, Missed: true}, nil
}
func (f *fakeServer) Sessions(api.Actor, uint64, int) (*api.Sessions, error) {
	return &api.Sessions{
		Total: 1, After: 7,
		Sessions: []api.Session{{Label: hostile, Address: hostile, Ephemerals: 1, Paths: []string{"/" + hostile}}},
	}, nil
}
func (f *fakeServer) Top(api.Actor, string, int) (*api.Top, error) {
	one := []api.TopEntry{{Key: hostile, Requests: 5, Bytes: 1e9, Millis: 0.5}}
	paths := []api.TopEntry{{Key: "/" + hostile, Requests: 7}, {Key: "/" + strings.Repeat("x", 511)}}
	return &api.Top{Enabled: true, Everything: true, By: "requests", WindowSeconds: 60, OneIn: 4,
		Total: api.TopSums{Requests: 10, Bytes: 10, Millis: 10}, Operations: one, Paths: paths, Sessions: one,
		Addresses: one}, nil
}
func (f *fakeServer) MaySteer(a api.Actor) error {
	if len(a.IDs) == 0 {
		return api.ErrMayNotSteer
	}
	return f.mayNotSteer
}
func (f *fakeServer) Slow(api.Actor, int) (*api.Slow, error) {
	o := api.SlowOperation{Began: 1, Operation: "setData", Path: hostile, Session: hostile, Millis: 812,
		Slowest: "sync", Stages: api.StageMillis{Sync: 800, Apply: 12}, Trace: hostile, Error: hostile}
	return &api.Slow{Everything: true, ThresholdMs: 500, Found: 1, Operations: []api.SlowOperation{o}}, nil
}
func (f *fakeServer) Settings() []api.Setting {
	return []api.Setting{{Name: hostile, Value: hostile, Origin: hostile},
		{Name: "tickTime", Value: "3s", Default: "3s"}}
}
func (f *fakeServer) Change(_ context.Context, _ api.Actor, c api.Change) (string, error) {
	f.changed = append(f.changed, c)
	return c.Path, f.refuse
}
func (f *fakeServer) Follow(context.Context, api.Actor, string, func(api.Happening) bool) error {
	return proto.ErrNoAuth
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
	return New(api.New(api.Options{Server: f, Writes: writes, RequestMax: 1 << 20,
		Orders: orders.New(orders.Options{Server: &f.steered})}))
}

// logIn logs in and returns the cookie and the token that the pages have.
func logIn(t *testing.T, c http.Handler) (cookie, token string) {
	t.Helper()
	return logInAs(t, c, "super")
}

func logInAs(t *testing.T, c http.Handler, user string) (cookie, token string) {
	t.Helper()
	w := visit(c, "POST", "/console/login", url.Values{"user": {user}, "password": {"right"}}, "")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "./", w.Header().Get("Location"))
	cookie = strings.Split(w.Header().Get("Set-Cookie"), ";")[0]
	p := parse(t, visit(c, "GET", "/console/tree", nil, cookie))
	return cookie, p.attribute("input", "name", "token", "value")
}

// page is a page as a browser takes it.
type page struct {
	t    *testing.T
	root *html.Node
}

func parse(t *testing.T, w *httptest.ResponseRecorder) *page {
	t.Helper()
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	root, err := html.Parse(w.Body)
	require.NoError(t, err)
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

var pagePaths = []string{"tree", "tree?path=" + url.QueryEscape("/a/"+hostile), "tree?view=hex", "tree?view=json",
	"tree?path=/none", "login", "none",
	"past", "past?at=0x5&path=" + url.QueryEscape("/"+hostile), "difference?from=5&to=2026-01-31+12:00",
	"difference?from=5", "ensembles", "links", "shared?link=x"}

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
				want := 200
				switch {
				case strings.Contains(path, "none"):
					want = 404
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

func TestEditorKeepsLineEndsAndBytes(t *testing.T) {
	for _, data := range []string{"a\nb\n", "\na", "a\r\nb", "\xff\x00", "", "  x "} {
		f := &fakeServer{data: []byte(data)}
		c := newConsole(f, true)
		cookie, token := logIn(t, c)
		p := parse(t, visit(c, "GET", "/console/tree?path=/a", nil, cookie))
		form := url.Values{"kind": {"set"}, "path": {"/a"}, "version": {"3"}, "token": {token}}
		for _, n := range p.all("textarea") {
			if get(n, "id") == "newdata" {
				form.Set("data", strings.ReplaceAll(textOf(n), "\n", "\r\n")) // as browsers send it
			}
		}
		form.Set("encoding", p.attribute("input", "name", "encoding", "value"))
		w := visit(c, "POST", "/console/change", form, cookie)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "tree?path=%2Fa", w.Header().Get("Location"))
		require.Equal(t, []api.Change{{Kind: api.ChangeData, Path: "/a", Data: []byte(data), Version: 3}},
			f.changed, "%q", data)
	}
}

func TestLargeDataIsNotEdited(t *testing.T) {
	for n, possible := range map[int]bool{editMax: true, editMax + 1: false, 1 << 20: false} {
		c := newConsole(&fakeServer{data: []byte(strings.Repeat("<", n))}, true)
		cookie, _ := logIn(t, c)
		w := visit(c, "GET", "/console/tree?path=/a", nil, cookie)
		size := w.Body.Len()
		p := parse(t, w)
		require.Equal(t, possible, p.attribute("textarea", "id", "newdata", "name") != "")
		require.Equal(t, "Download", textOf(p.element("a", "href", "data?path=%2Fa")))
		require.Less(t, size, 2<<20)
	}
}

func TestForms(t *testing.T) {
	f := &fakeServer{}
	c := newConsole(f, true)
	cookie, token := logIn(t, c)
	post := func(values ...string) *httptest.ResponseRecorder {
		form := url.Values{"token": {token}, "path": {"/a"}}
		for i := 0; i < len(values); i += 2 {
			form.Set(values[i], values[i+1])
		}
		return visit(c, "POST", "/console/change", form, cookie)
	}
	for _, wrong := range [][]string{{}, {"kind", "x", "version", "1"}, {"kind", "set"},
		{"kind", "set", "version", "-2"}, {"kind", "delete", "version", "1"},
		{"kind", "acl", "version", "1"}, {"kind", "acl", "version", "1", "rows", "201"},
		{"kind", "create", "name", "a/b"},
		{"kind", "set", "version", "1", "encoding", "base64", "data", "%"},
		{"kind", "set", "version", "1", "path", "a"}} {
		require.Equal(t, 400, post(wrong...).Code, "%q", wrong)
	}
	for _, refused := range [][]string{{"token", ""}, {"token", "guess"}} {
		require.Equal(t, 403, post(append(refused, "kind", "delete", "version", "1", "sure", "1")...).Code)
	}
	require.Equal(t, 401,
		visit(c, "POST", "/console/change",
			url.Values{"kind": {"delete"}, "path": {"/a"}, "version": {"1"}, "sure": {"1"}}, "").Code)
	require.Equal(t, 413, post("kind", "set", "version", "1", "data", strings.Repeat("\xff", 2<<20)).Code)
	for _, page := range []string{"login", "change", "logout"} {
		require.Equal(t, 413,
			visit(c, "POST", "/console/"+page, url.Values{"data": {strings.Repeat("x", 20<<10)}}, "").Code)
	}
	require.Empty(t, f.changed)
	require.Equal(t, 303, post("kind", "create", "name", "b", "data", "x", "sequential", "1").Code)
	require.Equal(t, 303, post("kind", "create", "path", "/", "name", "b").Code)
	require.Equal(t, "tree?path=%2F", post("kind", "delete", "version", "1", "sure", "1").Header().Get("Location"))
	require.Equal(t, 303,
		post("kind", "acl", "version", "2", "rows", "2", "scheme.0", "world", "id.0", "anyone", "perm.0", "r",
			"scheme.1", "digest", "id.1", "bob:a:b=", "perm.1", "a").Code)
	require.Equal(t, []api.Change{
		{Kind: api.ChangeCreate, Path: "/a/b", Data: []byte("x"), Sequential: true},
		{Kind: api.ChangeCreate, Path: "/b", Data: []byte{}},
		{Kind: api.ChangeDelete, Path: "/a", Data: []byte{}, Version: 1},
		{Kind: api.ChangeACL, Path: "/a", Data: []byte{}, Version: 2,
			ACL: []api.ACL{{Scheme: "world", ID: "anyone", Perms: "r"},
				{Scheme: "digest", ID: "bob:a:b=", Perms: "a"}}},
	}, f.changed)

	f.refuse = proto.ErrBadVersion
	w := post("kind", "set", "version", "1", "data", "x")
	require.Equal(t, 409, w.Code)
	p := parse(t, w)
	p.check("a refused change")
	require.Contains(t, textOf(p.all("main")[0]), "changed meanwhile")

	require.Equal(t, 403, visit(c, "POST", "/console/logout", url.Values{}, cookie).Code,
		"another site cannot log a visitor out")
	require.Equal(t, 303, visit(c, "POST", "/console/logout", url.Values{"token": {token}}, cookie).Code)
	require.Equal(t, 401, post("kind", "delete", "version", "1", "sure", "1").Code)
}

func TestNoEditorWithoutWrites(t *testing.T) {
	for _, writes := range []bool{false, true} {
		c := newConsole(&fakeServer{data: []byte("x")}, writes)
		require.Empty(t, parse(t, visit(c, "GET", "/console/tree", nil, "")).all("textarea"))
		cookie, _ := logIn(t, c)
		require.Equal(t, writes, len(parse(t, visit(c, "GET", "/console/tree", nil, cookie)).all("textarea")) > 0)
	}
}
