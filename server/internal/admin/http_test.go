package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/test/must"
)

func TestListNamesTheCommandsInOrder(t *testing.T) {
	s := New(Options{Node: &fakeNode{}, CommandURL: "/zk"})
	for _, url := range []string{"/zk", "/zk/"} {
		resp, body := ask(t, s, "GET", url)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.True(t, strings.HasPrefix(body, "<a href=\"/zk/configuration\">configuration</a>\n<br/>\n"+
			"<a href=\"/zk/connection_stat_reset\">connection_stat_reset</a>\n<br/>\n"), body)
		require.Equal(t, 36, strings.Count(body, "<br/>"))
	}
	require.True(t, slices.IsSorted(s.names))
}

func TestMethodsAndPaths(t *testing.T) {
	s := New(Options{Node: &fakeNode{}, SnapshotEnabled: true})
	for _, c := range []struct {
		method, url string
		status      int
		allow       string
	}{
		{"GET", "/commands/ruok", 200, ""},
		{"HEAD", "/commands/ruok", 200, ""},
		{"POST", "/commands/ruok", 405, "GET, HEAD"},
		{"PUT", "/commands/ruok", 405, "GET, HEAD"},
		{"DELETE", "/commands/restore", 405, "POST"},
		{"PUT", "/commands/none", 405, "GET, HEAD"},
		{"POST", "/commands/none", 200, ""},
		{"TRACE", "/commands/ruok", 403, ""},
		{"TRACE", "/metrics", 403, ""},
		{"GET", "/commands/restore", 405, "POST"},
		{"HEAD", "/commands/restore", 405, "POST"},
		{"POST", "/commands/restore", 401, ""},
		{"POST", "/commands", 405, "GET, HEAD"},
		{"GET", "/", 404, ""},
		{"GET", "/command", 404, ""},
		{"GET", "/commandsx", 404, ""},
		{"GET", "/commandsx/ruok", 404, ""},
		{"GET", "/metrics", 404, ""},
		{"GET", "/debug/pprof/", 404, ""},
		{"GET", "/healthz", 200, ""},
		{"POST", "/healthz", 405, "GET, HEAD"},
	} {
		resp, _ := ask(t, s, c.method, c.url)
		require.Equal(t, c.status, resp.StatusCode, "%s %s", c.method, c.url)
		require.Equal(t, c.allow, resp.Header.Get("Allow"), "%s %s", c.method, c.url)
	}
}

func TestExtrasAreServedIfTheyAreThere(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("znode_count 5\n"))
	})
	s := New(Options{Node: &fakeNode{}, Metrics: metrics, PProf: true})
	_, body := ask(t, s, "GET", "/metrics")
	require.Equal(t, "znode_count 5\n", body)
	for url, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/cmdline": "test", "/debug/pprof/heap?debug=1": "heap profile",
		"/debug/pprof/symbol": "num_symbols", "/debug/pprof/trace?seconds=0.001": "go 1.",
		"/debug/pprof/profile?seconds=1": "",
	} {
		resp, body := ask(t, s, "GET", url)
		require.Equal(t, http.StatusOK, resp.StatusCode, url)
		require.Contains(t, body, want)
	}
	resp, _ := ask(t, s, "POST", "/debug/pprof/cmdline")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}

