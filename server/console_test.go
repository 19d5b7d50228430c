package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// browser is a visitor of the console of a server.
type browser struct {
	t      *testing.T
	base   string
	cookie *http.Cookie // nil without a login
	token  string
	header http.Header // of every request
}

func browse(t *testing.T, s *server.Server) *browser {
	return &browser{t: t, base: "http://" + s.AdminAddr().String(), header: http.Header{}}
}

// do sends a request and returns status, headers and body.
func (b *browser) do(method, path string, body any) (*http.Response, string) {
	b.t.Helper()
	var text io.Reader
	if body != nil {
		encoded := must.Do(json.Marshal(body))(b.t)
		text = strings.NewReader(string(encoded))
	}
	r := must.Do(http.NewRequest(method, b.base+path, text))(b.t)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	if b.token != "" {
		r.Header.Set("X-Warren-Token", b.token)
	}
	maps.Copy(r.Header, b.header)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp := must.Do(client.Do(r))(b.t)
	defer resp.Body.Close()
	got := must.ReadAll(b.t, resp.Body)
	return resp, string(got)
}

// get fetches a resource of the API and decodes it.
func (b *browser) get(path string, into any) {
	b.t.Helper()
	resp, body := b.do("GET", "/api/v1"+path, nil)
	require.Equal(b.t, 200, resp.StatusCode, "%s: %s", path, body)
	require.NoError(b.t, json.Unmarshal([]byte(body), into), "%s: %s", path, body)
}

// status asks and returns the status.
func (b *browser) status(method, path string, body any) int {
	b.t.Helper()
	status, _ := b.problem(method, path, body)
	return status
}

// problem asks and returns the status and the code of the problem.
func (b *browser) problem(method, path string, body any) (int, string) {
	b.t.Helper()
	resp, text := b.do(method, "/api/v1"+path, body)
	var trouble struct{ Code, Detail, Title string }
	_ = json.Unmarshal([]byte(text), &trouble)
	if resp.StatusCode >= 400 {
		require.Equal(b.t, "application/problem+json", resp.Header.Get("Content-Type"), text)
		require.NotEmpty(b.t, trouble.Title)
		require.NotEmpty(b.t, trouble.Detail)
	}
	return resp.StatusCode, trouble.Code
}

// login logs in by a cookie.
func (b *browser) login(user, password string) int {
	b.t.Helper()
	resp, body := b.do("POST", "/api/v1/login", map[string]string{"user": user, "password": password})
	if resp.StatusCode == 200 {
		c := resp.Cookies()[0]
		require.True(b.t, c.HttpOnly)
		require.Equal(b.t, http.SameSiteStrictMode, c.SameSite)
		require.GreaterOrEqual(b.t, len(c.Value), 43, "256 bits")
		var id struct{ Token string }
		require.NoError(b.t, json.Unmarshal([]byte(body), &id))
		b.cookie, b.token = c, id.Token
	}
	return resp.StatusCode
}

type foundPaths struct {
	Paths   []string
	After   string
	Visited int
}

// ownedBy is the ACL that gives everything to one user.
func ownedBy(user, password string) []proto.ACL {
	id := auth.NewDigestIdentity(user, password)
	return []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text(id.Scheme), Id: proto.Text(id.ID)}}}
}

// create makes znodes with data.
func create(t *testing.T, c *wire.Conn, paths ...string) {
	t.Helper()
	for _, path := range paths {
		c.MustCreate(t, path, []byte("data of "+path), proto.ModePersistent)
	}
}

