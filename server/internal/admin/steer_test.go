package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/orders/orderstest"
)

// Each order of package steer is a command, whose answer has the form of all commands.
func TestSteering(t *testing.T) {
	const done = ",\n  \"command\" : \"shed_connections\",\n  \"error\" : null\n}"
	for _, c := range []struct {
		name, body string
		status     int
		answer     string // a part of it
	}{
		{"shed_connections", `{"percentage": 50}`, 200,
			"{\n  \"connections_shed\" : 7,\n  \"percentage_requested\" : 50" + done},
		{"shed", `{"percentage": 50}`, 200, done},
		{"shed", `{"percentage": 101}`, 400, "Percentage must be between 0 and 100"},
		{"shed", `{"percentage": 1e400}`, 400, "Invalid JSON or failed to read request body: "},
		{"shed", strings.Repeat(" ", bodyBytesMax) + `{"percentage": 5}`, 400, "too large"},
		{"drain", ``, 200, `"rate" : 100`},
		{"hand_over", `{"to": 2}`, 200, `"took_ms" : 12`},
		{"hand_over", `{"to": 9}`, 409, "server 9 cannot lead next"},
		{"end_session", `{"session": "s-1"}`, 200, `"ended" : true`},
		{"log_level", `{"level": "debug", "seconds": 5}`, 200, `"level" : "debug"`},
		{"take_snapshot", ``, 200, `"taken" : true`},
	} {
		s := New(Options{Node: member(), Orders: orders.New(orders.Options{Server: new(orderstest.Server)})})
		status, body := post(t, s, "/commands/"+c.name, "ip", c.body)
		require.Equal(t, c.status, status, "%s %s", c.name, c.body)
		require.Contains(t, body, c.answer)
	}
	status, body := post(t, New(Options{Node: member()}), "/commands/drain", "ip", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"error" : "this server takes no orders"`)
}

// A command that steers needs what a snapshot needs. Its line in the log says which user has asked.
func TestSteeringNeedsPermissions(t *testing.T) {
	core, log := observer.New(zap.InfoLevel)
	now := time.Unix(1_800_000_000, 0)
	node, steered := member(), new(orderstest.Server)
	node.authorize = func(c facts.Credentials) error {
		if c.Scheme != "digest" || c.Auth != "bob:secret" {
			return facts.ErrNotAuthorized
		}
		return nil
	}
	s := New(Options{Node: node, Log: zap.New(core), Now: func() time.Time { return now }, Orders: orders.New(
		orders.Options{Server: steered, Log: zap.New(core), Now: func() time.Time { return now }})})
	code := func(name, auth, body string) int {
		status, _ := post(t, s, "/commands/"+name, auth, body)
		return status
	}
	for _, k := range orders.Kinds() {
		require.Equal(t, 403, code(k.Name, "digest a:b", ""))
		require.Equal(t, 401, code(k.Name, "", ""))
		resp, _ := ask(t, s, "GET", "/commands/"+k.Name, "Authorization", "digest bob:secret")
		require.Equal(t, 405, resp.StatusCode, "a link must not steer")
	}
	require.Empty(t, steered.Told)
	require.Equal(t, 200, code("shed", "digest bob:secret", `{"percentage": 5}`))
	require.Equal(t, 429, code("shed_connections", "digest bob:secret", `{"percentage": 5}`), "by whatever name")
	done := log.FilterMessage("command of an operator").All()
	require.Len(t, done, 1)
	require.Equal(t, "bob", done[0].ContextMap()["user"])
	require.NotContains(t, done[0].ContextMap(), "secret")
	require.NotEmpty(t, done[0].ContextMap()["client_addr"])
}

func TestDrainedServerIsNotReady(t *testing.T) {
	node := member()
	s := New(Options{Node: node})
	ready := func() int { resp, _ := ask(t, s, "GET", "/readyz"); return resp.StatusCode }
	require.Equal(t, 200, ready())
	node.draining = true
	require.Equal(t, 503, ready())
	resp, _ := ask(t, s, "GET", "/healthz")
	require.Equal(t, 200, resp.StatusCode, "a drained server is not to be killed")
}
