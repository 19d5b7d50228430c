package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/visible"
	"github.com/seed94657493/warren/test/must"
)

// linkServer lets its user list every znode.
type linkServer struct {
	fakeServer
	shared []string
}

func (f *linkServer) Children(Actor, string, string, int) (*Children, error) { return &Children{}, nil }
func (f *linkServer) Shared(_ Actor, path string)                            { f.shared = append(f.shared, path) }

// linked is an API with a user that is logged in.
func linked(t *testing.T, links bool, now *time.Time) (*API, *linkServer, *Visitor) {
	server := &linkServer{fakeServer: fakeServer{anyone: true}}
	a := New(Options{Server: server, Links: links, Now: func() time.Time { return *now }})
	return a, server, visitorOf(t, a, "bob")
}

func visitorOf(t *testing.T, a *API, user string) *Visitor {
	cookie, _ := logInAs(t, a, user)
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Cookie", cookie)
	v := must.Do(a.Visitor(httptest.NewRecorder(), r))(t)
	return v
}

// openLink opens a link as a browser does, and returns the request of the page after that.
func openLink(a *API, word string) (*http.Request, error) {
	w := httptest.NewRecorder()
	_, err := a.OpenLink(w, httptest.NewRequest("POST", "/", nil), word)
	next := httptest.NewRequest("GET", "/", nil)
	for _, c := range w.Result().Cookies() {
		next.AddCookie(c)
	}
	return next, err
}

func TestLinksShowWhatTheyNameOnly(t *testing.T) {
	now := time.Unix(1e9, 0)
	a, server, v := linked(t, true, &now)
	post := httptest.NewRequest("POST", "/", nil)
	word := must.Do(a.Share(post, v, v.Token, "/app", time.Hour))(t)
	require.Equal(t, []string{"/app"}, server.shared, "one line in the audit log")
	require.GreaterOrEqual(t, len(word), 43, "256 bits")

	next := must.Do(openLink(a, word))(t)
	for _, path := range []string{"", "/app", "/app/a", "/app/a/b"} {
		link, err := a.OpenedLink(next, path)
		require.NoError(t, err, path)
		require.Equal(t, v.IDs, link.IDs)
	}
	for _, path := range []string{"/", "/apps", "/ap", "/other", "app", "//app", "/./app"} {
		require.Error(t, must.Err(a.OpenedLink(next, path)), path)
	}
	id := must.Do(a.Visitor(httptest.NewRecorder(), next))(t)
	require.Empty(t, id.User, "a link is no login")
	require.Empty(t, id.IDs)
	for _, guess := range []string{"", "x", word + "x", word[1:]} {
		require.ErrorIs(t, must.Err(openLink(a, guess)), errLink)
	}

	now = now.Add(time.Hour)
	require.ErrorIs(t, must.Err(a.OpenedLink(next, "/app")), errLink, "its time is over")
	require.ErrorIs(t, must.Err(openLink(a, word)), errLink)
}

func TestLinksAreEndedByTheirUser(t *testing.T) {
	now := time.Unix(1e9, 0)
	a, _, v := linked(t, true, &now)
	post := httptest.NewRequest("POST", "/", nil)
	word := must.Do(a.Share(post, v, v.Token, "/app", time.Hour))(t)
	next := must.Do(openLink(a, word))(t)
	mine := a.LinksOf(v)
	require.Len(t, mine, 1)
	eve := visitorOf(t, a, "eve")
	require.Empty(t, a.LinksOf(eve))
	require.NoError(t, a.Unshare(post, eve, eve.Token, mine[0].ID))
	require.NoError(t, must.Err(a.OpenedLink(next, "/app")), "another user does not end it")
	require.Error(t, a.Unshare(post, v, "guess", mine[0].ID))
	require.NoError(t, a.Unshare(post, v, v.Token, mine[0].ID))
	require.ErrorIs(t, must.Err(a.OpenedLink(next, "/app")), errLink)
}