func TestConsoleShowsWhatACLsAllow(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/open", "/open/a", "/secret", "/secret/inner", "/secret/inner/deep")
	c.MustSetACL(t, "/secret", ownedBy("bob", "b:c"), -1)
	b := browse(t, s)

	var z struct{ Path, Data, Encoding string }
	b.get("/znode?path=/open", &z)
	require.Equal(t, "data of /open", z.Data)
	var page struct {
		Total    int
		Children []struct {
			Name     string
			Readable bool
			Bytes    int
		}
	}
	b.get("/children?path=/", &page)
	require.Equal(t, 3, page.Total)
	require.Equal(t, "secret", page.Children[1].Name)
	require.False(t, page.Children[1].Readable)
	require.Zero(t, page.Children[1].Bytes)
	for _, path := range []string{"/znode?path=/secret", "/children?path=/secret", "/search?under=/secret&contains=e",
		"/search?under=/&contains=e&after=/secret/inner"} {
		status, code := b.problem("GET", path, nil)
		require.Equal(t, 403, status, path)
		require.Equal(t, "NoAuth", code, path)
	}
	var found foundPaths
	b.get("/search?contains=e", &found)
	require.ElementsMatch(t,
		[]string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/open", "/open/a", "/secret"}, found.Paths)

	for _, wrong := range [][2]string{{"bob", "c"}, {"bob", ""}, {"nobody", "b:c"}, {"", ""}, {"bob:b", "c"}} {
		require.Equal(t, 401, b.login(wrong[0], wrong[1]), "%q", wrong)
	}
	require.Equal(t, 200, b.login("bob", "b:c"))
	b.get("/znode?path=/secret/inner/deep", &z)
	b.get("/search?prefix=deep", &found)
	require.Equal(t, []string{"/secret/inner/deep"}, found.Paths)
	resp, _ := b.do("POST", "/api/v1/logout", map[string]string{})
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, 403, b.status("GET", "/znode?path=/secret", nil), "the cookie opens nothing after the logout")

	b = browse(t, s)
	b.header.Set("Authorization", "digest bob:b:c")
	b.get("/znode?path=/secret", &z)
	b.header.Set("Authorization", "digest bob:wrong")
	require.Equal(t, 401, b.status("GET", "/znode?path=/open", nil))
}

// A server that takes authenticated clients only shows nothing of the tree to others.
func TestConsoleEnforcesAuthentication(t *testing.T) {
	s, _ := withAdmin(t, func(cfg *config.Config) {
		cfg.EnforceAuth.Enabled, cfg.EnforceAuth.Schemes = true, []string{"digest"}
	})
	b := browse(t, s)
	for _, path := range []string{
		"/znode?path=/", "/children?path=/", "/search?contains=x", "/sessions", "/changes?path=/",
	} {
		require.Equal(t, 401, b.status("GET", path, nil), path)
	}
	require.Equal(t, 200, b.login("super", "secret"))
	var z struct{ Path string }
	b.get("/znode?path=/zookeeper", &z)
}

