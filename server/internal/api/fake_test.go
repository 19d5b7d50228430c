package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/visible"
	"github.com/seed94657493/warren/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer knows the user bob with the password x, others if anyone is set, and no znode.
type fakeServer struct {
	fakeViews
	changed []Change
	follow  func(ctx context.Context, yield func(Happening) bool) error
	logins  int
	refuse  error // every login
	anyone  bool  // every user has the password x
	change  func()
	history func()
	steers  string // user and password of the one that may steer
	others  map[int64]*API
}

func (f *fakeServer) Ensemble() *Ensemble {
	return &Ensemble{Members: []Member{}, Problems: []Problem{}}
}
func (f *fakeServer) ID() int64 { return 1 }
func (f *fakeServer) Pass(_ context.Context, server int64, t Task) (*TaskAnswer, error) {
	if f.others[server] == nil {
		return nil, refusal(http.StatusBadGateway, "it does not answer")
	}
	return f.others[server].Passed(context.Background(), f.ID(), &t), nil
}
func (f *fakeServer) DigestID(user, password string) (string, error) {
	return user + ":hash-of-" + strings.ToUpper(password), nil
}
func (f *fakeServer) Login(user, password string) ([]auth.Identity, error) {
	f.logins++
	if f.refuse != nil || user != "bob" && !f.anyone || password != "x" {
		return nil, cmp.Or(f.refuse, ErrWrong)
	}
	return []auth.Identity{auth.NewDigestIdentity(user, password)}, nil
}
func (f *fakeServer) Znode(Actor, string, int) (*Znode, error) { return nil, proto.ErrNoNode }
func (f *fakeServer) Children(Actor, string, string, int) (*Children, error) {
	return nil, proto.ErrNoNode
}
func (f *fakeServer) Search(Actor, Query) (*Found, error) { return nil, visible.ErrNotServing }
func (f *fakeServer) Sessions(Actor, string, uint64, int) (*Sessions, error) {
	return nil, refusal(http.StatusUnauthorized, "log in")
}
func (f *fakeServer) Session(Actor, string) (*SessionDetails, error) {
	return nil, visible.ErrNotServing
}
func (f *fakeServer) Slow(Actor, int) (*SlowOfAll, error)       { return &SlowOfAll{}, nil }
func (f *fakeServer) Top(Actor, string, int) (*TopOfAll, error) { return &TopOfAll{}, nil }
func (f *fakeServer) Settings() []Setting                       { return nil }
func (f *fakeServer) MaySteer(a Actor) error {
	if len(a.IDs) == 0 || f.steers == "" || a.IDs[0].ID != auth.DigestIdentity(f.steers).ID {
		return ErrMayNotSteer
	}
	return nil
}
func (f *fakeServer) MaySeeAll(a Actor) error { return f.MaySteer(a) }
func (f *fakeServer) Change(_ context.Context, _ Actor, c Change) (string, error) {
	if f.change != nil {
		f.change()
		return c.Path, nil
	}
	f.changed = append(f.changed, c)
	return c.Path, nil
}
func (f *fakeServer) Follow(ctx context.Context, _ Actor, _ string, yield func(Happening) bool) error {
	return f.follow(ctx, yield)
}

// visit sends a request and returns the answer.
func visit(a http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, Root+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// logIn logs bob in and returns the headers of a browser that is logged in.
func logIn(t *testing.T, a http.Handler) (cookie, token string) {
	t.Helper()
	return logInAs(t, a, "bob")
}

func logInAs(t *testing.T, a http.Handler, user string) (cookie, token string) {
	t.Helper()
	w := visit(a, "POST", "/login", `{"user":"`+user+`","password":"x"}`)
	require.Equal(t, 200, w.Code, w.Body)
	var id Identity
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &id))
	return strings.Split(w.Header().Get("Set-Cookie"), ";")[0], id.Token
}

func userOf(t *testing.T, a http.Handler, cookie string) string {
	t.Helper()
	var id Identity
	w := visit(a, "GET", "/identity", "", "Cookie", cookie)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &id))
	return id.User
}