// While the server does not serve, only the commands that can do without it are executed, and probes can tell.
func TestNotServing(t *testing.T) {
	s := New(Options{Node: &fakeNode{down: true}, SnapshotEnabled: true})
	for name, c := range s.commands {
		method := "GET"
		if c.post {
			method = "POST"
		}
		resp, body := ask(t, s, method, "/commands/"+name, "Authorization", "ip")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		if slices.Contains([]string{"environment", "get_trace_mask", "set_trace_mask", "system_properties", "zabstate",
			"monitor"}, c.name) {
			require.NotContains(t, body, facts.NotServing, name)
		} else {
			require.Equal(t, "{\n  \"command\" : \""+name+"\",\n  \"error\" : \""+facts.NotServing+"\"\n}", body)
		}
	}
	resp, _ := ask(t, s, "GET", "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	resp, _ = ask(t, s, "GET", "/healthz")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// A leader that leaves clients to the others answers commands, and is ready: else an update of one server after the
// other would never end. A load balancer asks whether it takes clients.
func TestLeaderWithoutClients(t *testing.T) {
	s := New(Options{Node: &fakeNode{leaves: true}})
	_, body := ask(t, s, "GET", "/commands/dirs")
	require.NotContains(t, body, facts.NotServing)
	for path, status := range map[string]int{"/readyz": http.StatusOK,
		"/readyz?clients": http.StatusServiceUnavailable} {
		resp, body := ask(t, s, "GET", path)
		require.Equal(t, status, resp.StatusCode, path)
		require.Equal(t, "this server leads, and leaves clients to the other servers\n", body)
	}
	s = New(Options{Node: &fakeNode{leaves: true, draining: true}})
	resp, _ := ask(t, s, "GET", "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, "a drained one is not ready")
	s = New(Options{Node: &fakeNode{}})
	resp, _ = ask(t, s, "GET", "/readyz?clients")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// A server that waits for an operator says so.
func TestReadinessNamesHistoriesThatDiffer(t *testing.T) {
	node := member()
	node.down = true
	s := New(Options{Node: node})
	_, body := ask(t, s, "GET", "/readyz")
	require.Equal(t, facts.NotServing+"\n", body)

	z := node.ensemble.Zab.ZabMember
	z.Outside = true
	z.ZabOutside = &facts.ZabOutside{Leader: 2, Reason: "ensemble 1 is not ensemble 2", Own: "mine", Theirs: "theirs"}
	z.Strangers = []facts.ZabStranger{{ID: 3, Reason: "epoch 4, led by 3, is not epoch 4, led by 1", History: "its"}}
	node.findings = []findings.Finding{
		{Severity: findings.Critical, Check: "outside", Server: 1, What: "stays outside", Remedy: "adopt it"},
		{Severity: findings.Notice, Check: "drained", Server: findings.NoServer, What: "is drained"},
	}
	resp, body := ask(t, s, "GET", "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	const reasons = "critical: server 1: stays outside\n  do: adopt it\nnotice: is drained\n"
	require.Equal(t, facts.NotServing+"\n"+reasons, body)
	node.down = false
	resp, body = ask(t, s, "GET", "/readyz")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "ok\n"+reasons, body)
	node.down = true
	_, body = ask(t, s, "GET", "/commands/zabstate")
	require.Contains(t, body, `
  "outside" : true,
  "outside_leader" : 2,
  "outside_reason" : "ensemble 1 is not ensemble 2",
  "own_history" : "mine",
  "their_history" : "theirs",
  "strangers" : [ {
    "myid" : 3,
    "reason" : "epoch 4, led by 3, is not epoch 4, led by 1",
    "history" : "its"
  } ],
`)
}

// A server that finds no leader says which voters are missing, and what to do if they have lost their databases.
func TestReadinessNamesWhatAServerWaitsFor(t *testing.T) {
	node := member()
	node.down = true
	s := New(Options{Node: node})
	z := node.ensemble.Zab.ZabMember
	z.ZabSearch = &facts.ZabSearch{WaitsFor: "no leader has been elected: servers 2 and 3 have not been heard from",
		SilentVoters: []int64{2, 3}}
	z.ZabSearch = &facts.ZabSearch{WaitsFor: "databases are missing", WayOut: "bring them back", Stuck: true,
		BlankVoters: []int64{2, 3}}
	_, body := ask(t, s, "GET", "/commands/zabstate")
	require.Contains(t, body, `
  "waits_for" : "databases are missing",
  "stuck" : true,
  "way_out" : "bring them back",
  "blank_voters" : [ 2, 3 ],
`)
}

func TestAuthorization(t *testing.T) {
	var got []facts.Credentials
	node := &fakeNode{authorize: func(c facts.Credentials) error {
		got = append(got, c)
		switch c.Scheme {
		case "ip":
			return nil
		case "digest":
			return facts.ErrNotAuthorized
		}
		return errors.New("no such scheme") // anything else is no authentication
	}}
	s := New(Options{Node: node, SnapshotEnabled: true})
	for header, want := range map[string]struct {
		status int
		text   string
	}{
		"":             {401, "Auth info is missing for the command"},
		"   ":          {401, "Auth info is missing for the command"},
		"digest u:p q": {403, "Not authorized"},
		"basic dTpw":   {401, "Not authenticated"},
		"ip":           {200, ""},
	} {
		resp, body := ask(t, s, "GET", "/commands/snap?streaming=false", "Authorization", header)
		require.Equal(t, want.status, resp.StatusCode, header)
		if want.text != "" {
			require.Equal(t, "{\n  \"command\" : \"snap\",\n  \"error\" : \""+want.text+"\"\n}", body)
		}
	}
	remote := netip.MustParseAddr("192.0.2.1") // httptest's
	require.ElementsMatch(t, []facts.Credentials{
		{Scheme: "digest", Auth: "u:p q", Remote: remote}, {Scheme: "basic", Auth: "dTpw", Remote: remote},
		{Scheme: "ip", Remote: remote},
	}, got)

	got = nil
	ask(t, s, "GET", "/commands/snap", "Authorization", "ip", "X-Forwarded-For", "10.1.2.3, 10.9.9.9")
	require.Equal(t, remote, got[0].Remote, "a header that anybody can send is not believed by default")
	s = New(Options{Node: node, SnapshotEnabled: true, ForwardedFor: true})
	for header, want := range map[string]netip.Addr{
		"10.1.2.3, 10.9.9.9": netip.MustParseAddr("10.1.2.3"), "::ffff:10.1.2.3": netip.MustParseAddr("10.1.2.3"),
		"junk": {}, "": remote,
	} {
		got = nil
		ask(t, s, "GET", "/commands/snap", "Authorization", "ip", "X-Forwarded-For", header)
		require.Equal(t, want, got[0].Remote, header)
	}
}

func TestSnapshotStreams(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 3*pieceBytes/16+5)
	closed := false
	node := &fakeNode{snapshot: func(context.Context) (*orders.Snapshot, error) {
		f := fileOf(large)
		f.Body = closer{f.Body, &closed}
		return f, nil
	}}
	s := New(Options{Node: node, SnapshotEnabled: true})
	resp, body := ask(t, s, "GET", "/commands/snapshot?streaming=TRUE", "Authorization", "ip")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, large, body)
	require.Equal(t, "application/octet-stream", resp.Header.Get("Content-Type"))
	require.Equal(t, []string{"0x100000003"}, resp.Header[lastZxidHeader])
	require.True(t, closed)

	closed = false
	resp, _ = ask(t, s, "GET", "/commands/snapshot?streaming=no", "Authorization", "ip")
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.Equal(t, []string{"0x100000003"}, resp.Header[lastZxidHeader])
	require.True(t, closed)
}

type closer struct {
	io.Reader
	closed *bool
}

func (c closer) Close() error { *c.closed = true; return nil }

func TestSnapshotRefusals(t *testing.T) {
	refusal := "{\n  \"command\" : \"snapshot\",\n  \"error\" : null\n}"
	for name, c := range map[string]struct {
		options Options
		status  int
	}{
		"disabled":   {Options{Node: &fakeNode{}}, 503},
		"lacks zxid": {Options{Node: &fakeNode{}, SnapshotEnabled: true, SnapshotLacksZxid: true}, 500},
		"disk": {Options{Node: &fakeNode{snapshot: func(context.Context) (*orders.Snapshot, error) {
			return nil,
				errDisk
		}},
			SnapshotEnabled: true}, 500},
	} {
		resp, body := ask(t, New(c.options), "GET", "/commands/snapshot", "Authorization", "ip")
		require.Equal(t, c.status, resp.StatusCode, name)
		require.Equal(t, refusal, body, name)
	}
	resp, _ := ask(t, New(Options{Node: &fakeNode{}}), "POST", "/commands/restore", "Authorization", "ip")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

func TestSnapshotRateLimit(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := &fakeNode{authorize: func(c facts.Credentials) error {
		if c.Scheme != "ip" {
			return facts.ErrNotAuthorized
		}
		return nil
	}}
	s := New(Options{Node: node, SnapshotEnabled: true, Now: func() time.Time { return now },
		Orders: orders.New(orders.Options{SnapshotInterval: time.Minute})})
	status := func(scheme string) int {
		resp, _ := ask(t, s, "GET", "/commands/snapshot", "Authorization", scheme)
		return resp.StatusCode
	}
	require.Equal(t, 403, status("digest"), "a refused client does not use up the turn")
	require.Equal(t, 200, status("ip"))
	require.Equal(t, 429, status("ip"))
	now = now.Add(time.Minute - 1)
	require.Equal(t, 429, status("ip"))
	require.Equal(t, 2, node.refused)
	now = now.Add(1)
	require.Equal(t, 200, status("ip"))
}

// A file that ends early, or cannot be read, must not look like a whole snapshot to the client.
func TestSnapshotThatCannotBeReadBreaksTheConnection(t *testing.T) {
	node := &fakeNode{snapshot: func(context.Context) (*orders.Snapshot, error) {
		f := fileOf("short")
		f.Size = 10 * pieceBytes
		return f, nil
	}}
	h := httptest.NewServer(New(Options{Node: node, SnapshotEnabled: true}))
	defer h.Close()
	r := must.Do(http.NewRequest("GET", h.URL+"/commands/snapshot", nil))(t)
	r.Header.Set("Authorization", "ip")
	resp, err := h.Client().Do(r)
	if err == nil {
		_, err = io.Copy(&bytes.Buffer{}, resp.Body)
		resp.Body.Close()
	}
	require.Error(t, err)
}