func TestConsoleChanges(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	create(t, c, "/a", "/b")
	c.MustSetACL(t, "/b", ownedBy("bob", "x"), -1)
	set := func(path string, version int) map[string]any {
		return map[string]any{"path": path, "data": "new", "version": version}
	}
	b := browse(t, s)
	require.Equal(t, 401, b.status("PUT", "/znode", set("/a", -1)), "no login")
	require.Equal(t, 200, b.login("bob", "x"))
	token := b.token
	for _, wrong := range []string{"", "guess", token + "x"} {
		b.token = wrong
		require.Equal(t, 403, b.status("PUT", "/znode", set("/a", -1)), "token %q", wrong)
	}
	b.token = token
	for name, value := range map[string]string{"Origin": "http://elsewhere.example", "Sec-Fetch-Site": "cross-site"} {
		b.header.Set(name, value)
		require.Equal(t, 403, b.status("PUT", "/znode", set("/a", -1)), name)
		require.Equal(t, 403, b.status("POST", "/logout", map[string]any{}), name)
		b.header.Del(name)
	}
	data, st := c.MustGetData(t, "/a", false)
	require.Equal(t, "data of /a", string(data), "nothing has changed so far")

	for _, step := range []struct {
		method, path string
		body         any
		status       int
		code         string
	}{
		{"PUT", "/znode", set("/a", int(st.Version)), 200, ""},
		{"PUT", "/znode", set("/a", int(st.Version)), 409, "BadVersion"},
		{"PUT", "/znode", map[string]any{"path": "/a", "data": "x"}, 400, ""},
		{"PUT", "/znode", set("/none", -1), 404, "NoNode"},
		{"PUT", "/znode", set("/zookeeper/../a", -1), 400, "BadArguments"},
		{"POST", "/znode", map[string]any{"path": "/a/c", "data": "AAE=", "encoding": "base64"}, 200, ""},
		{"POST", "/znode", map[string]any{"path": "/a/c"}, 409, "NodeExists"},
		{"POST", "/znode", map[string]any{"path": "/a/d", "data": "%", "encoding": "base64"}, 400, ""},
		{"POST", "/znode", map[string]any{"path": "/a/d", "unknown": 1}, 400, ""},
		{"POST", "/znode", map[string]any{"path": "/a/n-", "sequential": true}, 200, ""},
		{"POST", "/znode", map[string]any{"path": "/a/k", "container": true}, 200, ""},
		{"DELETE", "/znode?path=/a&version=-1", nil, 409, "NotEmpty"},
		{"DELETE", "/znode?path=/a/c&version=3", nil, 409, "BadVersion"},
		{"DELETE", "/znode?path=/a/c", nil, 400, ""},
		{"PUT", "/acl",
			map[string]any{"path": "/a/c", "version": 0,
				"acl": []any{map[string]any{"scheme": "world", "id": "anyone", "perms": "rz"}}}, 400, ""},
		{"PUT", "/acl", map[string]any{"path": "/a/c", "version": 0, "acl": []any{}}, 400, "InvalidACL"},
		{"PUT", "/acl",
			map[string]any{"path": "/a/c", "version": 0,
				"acl": []any{map[string]any{"scheme": "auth", "id": "", "perms": "cdrwa"}}}, 200, ""},
		{"DELETE", "/znode?path=/a/c&version=0", nil, 200, ""},
	} {
		status, code := b.problem(step.method, step.path, step.body)
		require.Equal(t, step.status, status, "%s %s %v", step.method, step.path, step.body)
		require.Equal(t, step.code, code, "%s %s %v", step.method, step.path, step.body)
	}
	require.ElementsMatch(t, []string{"k", "n-0000000001"}, c.MustChildren(t, "/a", false))
	require.Eventually(t, func() bool {
		var page struct{ Total int }
		b.get("/sessions", &page)
		return page.Total == 1
	}, hangGuard, time.Millisecond, "the sessions of changes end with them")

	b = browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	b.header.Set("Authorization", "digest super:secret")
	b.cookie, b.token = nil, ""
	require.Equal(t, 200, b.status("PUT", "/znode", set("/b", 0)),
		"credentials in the request need no token: no other site can send them")
}

func TestConsoleChangesAreAudited(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	s, _ := withAdmin(t, func(cfg *config.Config) {
		cfg.Admin.ConsoleWrites = true
		cfg.Audit.Enabled, cfg.Audit.File = true, file
	})
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	for path, want := range map[string]int{"/seen": 200, "/none/below": 404} {
		require.Equal(t, want, b.status("POST", "/znode", map[string]any{"path": path}))
	}
	s.Stop()
	text := must.ReadFile(t, file)
	for path, result := range map[string]string{"/seen": "success", "/none/below": "failure"} {
		require.Regexp(t,
			`user=[^\t]*super[^\n]*ip=127\.0\.0\.1[^\n]*operation=create[^\n]*znode=`+path+`[^\n]*result=`+result,
			string(text))
	}
}

func TestConsoleChangesAreOffByDefault(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/a")
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	for _, change := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/znode", map[string]any{"path": "/b"}},
		{"PUT", "/znode", map[string]any{"path": "/a", "version": -1}},
		{"PUT", "/acl", map[string]any{"path": "/a", "version": -1}}, {"DELETE", "/znode?path=/a&version=-1", nil},
	} {
		require.Equal(t, 403, b.status(change.method, change.path, change.body), change.method+change.path)
	}
	resp, _ := b.do("PUT", "/console/api/v1/znode", map[string]any{"path": "/a", "version": -1})
	require.Equal(t, 403, resp.StatusCode)
	c.MustGetData(t, "/a", false)
}

