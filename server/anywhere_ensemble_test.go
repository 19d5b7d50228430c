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

// Orders to every server can be given at any, with the same rules as at their own consoles.
func TestOrdersFromAnyServer(t *testing.T) {
	e := startSteered(t, func(c *config.Config) { c.Admin.ConsoleWrites = true })
	require.NoError(t, e.WaitServing(t.Context()))
	b := browse(t, e.Server(1))
	order := func(server int, name string, body map[string]any) (int, string) {
		t.Helper()
		return b.answered("POST", fmt.Sprintf("/steering/%s?server=%d", name, server), body)
	}
	status, _ := order(2, "drain", map[string]any{"dry_run": true})
	require.Equal(t, 401, status, "without a login")
	status, _ = b.answered("GET", "/steering?server=2", nil)
	require.Equal(t, 401, status)

	// A user without every permission on the root may not, here nor elsewhere.
	c := dial(t, e.Addr(1), wire.Options{})
	c.MustCreate(t, "/of-bob", nil, proto.ModePersistent)
	c.MustSetACL(t, "/of-bob", ownedBy("bob", "b"), -1)
	require.NoError(t, e.WaitEqual(t.Context()))
	require.Equal(t, 200, b.login("bob", "b"))
	for _, server := range []int{1, 2, 3} {
		status, _ = order(server, "drain", nil)
		require.Equal(t, 403, status)
		status, _ = b.answered("GET", fmt.Sprintf("/steering?server=%d", server), nil)
		require.Equal(t, 403, status)
		status, _ = b.answered("GET", fmt.Sprintf("/audit?server=%d", server), nil)
		require.Equal(t, 403, status)
	}

	require.Equal(t, 200, b.login("super", "secret"))
	token := b.token
	b.token = "guessed"
	status, _ = order(2, "drain", nil)
	require.Equal(t, 403, status, "a page of another site")
	b.token = token
	status, _ = order(9, "drain", nil)
	require.Equal(t, 404, status)
	status, text := order(2, "drain", map[string]any{"rate": 0})
	require.Equal(t, 400, status, text)
	status, text = order(2, "drain", map[string]any{"dryrun": true})
	require.Equal(t, 400, status, text)

	for _, id := range e.IDs() {
		status, text = order(id, "log_level", map[string]any{"level": "error", "seconds": 600})
		if status == 409 { // a server of a test that may not change its level says so
			require.Contains(t, text, "level")
			continue
		}
		require.Equal(t, 200, status, text)
	}
	status, text = order(2, "take_snapshot", nil)
	require.Equal(t, 200, status, text)
	status, text = order(2, "shed_connections", map[string]any{"percentage": 50, "dry_run": true})
	require.Equal(t, 200, status, text)

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
	status, text = order(leader, "hand_over", map[string]any{"to": heir, "dry_run": true})
	require.Equal(t, 200, status, text)
	status, text = order(leader, "hand_over", map[string]any{"to": heir})
	require.Equal(t, 200, status, text)
	next := leaderOf(t, e)
	require.Equal(t, heir, next)

	// It is drained, and takes clients again.
	for _, resume := range []bool{false, true} {
		status, text = order(heir, "drain", map[string]any{"resume": resume})
		require.Equal(t, 200, status, text)
		var drained struct{ Draining bool }
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
	status, text := b.answered("POST", "/steering/drain?server=2", map[string]any{})
	require.Equal(t, 403, status)
	require.Contains(t, text, "warren.console.writes")
	status, text = b.answered("POST", "/steering/take_snapshot?server=1", map[string]any{})
	require.Equal(t, 200, status, text)
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
		status, text := b.answered("GET", fmt.Sprintf("%sserver=%d", path, id), nil)
		require.Equal(t, 200, status, text)
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
	status, _ := b.answered("GET", "/audit?server=2", nil)
	require.Equal(t, 403, status)
	require.Equal(t, 200, b.login("super", "secret"))
	for _, id := range e.IDs() {
		var a struct{ Entries []struct{ Znode string } }
		get("/audit?", id, &a)
		require.Equal(t, fmt.Sprint("/at-", id), a.Entries[0].Znode)
		var s struct{ Snapshots []struct{ Name string } }
		get("/backups?", id, &s)
	}
}