func TestLoginsEnd(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := New(Options{Server: &fakeServer{}, Now: func() time.Time { return now }})
	cookie, _ := logIn(t, a)
	for range 2 * int(loginLife/loginIdle) {
		if now = now.Add(loginIdle - time.Second); now.Sub(time.Unix(1e9, 0)) >= loginLife {
			break
		}
		require.Equal(t, "bob", userOf(t, a, cookie), "a login that is used stays")
	}
	require.Empty(t, userOf(t, a, cookie), "but not forever")
	cookie, _ = logIn(t, a)
	now = now.Add(loginIdle)
	require.Empty(t, userOf(t, a, cookie), "a login that is not used ends")
	require.Empty(t, a.logins.mu.live)
	require.Empty(t, userOf(t, a, a.cookie+"=guess"))
}

func TestLoginsAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := New(Options{Server: &fakeServer{anyone: true}, Now: func() time.Time { return now }})
	first, _ := logInAs(t, a, "first")
	second, _ := logInAs(t, a, "second")
	for i := range loginsMax - 2 {
		now = now.Add(time.Millisecond)
		logInAs(t, a, fmt.Sprint("user", i))
	}
	now = now.Add(time.Millisecond)
	require.Equal(t, "first", userOf(t, a, first))
	last, _ := logInAs(t, a, "last")
	require.Len(t, a.logins.mu.live, loginsMax)
	require.Empty(t, userOf(t, a, second), "the one that was not used for longest ends")
	require.Equal(t, "first", userOf(t, a, first))
	require.Equal(t, "last", userOf(t, a, last))
}

// A user that logs in again and again ends its own logins.
func TestLoginsOfOneUserAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := New(Options{Server: &fakeServer{anyone: true}, Now: func() time.Time { return now }})
	other, _ := logInAs(t, a, "other")
	first, _ := logIn(t, a)
	for range loginsMax {
		now = now.Add(time.Millisecond)
		logIn(t, a)
	}
	require.Equal(t, "other", userOf(t, a, other))
	require.Empty(t, userOf(t, a, first))
	require.Len(t, a.logins.mu.live, loginsEach+1)
}

func TestCookiesAreSecureUnderTLS(t *testing.T) {
	a := New(Options{Server: &fakeServer{}})
	w := visit(a, "POST", "/login", `{"user":"bob","password":"x"}`, "X-Forwarded-Proto", "https")
	c := w.Result().Cookies()[0]
	require.True(t, c.Secure && c.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, c.SameSite)
	require.Empty(t, c.Path, "a proxy may have put a prefix before it")
	w = visit(a, "POST", "/login", `{"user":"bob","password":"x"}`)
	require.False(t, w.Result().Cookies()[0].Secure, "a browser would not send it back")
}

func TestGuessersWait(t *testing.T) {
	now := time.Unix(1e9, 0)
	f := &fakeServer{}
	a := New(Options{Server: f, Now: func() time.Time { return now }})
	guess := func(from string) int {
		r := httptest.NewRequest("GET", Root+"/identity", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "digest bob:guess")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		require.Equal(t, w.Code == 429, w.Header().Get("Retry-After") != "")
		return w.Code
	}
	for range limits.GuessesMax {
		require.Equal(t, 401, guess("[2001:db8::1]:1"))
	}
	require.Equal(t, 429, guess("[2001:db8::ffff]:1"), "the neighbours share the network")
	require.Equal(t, 401, guess("[2001:db8:0:1::1]:1"))
	require.Equal(t, limits.GuessesMax+1, f.logins, "a refused guess does not reach the server")
	now = now.Add(limits.GuessEvery)
	require.Equal(t, 401, guess("[2001:db8::1]:1"))
	require.Equal(t, 429, guess("[2001:db8::1]:1"))
}

// A browser sends the cookies of a host to all of its ports, and so to several servers.
func TestServersOfOneHostKeepTheirLogins(t *testing.T) {
	a, b := New(Options{Server: &fakeServer{}}), New(Options{Server: &fakeServer{}})
	first, _ := logIn(t, a)
	second, _ := logIn(t, b)
	both := first + "; " + second
	require.Equal(t, "bob", userOf(t, a, both))
	require.Equal(t, "bob", userOf(t, b, both))
	w := visit(a, "GET", "/identity", "", "Cookie", second)
	require.Empty(t, w.Header().Get("Set-Cookie"), "it is not this server's to take back")
}

