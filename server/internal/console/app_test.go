package console

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/test/must"
)

// send sends a record to the application's part of the console.
func send(c http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// The page of the application has nothing that the content security policy would have to allow, and every file that it
// names is there.
func TestApp(t *testing.T) {
	c := newConsole(&fakeServer{}, false)
	w := visit(c, "GET", "/console/", nil, "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
	p := parse(t, w)
	scripts := p.all("script")
	require.Len(t, scripts, 1)
	require.Nil(t, scripts[0].FirstChild, "a script that stands in the page")
	require.Empty(t, p.all("style"))
	for _, name := range []string{get(scripts[0], "src"), p.attribute("link", "rel", "stylesheet", "href"),
		p.attribute("link", "rel", "modulepreload", "href"), p.attribute("link", "rel", "icon", "href")} {
		w := visit(c, "GET", "/console/"+name, nil, "")
		require.Equal(t, 200, w.Code, name)
		require.NotEmpty(t, w.Header().Get("Content-Type"), name)
		require.Contains(t, w.Header().Get("Cache-Control"), "immutable", name)
		w = visit(c, "GET", "/console/"+name+"0", nil, "") // as a server of another version names it
		require.Equal(t, 200, w.Code, name)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"), name)
	}
}

func TestStaticFiles(t *testing.T) {
	c := newConsole(&fakeServer{}, false)
	entries := must.Do(staticFiles.ReadDir("static/app"))(t)
	for _, e := range entries {
		name := "/console/static/app/" + e.Name()
		plain := visit(c, "GET", name, nil, "")
		require.Equal(t, 200, plain.Code, name)
		require.NotEmpty(t, kinds[path.Ext(name)], name)
		require.Equal(t, kinds[path.Ext(name)], plain.Header().Get("Content-Type"), name)
		require.Equal(t, "nosniff", plain.Header().Get("X-Content-Type-Options"), name)
		require.Empty(t, plain.Header().Get("Content-Encoding"), name)

		packed := send(c, "GET", name, "", "Accept-Encoding", "br;q=1, gzip")
		if path.Ext(name) != ".woff2" {
			require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"), name)
			unpacker := must.Do(gzip.NewReader(packed.Body))(t)
			text := must.ReadAll(t, unpacker)
			require.Equal(t, plain.Body.String(), string(text), name)
		}
		require.Empty(t, send(c, "GET", name, "", "Accept-Encoding", "gzip;q=0").Header().Get("Content-Encoding"))
		again := send(c, "GET", name, "", "If-None-Match", plain.Header().Get("ETag"))
		require.Equal(t, 304, again.Code, name)
		require.Zero(t, again.Body.Len(), name)
	}
	for _, name := range []string{"static/none", "static/", "static/app", "static/../app.go",
		"static/app/../../app.go"} {
		require.Equal(t, 404, visit(c, "GET", "/console/"+name, nil, "").Code, name)
	}
	require.Equal(t, 404, send(c, "POST", "/console/static/icon.svg", "").Code)
}

// The application logs in beside its page and uses the API below its folder, with all the protections of the API.
func TestAppUsesTheAPI(t *testing.T) {
	server := &fakeServer{}
	c := newConsole(server, true)
	require.Equal(t, 401, send(c, "POST", "/console/login", `{"user":"super","password":"wrong"}`).Code)
	in := send(c, "POST", "/console/login", `{"user":"super","password":"right"}`)
	require.Equal(t, 200, in.Code)
	require.NotContains(t, in.Header().Get("Set-Cookie"), "Path", "it holds for the folder of the page")
	cookie := strings.Split(in.Header().Get("Set-Cookie"), ";")[0]
	var who api.Identity
	require.NoError(t, json.Unmarshal(in.Body.Bytes(), &who))
	require.Equal(t, "super", who.User)

	require.Equal(t, 200, send(c, "GET", "/console/api/v1/ensemble", "").Code)
	require.Equal(t, 404, send(c, "GET", "/console/api/v1/none", "").Code)
	require.Equal(t, 404, send(c, "GET", "/console/api/v1", "").Code)
	const change = `{"path":"/a","data":"x","version":3}`
	set := func(header ...string) int {
		return send(c, "PUT", "/console/api/v1/znode", change, header...).Code
	}
	require.Equal(t, 401, set())
	require.Equal(t, 403, set("Cookie", cookie), "without the token")
	require.Equal(t, 403, set("Cookie", cookie, "X-Warren-Token", who.Token, "Sec-Fetch-Site", "cross-site"))
	require.Empty(t, server.changed)
	require.Equal(t, 200, set("Cookie", cookie, "X-Warren-Token", who.Token))
	require.Len(t, server.changed, 1)

	require.Equal(t, 403, send(c, "POST", "/console/logout", "{}", "Cookie", cookie).Code)
	require.Equal(t, 200,
		send(c, "POST", "/console/logout", "{}", "Cookie", cookie, "X-Warren-Token", who.Token).Code)
	require.Equal(t, 401, set("Cookie", cookie, "X-Warren-Token", who.Token))
	require.Equal(t, 403, send(c, "POST", "/console/login", `{"user":"super","password":"right"}`,
		"Sec-Fetch-Site", "cross-site").Code)
	// A form of another site is no login.
	require.Equal(t, 404,
		visit(c, "POST", "/console/login", url.Values{"user": {"super"}, "password": {"right"}}, "").Code)
}

// The addresses of pages that the application shows now lead there.
func TestMovedPages(t *testing.T) {
	c := newConsole(&fakeServer{}, false)
	for from, to := range moved {
		w := visit(c, "GET", "/console/"+from+"?path=%2fa&x=<", nil, "")
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, "./#/"+to+"?path=%2Fa&x=%3C", w.Header().Get("Location"),
			"relative: a proxy may have put a prefix before it")
	}
	require.Equal(t, 404, visit(c, "POST", "/console/search", url.Values{}, "").Code)
}
