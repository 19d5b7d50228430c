package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/orders/orderstest"
	"github.com/seed94657493/warren/server/internal/visible"
)

// pair is server 1, which is visited, and server 2 behind it.
func pair(writes bool, steers string) (one, two *API, told *orderstest.Server, log *observer.ObservedLogs) {
	told = &orderstest.Server{}
	core, log := observer.New(zap.InfoLevel)
	two = New(Options{Server: &fakeServer{steers: steers}, Writes: writes,
		Orders: orders.New(orders.Options{Server: told, Log: zap.New(core)})})
	one = New(Options{Server: &fakeServer{steers: "bob:x", others: map[int64]*API{2: two}}, Writes: true,
		Log: zap.New(core), Orders: orders.New(orders.Options{})})
	return one, two, told, log
}

// An order to another server needs all that one to this server does, at both of them.
func TestOrdersArePassedOn(t *testing.T) {
	one, _, told, log := pair(true, "bob:x")
	cookie, token := logIn(t, one)
	const path, body = "/steering/drain?server=2", `{"rate":5}`
	require.Equal(t, 401, visit(one, "POST", path, body).Code)
	require.Equal(t, 403, visit(one, "POST", path, body, "Cookie", cookie).Code, "no token")
	require.Equal(t, 415, visit(one, "POST", path, body, "Cookie", cookie, "X-Warren-Token", token, "Content-Type",
		"text/plain").Code)
	require.Equal(t, 400, visit(one, "POST", path, `{"rate":0}`, "Authorization", "digest bob:x").Code)
	require.Equal(t, 400, visit(one, "POST", "/steering/drain?server=x", body, "Authorization", "digest bob:x").Code)
	require.Equal(t, 502, visit(one, "POST", "/steering/drain?server=3", body, "Authorization", "digest bob:x").Code)
	require.Equal(t, 413, visit(one, "POST", path, strings.Repeat(" ", CredentialsBody+1)+body, "Authorization",
		"digest bob:x").Code)
	require.Equal(t, 401, visit(one, "GET", "/steering?server=2", "").Code)
	require.Empty(t, told.Told)

	w := visit(one, "POST", path, body, "Cookie", cookie, "X-Warren-Token", token)
	require.Equal(t, 200, w.Code, w.Body)
	require.JSONEq(t, `{"draining":true,"clients":14,"rate":5}`, w.Body.String())
	require.Equal(t, []string{"drain 5 false"}, told.Told)
	w = visit(one, "POST", path, `{"rate":6}`, "Cookie", cookie, "X-Warren-Token", token)
	require.Equal(t, 429, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"), "when the other server takes it")
	w = visit(one, "GET", "/steering?server=2", "", "Authorization", "digest bob:x")
	var state orders.State
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &state))
	require.Equal(t, []string{"drain", "bob", "server 1"},
		[]string{state.Given[0].Order, state.Given[0].User, state.Given[0].Via})
	passed := log.FilterMessage("order of a visitor passed on to another server").FilterField(
		zap.Int("status", 200)).All()
	require.Len(t, passed, 1)
	require.Equal(t, "bob", passed[0].ContextMap()["user"])
	done := log.FilterMessage("command of an operator").All()
	require.Len(t, done, 1)
	require.Equal(t, "server 1", done[0].ContextMap()["via"])

	readOnly, _, told, _ := pair(false, "bob:x")
	w = visit(readOnly, "POST", path, body, "Authorization", "digest bob:x")
	require.Equal(t, 403, w.Code)
	require.Contains(t, w.Body.String(), "warren.console.writes")
	require.Empty(t, told.Told)
	other, _, told, _ := pair(true, "eve:x") // by the tree or the settings of server 2
	require.Equal(t, 403, visit(other, "POST", path, body, "Authorization", "digest bob:x").Code)
	require.Equal(t, 403, visit(other, "GET", "/steering?server=2", "", "Authorization", "digest bob:x").Code)
	require.Empty(t, told.Told)
}

// What another server passes on is only what is marked for that: no znodes, logins or works.
func TestOnlySomeRequestsArePassedOn(t *testing.T) {
	_, two, told, _ := pair(true, "bob:x")
	task := &Task{User: "bob", IDs: []auth.Identity{auth.NewDigestIdentity("bob", "x")},
		Remote: netip.MustParseAddrPort("192.0.2.7:1"), Body: []byte(`{"rate":5}`)}
	for _, name := range []string{"", "login", "work", "set", "znode", "export", "reconfigure", "changes"} {
		task.Name = name
		require.Equal(t, 404, two.Passed(t.Context(), 1, task).Status, name)
	}
	task.Name = "drain"
	task.User = ""
	require.Equal(t, 401, two.Passed(t.Context(), 1, task).Status)
	task.User, task.IDs = "bob", nil
	require.Equal(t, 403, two.Passed(t.Context(), 1, task).Status)
	require.Empty(t, told.Told)
	require.Equal(t, 404, visit(two, "GET", "/znode?path=/a&server=1", "").Code, "it is answered here")
	long := New(Options{Server: &longServer{}})
	require.Equal(t, http.StatusInsufficientStorage, long.Passed(t.Context(), 1, &Task{Name: "trends"}).Status)
}

// longServer has more to tell than another server takes.
type longServer struct{ fakeServer }

func (*longServer) Trends(int64) *Trends {
	return &Trends{Events: []visible.Event{{Text: string(bytes.Repeat([]byte("x"), passedMax))}}}
}

// A page cannot be made of what another server answers.
func TestPassedAnswersAreNoPages(t *testing.T) {
	one := New(Options{Server: &pageServer{}})
	w := visit(one, "GET", "/trends?server=2", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, 502, visit(one, "GET", "/configuration?server=2", "").Code)
}

type pageServer struct{ fakeServer }

func (*pageServer) Pass(_ context.Context, _ int64, t Task) (*TaskAnswer, error) {
	if t.Name == "configuration" {
		return &TaskAnswer{Status: 99}, nil
	}
	return &TaskAnswer{Status: 200, Body: []byte("<script>alert(1)</script>")}, nil
}