func TestLoginsWaitForAServer(t *testing.T) {
	f := &fakeServer{refuse: visible.ErrNotServing}
	a := New(Options{Server: f})
	for range 2 * limits.GuessesMax {
		require.Equal(t, 503, visit(a, "POST", "/login", `{"user":"bob","password":"x"}`).Code)
	}
	f.refuse = nil
	require.Equal(t, 413,
		visit(a, "POST", "/login", `{"user":"bob","password":"`+strings.Repeat("x", CredentialsBody)+`"}`).Code)
	logIn(t, a)
}

// stuckWriter is the answer to a visitor that does not read it.
type stuckWriter struct {
	*httptest.ResponseRecorder
	stuck chan<- struct{}
	goOn  <-chan struct{}
}

func (w stuckWriter) Write(b []byte) (int, error) {
	w.stuck <- struct{}{}
	<-w.goOn
	return w.ResponseRecorder.Write(b)
}

func TestSlowReadersKeepNoOtherWaiting(t *testing.T) {
	a := New(Options{Server: &fakeServer{}})
	stuck, goOn := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range workersMax {
		all.Go(func() {
			r := httptest.NewRequest("GET", Root+"/configuration", nil)
			a.ServeHTTP(stuckWriter{httptest.NewRecorder(), stuck, goOn}, r)
		})
		<-stuck
	}
	require.Equal(t, 200, visit(a, "GET", "/configuration", "").Code)
	close(goOn)
	all.Wait()
}

