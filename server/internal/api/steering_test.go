package api

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/orders/orderstest"
)

// Orders need a login with the permissions for them, the setting, and with a cookie the token.
func TestSteering(t *testing.T) {
	s := &orderstest.Server{}
	newAPI := func(writes bool, user string) *API {
		return New(Options{Server: &fakeServer{anyone: true, steers: user}, Writes: writes,
			Orders: orders.New(orders.Options{Server: s})})
	}
	a := newAPI(true, "bob:x")
	cookie, token := logIn(t, a)
	const path, body = "/steering/drain", `{"rate":5}`
	require.Equal(t, 401, visit(a, "POST", path, body).Code)
	require.Equal(t, 403, visit(a, "POST", path, body, "Cookie", cookie).Code, "no token")
	require.Equal(t, 403, visit(a, "POST", path, body, "Authorization", "digest eve:x").Code, "no permissions")
	require.Equal(t, 403, visit(newAPI(false, "bob:x"), "POST", path, body, "Authorization", "digest bob:x").Code)
	require.Equal(t, 405, visit(a, "GET", path, "", "Authorization", "digest bob:x").Code)
	require.Equal(t, 400, visit(a, "POST", path, `{"rate":0}`, "Authorization", "digest bob:x").Code)
	require.Equal(t, 400, visit(a, "POST", path, `{"dryrun":true}`, "Authorization", "digest bob:x").Code)
	require.Equal(t, 401, visit(a, "GET", "/steering", "").Code)
	require.Equal(t, 403, visit(a, "GET", "/steering", "", "Authorization", "digest eve:x").Code)
	require.Empty(t, s.Told)

	w := visit(a, "POST", path, body, "Cookie", cookie, "X-Warren-Token", token)
	require.Equal(t, 200, w.Code, w.Body)
	require.JSONEq(t, `{"draining":true,"clients":14,"rate":5}`, w.Body.String())
	require.Equal(t, 200, visit(a, "POST", path, body, "Authorization", "digest bob:x").Code, "it is so already")
	w = visit(a, "POST", path, `{"rate":6}`, "Authorization", "digest bob:x")
	require.Equal(t, 429, w.Code)
	seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
	require.NoError(t, err, "it says when the order may be given again")
	require.Positive(t, seconds)
	w = visit(a, "POST", "/steering/hand_over", `{"to":9}`, "Authorization", "digest bob:x")
	require.Equal(t, 409, w.Code)
	require.Contains(t, w.Body.String(), "server 9 cannot lead next")
	w = visit(a, "GET", "/steering", "", "Authorization", "digest bob:x")
	var state orders.State
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &state))
	require.True(t, state.Drained.Draining)
	require.Len(t, state.Given, 5, "not what was no order, nor from somebody who may give none")
	newest, first := state.Given[0], state.Given[3]
	require.Equal(t, []string{"hand_over", "bob", `{"to":9,"dry_run":false}`}, []string{newest.Order, newest.User,
		newest.Request})
	require.Contains(t, newest.Refused, "server 9 cannot lead next")
	require.Equal(t, []string{"drain", ""}, []string{first.Order, first.Refused})
	require.Contains(t, first.Request, `"rate":5`)

	alone := New(Options{Server: &fakeServer{steers: "bob:x"}, Writes: true, Orders: orders.New(orders.Options{})})
	require.Equal(t, 503, visit(alone, "POST", path, body, "Authorization", "digest bob:x").Code)
}