func TestConsoleIsSwitchedOff(t *testing.T) {
	s, _ := withAdmin(t, func(cfg *config.Config) { cfg.Admin.Console = false })
	b := browse(t, s)
	for _, path := range []string{"/", "/console/", "/api/v1/ensemble"} {
		resp, _ := b.do("GET", path, nil)
		require.Equal(t, 404, resp.StatusCode, path)
	}
}

func TestConsolePagesThroughManyChildren(t *testing.T) {
	s, c := withAdmin(t, nil)
	const few, many = 250, 100_000
	for parent, n := range map[string]int{"/few": few, "/many": many} {
		create(t, c, parent)
		for made := 0; made < n; {
			var ops []wire.Request
			for ; made < n && len(ops) < 5000; made++ {
				ops = append(ops, wire.Create(fmt.Sprintf("%s/%06d", parent, (made*7919)%n), nil, wire.OpenACL,
					proto.ModePersistent))
			}
			must.Do(c.Multi(ops...))(t)
		}
	}
	b := browse(t, s)
	for parent, n := range map[string]int{"/few": few, "/many": many} {
		seen, pages, after, order := map[string]bool{}, 0, "", ""
		for {
			var page struct {
				Total        int
				Order, After string
				Children     []struct{ Name string }
			}
			b.get("/children?limit=5000&path="+parent+"&after="+after, &page)
			require.Equal(t, n, page.Total)
			require.LessOrEqual(t, len(page.Children), 1000)
			for _, one := range page.Children {
				require.False(t, seen[one.Name])
				seen[one.Name] = true
			}
			pages, order = pages+1, page.Order
			if after = page.After; after == "" {
				break
			}
		}
		require.Len(t, seen, n)
		require.Equal(t, (n+999)/1000, pages)
		require.Equal(t, map[string]string{"/few": "name", "/many": "creation"}[parent], order)
	}
	require.NoError(t, c.Delete("/many/000000", -1))
	require.Equal(t, 410, b.status("GET", "/children?path=/many&after=000000", nil))

	var found foundPaths
	total, requests := 0, 0
	for after := ""; requests == 0 || after != ""; requests++ {
		b.get("/search?under=/many&contains=99&limit=1000&after="+after, &found)
		require.LessOrEqual(t, found.Visited, 20_000)
		total, after = total+len(found.Paths), found.After
	}
	want := 0
	for i := 1; i < many; i++ {
		if strings.Contains(fmt.Sprintf("%06d", i), "99") {
			want++
		}
	}
	require.Equal(t, want, total)
}

func TestConsoleTellsChanges(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/w", "/w/hidden", "/other")
	c.MustSetACL(t, "/w/hidden", ownedBy("bob", "x"), -1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.AdminAddr().String()+"/api/v1/changes?path=/w", nil)
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Do(client.Do(r))(t)
	defer resp.Body.Close()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewScanner(resp.Body)
	next := func() (event string, h struct{ Type, Path, Zxid string }) {
		for lines.Scan() {
			line := lines.Text()
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				event = name
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				require.NoError(t, json.Unmarshal([]byte(data), &h))
				return event, h
			}
		}
		require.NoError(t, lines.Err())
		return "closed", h
	}
	event, _ := next()
	require.Equal(t, "ready", event)
	super := dial(t, s.Addr().String(), wire.Options{})
	require.NoError(t, super.Auth("digest", "super:secret"))
	super.MustSetData(t, "/w/hidden", []byte("secret"), -1)
	create(t, c, "/other/x")
	hostile := "/w/<script>\u2028\"'&\\n"
	create(t, c, hostile)
	event, h := next()
	require.Equal(t, "change", event)
	require.Equal(t, "created", h.Type)
	require.Equal(t, hostile, h.Path, "neither the hidden znode nor another one is told")
	require.Equal(t, c.LastZxid().String(), h.Zxid)
	s.Stop()
	for event == "change" {
		event, _ = next()
	}
	require.Contains(t, []string{"end", "closed"}, event)
}