func TestLinksAreRefused(t *testing.T) {
	now := time.Unix(1e9, 0)
	a, server, v := linked(t, true, &now)
	post := httptest.NewRequest("POST", "/", nil)
	foreign := httptest.NewRequest("POST", "/", nil)
	foreign.Header.Set("Sec-Fetch-Site", "cross-site")
	for name, try := range map[string]func() (string, error){
		"without the token":  func() (string, error) { return a.Share(post, v, "", "/a", time.Hour) },
		"from another site":  func() (string, error) { return a.Share(foreign, v, v.Token, "/a", time.Hour) },
		"without a login":    func() (string, error) { return a.Share(post, &Visitor{}, "", "/a", time.Hour) },
		"forever":            func() (string, error) { return a.Share(post, v, v.Token, "/a", linkLifeMax+1) },
		"for no time at all": func() (string, error) { return a.Share(post, v, v.Token, "/a", 0) },
		"what cannot be seen": func() (string, error) {
			b := New(Options{Server: &fakeServer{}, Links: true, Now: a.o.Now})
			w := visitorOf(t, b, "bob")
			return b.Share(post, w, w.Token, "/a", time.Hour)
		},
		"switched off": func() (string, error) {
			off, _, w := linked(t, false, &now)
			return off.Share(post, w, w.Token, "/a", time.Hour)
		},
	} {
		require.Error(t, must.Err(try()), name)
	}
	require.Empty(t, server.shared)
	for range linksEach {
		must.Do(a.Share(post, v, v.Token, "/a", time.Hour))(t)
	}
	require.Error(t, must.Err(a.Share(post, v, v.Token, "/a", time.Hour)), "too many")
	now = now.Add(2 * time.Hour)
	v = visitorOf(t, a, "bob")
	require.NoError(t, must.Err(a.Share(post, v, v.Token, "/a", time.Hour)), "those that are over do not count")
}

func FuzzLinkPaths(f *testing.F) {
	f.Add("/app", "/app/x")
	f.Add("/", "/a")
	f.Add("/app", "/app/../secret")
	f.Fuzz(func(t *testing.T, root, path string) {
		if visible.IsBelow(path, root) && path != root {
			require.True(t, strings.HasPrefix(path, root))
			require.True(t, strings.HasSuffix(root, "/") || path[len(root)] == '/')
		}
	})
}

// Other ensembles are asked at the addresses of the configuration, without credentials, and within bounds.
func TestOtherEnsembles(t *testing.T) {
	asked := 0
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		require.Equal(t, Root+"/ensemble", r.URL.Path)
		require.Empty(t, r.Header.Get("Cookie")+r.Header.Get("Authorization"))
		_ = answer(w, &Ensemble{State: "leader", Epoch: 5})
	}))
	defer good.Close()
	serve := func(fn http.HandlerFunc) string {
		s := httptest.NewServer(fn)
		t.Cleanup(s.Close)
		return s.URL
	}
	away := serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, good.URL, http.StatusFound) })
	large := serve(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"version":"` + strings.Repeat("x", 2*ensembleMax) + `"}`))
	})
	other := serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	now := time.Unix(1e9, 0)
	a := New(Options{Server: &fakeServer{}, Now: func() time.Time { return now }, Ensembles: []string{
		"good=" + good.URL + "/", "away=" + away, "large=" + large, "other=" + other, "none=http://127.0.0.1:1"}})
	for range 3 {
		all := a.Ensembles(context.Background()).Ensembles
		require.Len(t, all, 5)
		require.Equal(t, "good", all[0].Name)
		require.Empty(t, all[0].Trouble)
		require.EqualValues(t, 5, all[0].Ensemble.Epoch)
		for _, o := range all[1:] {
			require.NotEmpty(t, o.Trouble, o.Name)
		}
	}
	require.Equal(t, 1, asked, "visitors cannot make this server ask more often")
	now = now.Add(ensemblesFresh)
	a.Ensembles(context.Background())
	require.Equal(t, 2, asked)
}

func FuzzOtherEnsemble(f *testing.F) {
	f.Add(`{"state":"leader","leader":1,"members":[{"id":1}],"problems":null}`)
	f.Add(`{"state":"<script>","members":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		e := OtherEnsemble{Ensemble: Ensemble{Members: []Member{}, Problems: []Problem{}}}
		e.read(strings.NewReader(text))
		require.True(t, e.Trouble != "" || e.Ensemble.State != "")
		require.NotNil(t, e.Ensemble.Members)
		require.NotNil(t, e.Ensemble.Problems)
	})
}
