package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// The answers of commands that steer, and what the server was told.
func TestSteering(t *testing.T) {
	const done = ",\n  \"command\" : %,\n  \"error\" : null\n}"
	for _, c := range []struct {
		name, body string
		status     int
		told       string // empty if the server is told nothing
		answer     string // a part of it
	}{
		{"shed_connections", `{"percentage": 40}`, 200, "shed 40",
			"{\n  \"connections_shed\" : 20,\n  \"percentage_requested\" : 40" + done},
		{"shed", `{"percentage": 0}`, 200, "shed 0", `"connections_shed" : 0`},
		{"shed", `{"percentage": 100}`, 200, "shed 100", `"percentage_requested" : 100`},
		{"shed", `{"percentage": 101}`, 400, "", "Percentage must be between 0 and 100"},
		{"shed", `{"percentage": -1}`, 400, "", "Percentage must be between 0 and 100"},
		{"shed", `{"percentage": "all"}`, 400, "", "Invalid JSON or failed to read request body: "},
		{"shed", `{"percentage": 1e400}`, 400, "", "Invalid JSON"},
		{"shed", `{}`, 400, "", "Missing required field: percentage"},
		{"shed", ``, 400, "", "Missing required field: percentage"},
		{"shed", `{"percentage": 5} x`, 400, "", "Invalid JSON"},
		{"shed", `[]`, 400, "", "Invalid JSON"},
		{"shed", `{"percentage": 5, "dryrun": true}`, 400, "", "unknown field"},
		{"shed", strings.Repeat(" ", bodyBytesMax) + `{"percentage": 5}`, 400, "", "too large"},
		{"drain", ``, 200, "drain 100 false",
			"{\n  \"draining\" : true,\n  \"clients\" : 7,\n  \"rate\" : 100" + done},
		{"drain", `{"rate": 3}`, 200, "drain 3 false", `"rate" : 3`},
		{"drain", `{"rate": 3, "dry_run": true}`, 200, "drain 3 true", `"draining" : false`},
		{"drain", `{"resume": true}`, 200, "drain 0 false", `"draining" : false`},
		{"hand_over", `{"to": 2}`, 200, "hand over to 2 false",
			"{\n  \"from\" : 1,\n  \"to\" : 2,\n  \"leader\" : 2,\n  \"took_ms\" : 12" + done},
		{"hand_over", `{"to": 2, "dry_run": true}`, 200, "hand over to 2 true", `"error" : null`},
		{"hand_over", `{"to": 9}`, 409, "hand over to 9 false", "server 9 cannot lead next"},
		{"hand_over", `{}`, 400, "", "Missing required field: to"},
		{"hand_over", `{"to": "2"}`, 400, "", "Invalid JSON"},
		{"drain", `{"rate": 0}`, 400, "", "rate must be between 1 and 100000"},
		{"drain", `{"rate": 100001}`, 400, "", "rate must be between 1 and 100000"},
	} {
		node := member()
		status, body := post(t, New(Options{Node: node}), "/commands/"+c.name, "ip", c.body)
		require.Equal(t, c.status, status, "%s %s", c.name, c.body)
		name := c.name
		if name == "shed" {
			name = "shed_connections"
		}
		require.Contains(t, body, strings.ReplaceAll(c.answer, "%", `"`+name+`"`))
		require.Equal(t, c.told, strings.Join(node.steered, ","))
	}
	status, body := post(t, New(Options{Node: &fakeNode{}}), "/commands/drain", "ip", "")
	require.Equal(t, http.StatusConflict, status, "a standalone server")
	require.Contains(t, body, `"error" : "no other server"`)
}

// A command that steers needs what a snapshot needs, makes one line in the log, and may not be asked too often unless
// it is to change nothing.
func TestSteeringIsBounded(t *testing.T) {
	core, log := observer.New(zap.InfoLevel)
	now := time.Unix(1_800_000_000, 0)
	node := member()
	node.authorize = func(c Credentials) error {
		if c.Scheme != "ip" {
			return ErrNotAuthorized
		}
		return nil
	}
	s := New(Options{Node: node, Log: zap.New(core), Now: func() time.Time { return now }})
	code := func(name, auth, body string) int {
		status, _ := post(t, s, "/commands/"+name, auth, body)
		return status
	}
	require.Equal(t, 403, code("drain", "digest a:b", ""))
	require.Equal(t, 403, code("shed", "digest a:b", `{"percentage": 5}`))
	require.Equal(t, 401, code("drain", "", ""))
	require.Empty(t, node.steered)
	resp, _ := ask(t, s, "GET", "/commands/drain", "Authorization", "ip")
	require.Equal(t, 405, resp.StatusCode, "a link must not steer")

	require.Equal(t, 200, code("drain", "ip", ""))
	require.Equal(t, 429, code("drain", "ip", `{"resume": true}`))
	require.Equal(t, 200, code("drain", "ip", `{"dry_run": true}`))
	require.Equal(t, 200, code("shed", "ip", `{"percentage": 5}`), "each command has its own limit")
	require.Equal(t, 429, code("shed_connections", "ip", `{"percentage": 5}`), "by whatever name")
	now = now.Add(steerPause)
	require.Equal(t, 200, code("drain", "ip", `{"resume": true}`))
	done := log.FilterMessage("command of an operator").All()
	require.Len(t, done, 3)
	require.Equal(t, "drain", done[0].ContextMap()["command"])
	require.NotEmpty(t, done[0].ContextMap()["client_addr"])
}

func TestDrainedServerIsNotReady(t *testing.T) {
	node := member()
	s := New(Options{Node: node})
	ready := func() int { resp, _ := ask(t, s, "GET", "/readyz"); return resp.StatusCode }
	require.Equal(t, 200, ready())
	node.drained.Draining = true
	require.Equal(t, 503, ready())
	resp, _ := ask(t, s, "GET", "/healthz")
	require.Equal(t, 200, resp.StatusCode, "a drained server is not to be killed")
}