// Changes wait for a quorum, which may be lost.
func TestSlowChangesKeepNoReaderWaiting(t *testing.T) {
	stuck, goOn := make(chan struct{}), make(chan struct{})
	a := New(Options{Server: &fakeServer{change: func() { stuck <- struct{}{}; <-goOn }}, Writes: true})
	var all sync.WaitGroup
	for range changesMax {
		all.Go(func() {
			visit(a, "POST", "/znode", `{"path":"/a"}`, "Authorization", "digest bob:x")
		})
		<-stuck
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", Root+"/configuration", nil))
	require.Equal(t, 200, w.Code)
	require.Len(t, a.changers, changesMax)
	close(goOn)
	all.Wait()
}

// One history is read at a time, from files: the others wait for it, and for seconds.
func TestHistoriesKeepNoOtherWaiting(t *testing.T) {
	stuck, goOn := make(chan struct{}), make(chan struct{})
	a := New(Options{Server: &fakeServer{history: func() { stuck <- struct{}{}; <-goOn }}})
	var all sync.WaitGroup
	for i := range 2 * workersMax {
		all.Go(func() {
			visit(a, "GET", []string{"/history?path=/a", "/version?path=/a&zxid=0x1"}[i%2], "",
				"Authorization", "digest bob:x")
		})
		select {
		case <-stuck:
		case <-time.After(10 * time.Second):
			require.Fail(t, "a history waits for others")
		}
	}
	require.Equal(t, 200, visit(a, "GET", "/configuration", "").Code)
	close(goOn)
	all.Wait()
}

// Each stream is a session, so that a visitor that begins streams again and again would have the ensemble write txns.
func TestStreamsAreBegunNowAndThen(t *testing.T) {
	now, followed := time.Unix(1e9, 0), 0
	f := &fakeServer{follow: func(_ context.Context, yield func(Happening) bool) error {
		followed++
		yield(Happening{})
		return nil
	}}
	a := New(Options{Server: f, Now: func() time.Time { return now }})
	begin := func(from string) int {
		r := httptest.NewRequest("GET", Root+"/changes?path=/", nil)
		r.RemoteAddr = from + ":1"
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w.Code
	}
	for range streamsInARow {
		require.Equal(t, 200, begin("192.0.2.1"))
	}
	require.Equal(t, 429, begin("192.0.2.1"))
	require.Equal(t, streamsInARow, followed, "a refused stream does not reach the server")
	now = now.Add(streamEvery)
	require.Equal(t, 200, begin("192.0.2.1"))
	require.Equal(t, 429, begin("192.0.2.1"))

	for i := range 2 * streamsInARowAll {
		begin(addrOf(i).String())
	}
	require.LessOrEqual(t, followed, streamsInARow+1+streamsInARowAll, "many addresses together are bounded, too")
	now = now.Add(streamEveryAll)
	require.Equal(t, 200, begin(addrOf(5000).String()))
	require.Equal(t, 429, begin(addrOf(5001).String()))
	require.Zero(t, a.streams.mu.all)
}

func TestSlowReadersAreCutOff(t *testing.T) {
	ended := make(chan error, 1)
	f := &fakeServer{follow: func(ctx context.Context, yield func(Happening) bool) error {
		for i := 0; yield(Happening{Type: "changed", Path: strings.Repeat("x", 1<<10)}); i++ {
			if i > 1_000_000 {
				break
			}
		}
		ended <- context.Cause(ctx)
		return nil
	}}
	a := New(Options{Server: f})
	h := httptest.NewServer(a)
	defer h.Close()
	resp := must.Do(h.Client().Get(h.URL + Root + "/changes?path=/"))(t)
	require.ErrorIs(t, <-ended, errSlow)
	require.NoError(t, resp.Body.Close())
}

func TestStreamsAreCounted(t *testing.T) {
	f := &fakeServer{follow: func(ctx context.Context, yield func(Happening) bool) error {
		yield(Happening{})
		<-ctx.Done()
		return ctx.Err()
	}}
	a := New(Options{Server: f})
	h := httptest.NewServer(a)
	defer h.Close()
	var open []*http.Response
	for range streamsEach {
		resp := must.Do(h.Client().Get(h.URL + Root + "/changes?path=/"))(t)
		require.Equal(t, 200, resp.StatusCode)
		open = append(open, resp)
	}
	resp := must.Do(h.Client().Get(h.URL + Root + "/changes?path=/"))(t)
	require.Equal(t, 429, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
	for _, resp := range open {
		require.NoError(t, resp.Body.Close())
	}
	require.Eventually(t, func() bool {
		a.streams.mu.Lock()
		defer a.streams.mu.Unlock()
		return a.streams.mu.all == 0 && len(a.streams.mu.open) == 0
	}, 10*time.Second, time.Millisecond)
}

// A stream that began with a login ends with it.
func TestStreamsEndWithTheirLogin(t *testing.T) {
	f := &fakeServer{follow: func(ctx context.Context, yield func(Happening) bool) error {
		yield(Happening{})
		<-ctx.Done()
		return ctx.Err()
	}}
	a := New(Options{Server: f})
	h := httptest.NewServer(a)
	defer h.Close()
	cookie, token := logIn(t, a)
	r := must.Do(http.NewRequest("GET", h.URL+Root+"/changes?path=/", nil))(t)
	r.Header.Set("Cookie", cookie)
	resp := must.Do(h.Client().Do(r))(t)
	defer resp.Body.Close()
	require.Equal(t, 200, visit(a, "POST", "/logout", "{}", "Cookie", cookie, "X-Warren-Token", token).Code)
	text := new(strings.Builder)
	for !strings.Contains(text.String(), errLoginOver.Error()) {
		b := make([]byte, 256)
		n, err := resp.Body.Read(b)
		text.Write(b[:n])
		if err != nil {
			break
		}
	}
	require.Contains(t, text.String(), errLoginOver.Error())
}

// No request of a visitor without a login reaches the methods that change something, whatever it holds.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/znode?path=/", "", "", "")
	f.Add("POST", "/znode", `{"path":"/a"}`, "warren_login=x", "digest bob:y")
	f.Add("PUT", "/acl", `{"path":"/a","version":-1}`, "", "digest a")
	f.Add("GET", "/search?prefix=a&limit=5", "", "", "")
	f.Add("DELETE", "/znode?path=/a&version=1", "", "", "")
	f.Add("POST", "/work", `{"kind":"delete","path":"/a","seal":"x"}`, "", "digest bob:y")
	f.Add("GET", "/version?path=/a&zxid=0x1", "", "", "")
	f.Fuzz(func(t *testing.T, method, target, body, cookie, authorization string) {
		server := &fakeServer{}
		a := New(Options{Server: server, Writes: true, RequestMax: 1 << 10})
		r, err := http.NewRequest(method, "http://h"+Root+target, strings.NewReader(body))
		if err != nil {
			return
		}
		r.RemoteAddr = "192.0.2.1:1"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Authorization", authorization)
		if strings.Contains(authorization, "bob:x") || strings.Contains(body, "bob") ||
			strings.Contains(target, "changes") {
			return
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		require.Empty(t, server.changed)
		require.NotZero(t, w.Code)
		require.True(t, w.Body.Len() == 0 || json.Valid(w.Body.Bytes()), "%s", w.Body)
	})
}

// addrOf returns the address with a number.
func addrOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}
