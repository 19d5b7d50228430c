package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/wire"
)

// answered asks until a server knows the other one that is meant, and returns the status and the answer.
func (b *browser) answered(method, path string, body any) (status int, text string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var resp *http.Response
		resp, text = b.do(method, "/api/v1"+path, body)
		status = resp.StatusCode
		return status != http.StatusBadGateway && status != http.StatusTooManyRequests
	}, hangGuard, 50*time.Millisecond, "%s %s: %s", method, path, &text)
	return status, text
}

// wants is answered with a status, and returns the answer.
func (b *browser) wants(want int, method, path string, body any) string {
	b.t.Helper()
	status, text := b.answered(method, path, body)
	require.Equal(b.t, want, status, text)
	return text
}

// Orders to every server can be given at any, with the same rules as at their own consoles.
func TestOrdersFromAnyServer(t *testing.T) {
	e := startSteered(t, func(c *config.Config) { c.Admin.ConsoleWrites = true })
	require.NoError(t, e.WaitServing(t.Context()))
	b := browse(t, e.Server(1))
	order := func(want, server int, name string, body map[string]any) string {
		t.Helper()
		return b.wants(want, "POST", fmt.Sprintf("/steering/%s?server=%d", name, server), body)
	}
	order(401, 2, "drain", map[string]any{"dry_run": true}) // without a login
	b.wants(401, "GET", "/steering?server=2", nil)

	// A user without every permission on the root may not, here nor elsewhere.
	c := dial(t, e.Addr(1), wire.Options{})
	c.MustCreate(t, "/of-bob", nil, proto.ModePersistent)
	c.MustSetACL(t, "/of-bob", ownedBy("bob", "b"), -1)
	require.NoError(t, e.WaitEqual(t.Context()))
	require.Equal(t, 200, b.login("bob", "b"))
	for _, server := range []int{1, 2, 3} {
		order(403, server, "drain", nil)
		b.wants(403, "GET", fmt.Sprintf("/steering?server=%d", server), nil)
		b.wants(403, "GET", fmt.Sprintf("/audit?server=%d", server), nil)
	}

	require.Equal(t, 200, b.login("super", "secret"))
	token := b.token
	b.token = "guessed"
	order(403, 2, "drain", nil) // a page of another site
	b.token = token
	order(404, 9, "drain", nil)
	order(400, 2, "drain", map[string]any{"rate": 0})
	order(400, 2, "drain", map[string]any{"dryrun": true})

	for _, id := range e.IDs() {
		status, text := b.answered("POST", fmt.Sprintf("/steering/log_level?server=%d", id),
			map[string]any{"level": "error", "seconds": 600})
		if status == 409 { // a server of a test that may not change its level says so
			require.Contains(t, text, "level")
			continue
		}
		require.Equal(t, 200, status, text)
	}
	order(200, 2, "take_snapshot", nil)
	order(200, 2, "shed_connections", map[string]any{"percentage": 50, "dry_run": true})

	// The one that has carried it out lists it, with who gave it and by which server.
	var state struct {
		Given []struct{ Order, User, Via, Address string }
	}
	b.get("/steering?server=2", &state)
	require.Equal(t, []string{"take_snapshot", "super", "server 1"},
		[]string{state.Given[0].Order, state.Given[0].User, state.Given[0].Via})
	require.Contains(t, state.Given[0].Address, "127.0.0.1:")

	// Any server makes another one the leader.
	leader := leaderOf(t, e)
	heir := leader%3 + 1
	b = browse(t, e.Server(heir%3+1)) // neither of the two
	require.Equal(t, 200, b.login("super", "secret"))
	order(200, leader, "hand_over", map[string]any{"to": heir, "dry_run": true})
	order(200, leader, "hand_over", map[string]any{"to": heir})
	require.Equal(t, heir, leaderOf(t, e))

	// It is drained, and takes clients again.
	for _, resume := range []bool{false, true} {
		var drained struct{ Draining bool }
		text := order(200, heir, "drain", map[string]any{"resume": resume})
		require.NoError(t, json.Unmarshal([]byte(text), &drained))
		require.Equal(t, !resume, drained.Draining)
	}
	e.Kill(leader)
	require.Eventually(t, func() bool {
		resp, text := b.do("POST", fmt.Sprintf("/api/v1/steering/drain?server=%d", leader),
			map[string]any{"dry_run": true})
		return resp.StatusCode == http.StatusBadGateway && text != ""
	}, hangGuard, 50*time.Millisecond)
}

// A server whose console is read-only takes no orders by another one.
func TestOrdersToAServerThatTakesNone(t *testing.T) {
	e := startSteered(t, func(c *config.Config) { c.Admin.ConsoleWrites = c.ServerID == 1 })
	require.NoError(t, e.WaitServing(t.Context()))
	b := browse(t, e.Server(1))
	require.Equal(t, 200, b.login("super", "secret"))
	text := b.wants(403, "POST", "/steering/drain?server=2", map[string]any{})
	require.Contains(t, text, "warren.console.writes")
	b.wants(200, "POST", "/steering/take_snapshot?server=1", map[string]any{})
}

// Figures, events, settings, snapshots and the audit log of every server are shown at any.
func TestEveryServerIsShownAtAny(t *testing.T) {
	e := startSteered(t, func(c *config.Config) {
		c.Audit.Enabled, c.Audit.File = true, fmt.Sprintf("/audit-%d", c.ServerID)
	})
	require.NoError(t, e.WaitServing(t.Context()))
	for _, id := range e.IDs() {
		c := dial(t, e.Addr(id), wire.Options{})
		c.MustCreate(t, fmt.Sprint("/at-", id), nil, proto.ModePersistent)
	}
	b := browse(t, e.Server(1))
	get := func(path string, id int, into any) {
		t.Helper()
		text := b.wants(200, "GET", fmt.Sprintf("%sserver=%d", path, id), nil)
		require.NoError(t, json.Unmarshal([]byte(text), into))
	}
	for _, id := range e.IDs() {
		var c struct {
			Settings []struct{ Name, Value string }
		}
		get("/configuration?", id, &c)
		own := map[string]string{}
		for _, s := range c.Settings {
			own[s.Name] = s.Value
		}
		require.Equal(t, fmt.Sprintf("/audit-%d", id), own["audit.file"])
		require.Eventually(t, func() bool {
			var trends struct {
				Times  []int64
				Events []struct{ Kind, Text string }
			}
			get("/trends?from=0&", id, &trends)
			return len(trends.Times) > 0 && len(trends.Events) > 1
		}, hangGuard, 100*time.Millisecond)
	}
	b.wants(403, "GET", "/audit?server=2", nil)
	require.Equal(t, 200, b.login("super", "secret"))
	for _, id := range e.IDs() {
		var a struct{ Entries []struct{ Znode string } }
		get("/audit?", id, &a)
		require.Equal(t, fmt.Sprint("/at-", id), a.Entries[0].Znode)
		var s struct{ Snapshots []struct{ Name string } }
		get("/backups?", id, &s)
	}
}