func TestConsoleShowsSessions(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/locks", "/private")
	for _, path := range []string{"/locks/mine", "/private/mine"} {
		c.MustCreate(t, path, nil, proto.ModeEphemeral)
	}
	c.MustSetACL(t, "/private", ownedBy("bob", "x"), -1)
	c.MustGetData(t, "/locks", true)
	b := browse(t, s)
	resp, body := b.do("GET", "/api/v1/sessions", nil)
	require.Equal(t, 200, resp.StatusCode)
	var page struct {
		Total    int
		Sessions []struct {
			Label, Address      string
			Watches, Ephemerals int
			Paths               []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.Equal(t, 1, page.Total)
	one := page.Sessions[0]
	require.Equal(t, 1, one.Watches)
	require.Equal(t, 2, one.Ephemerals)
	require.Equal(t, []string{"/locks/mine"}, one.Paths, "what the visitor cannot find is not told")
	require.NotContains(t, body, strings.TrimPrefix(c.Session().String(), "0x"), "an id opens the session")
	var z struct{ Stat struct{ Owner string } }
	b.get("/znode?path=/locks/mine", &z)
	require.Equal(t, one.Label, z.Stat.Owner)
}

// Passwords cannot be tried without end, and a visitor with the right one is not refused for its own mistakes.
func TestConsoleSlowsGuessesDown(t *testing.T) {
	s, _ := withAdmin(t, nil)
	b := browse(t, s)
	for range 20 {
		require.Equal(t, 200, b.login("super", "secret"))
	}
	b = browse(t, s)
	refused := 0
	for range 12 {
		switch status := b.login("super", "guess"); status {
		case 401:
		case 429:
			refused++
		default:
			t.Fatal(status)
		}
	}
	require.Positive(t, refused)
	require.Equal(t, 429, b.login("super", "secret"), "the right password tells a guesser nothing now")
	b.header.Set("Authorization", "digest super:secret")
	require.Equal(t, 429, b.status("GET", "/znode?path=/", nil))
}

// A place in a walk that is no path must not keep the lock of the tree: not even for the super user, who may open all.
func TestConsoleWalksEndWithAPlaceThatIsNoPath(t *testing.T) {
	s, c := withAdmin(t, nil)
	b := browse(t, s)
	b.header.Set("Authorization", "digest super:secret")
	for _, after := range []string{"//", "//x", "///", "/x//y", "/zookeeper/", "/zookeeper//x"} {
		for _, path := range []string{"/search?prefix=a", "/search?contains=a", "/recipes?limit=10"} {
			status, body := b.problem("GET", path+"&after="+url.QueryEscape(after), nil)
			require.Contains(t, []int{200, 400}, status, "%s: %s", path, body)
		}
	}
	create(t, c, "/written")
}

// The znode below which is looked may be a recipe itself: the pages after it have what is below.
func TestConsolePagesThroughRecipes(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/queue", "/queue/queue-0000000001", "/queue/queue-0000000001/barrier")
	b := browse(t, s)
	all := func(limit int) (paths []string) {
		for after := ""; ; {
			var page struct {
				Recipes []struct{ Path string }
				After   string
			}
			b.get(fmt.Sprint("/recipes?under=/queue&limit=", limit, "&after=", url.QueryEscape(after)), &page)
			for _, r := range page.Recipes {
				paths = append(paths, r.Path)
			}
			if after = page.After; after == "" {
				return paths
			}
		}
	}
	require.Equal(t, []string{"/queue", "/queue/queue-0000000001/barrier"}, all(100))
	require.Equal(t, all(100), all(1))
}

func TestConsoleAnswersHostileRequests(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	name := "/<img src=x onerror=alert(1)>"
	c.MustCreate(t, name, []byte("<script>alert(1)</script>"), proto.ModePersistent)
	large := strings.Repeat("\x00\xff", 1<<19-1000)
	c.MustCreate(t, "/large", []byte(large), proto.ModePersistent)
	b := browse(t, s)
	for path, want := range map[string]int{
		"/api/v1/znode?path=" + url.QueryEscape(name): 200, "/api/v1/znode?path=/large": 200,
		"/api/v1/znode": 400, "/api/v1/znode?path=a": 400, "/api/v1/znode?path=/..%2f..%2fetc": 404,
		"/api/v1/znode?path=%zz": 400, "/api/v1/znode?path=/" + strings.Repeat("a", 9000): 400,
		"/api/v1/children?path=/&limit=x": 400, "/api/v1/children?path=/&limit=-1": 400,
		"/api/v1/children?path=/&limit=99999999999999999999": 400, "/api/v1/search": 400,
		"/api/v1/search?prefix=a&contains=b": 400, "/api/v1/search?under=/none&prefix=a": 404,
		"/api/v1/search?under=/large&prefix=a&after=/": 400, "/api/v1/sessions?after=-1": 400,
		"/api/v1/../../etc/passwd": 404, "/api/v1/%2e%2e/commands": 404, "/api/v1": 404, "/api/v1/": 404, "/api/": 404,
		"/console/none": 404, "/console/static/../console.go": 404, "/console/static/": 404,
		"/console/data?path=x": 400, "/console/data?path=/none": 404, "/console/export?path=x": 400,
		"/console/api/v1/znode": 400, "/console/api/v1/none": 404, "/console/api/": 404,
		"/console/api/v1/../../x": 404,
		"/api/v1/session":         400, "/api/v1/session?label=none": 404,
		"/api/v1/terms": 400, "/api/v1/terms?path=/large": 403,
		"/api/v1/laid?path=/none": 404, "/api/v1/laid?path=x": 400, "/api/v1/trends?from=x": 400,
	} {
		resp, body := b.do("GET", path, nil)
		require.Equal(t, want, resp.StatusCode, "%s: %.300s", path, body)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), path)
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.NotContains(t, resp.Header.Get("Content-Security-Policy"), "unsafe", path)
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"), path)
		require.NotContains(t, body, "<script>alert", path)
		require.NotContains(t, body, "<img src=x", path)
	}
	for _, method := range []string{"POST", "PATCH", "OPTIONS", "CONNECT"} {
		resp, _ := b.do(method, "/api/v1/ensemble", nil)
		require.Equal(t, 405, resp.StatusCode, method)
		require.Equal(t, "GET, HEAD", resp.Header.Get("Allow"))
	}
	reconfigures := func(path string) int { return b.status("POST", path, map[string]any{"leave": "1"}) }
	require.Equal(t, 401, reconfigures("/reconfiguration/plan"))
	require.Equal(t, 200, b.login("super", "secret"))
	require.Equal(t, 409, reconfigures("/reconfiguration/plan"), "alone")
	require.Equal(t, 400, reconfigures("/reconfiguration"), "no version")
	resp, body := b.do("GET", "/api/v1/terms?path=/large", nil)
	require.Equal(t, 409, resp.StatusCode, "%s: it is no lock", body)
	require.Equal(t, 413, b.status("PUT", "/znode",
		map[string]any{"path": "/large", "version": 0, "data": strings.Repeat("x", 4<<20)}))
	status, code := b.problem("PUT", "/znode",
		map[string]any{"path": "/large", "version": 0, "data": strings.Repeat("x", 1<<20+1)})
	require.Equal(t, 503, status, code) // beyond jute.maxbuffer the server ends the connection, as a client's

	r := must.Do(http.NewRequest("PUT", b.base+"/api/v1/znode", strings.NewReader("path=/large")))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(b.cookie)
	r.Header.Set("X-Warren-Token", b.token)
	resp = must.Do(http.DefaultTransport.RoundTrip(r))(t)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 415, resp.StatusCode, "a form of another site is no request of the API")
}
