package console

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/orders"
)

// Each form gives its order, if the box is ticked, and tries it by its other button.
func TestSteeringForms(t *testing.T) {
	for _, c := range []struct {
		kind, told, tried string
		fields            url.Values
		outcome           string // a part of it
	}{
		{"hand_over", "hand over to 2 false", "hand over to 2 true", url.Values{"to": {"2"}}, "Server 2 leads"},
		{"drain", "drain 7 false", "drain 7 true", url.Values{"rate": {"7"}}, "of which 7 leave per second"},
		{"drain", "drain 0 false", "drain 0 true", url.Values{"resume": {"1"}}, "takes clients"},
		{"shed_connections", "shed 50", "", url.Values{"percentage": {"50"}}, "7 connections"},
		{"end_session", "end s-1 false", "end s-1 true", url.Values{"session": {" s-1 "}}, "Session s-1"},
		{"log_level", "level debug for 2m0s", "", url.Values{"level": {"debug"}, "minutes": {"2"}}, "debug"},
		{"take_snapshot", "snapshot", "", url.Values{}, "0x100000007 was written"},
	} {
		for _, dry := range []bool{true, false} {
			f := &fakeServer{}
			f.steered.Last = orders.TakenSnapshot{Zxid: "0x100000003", Txns: 4}
			console := newConsole(f, true)
			cookie, token := logIn(t, console)
			form := url.Values{"kind": {c.kind}, "token": {token}}
			for name, values := range c.fields {
				form[name] = values
			}
			w := visit(console, "POST", "/console/steer", form, cookie)
			require.Equal(t, http.StatusBadRequest, w.Code)
			require.Empty(t, f.steered.Told, "the box is not ticked")
			told := c.told
			if dry {
				form.Set("dry", "1")
				told = c.tried
			} else {
				form.Set("sure", "1")
			}
			w = visit(console, "POST", "/console/steer", form, cookie)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			p := parse(t, w)
			p.check(c.kind)
			require.Equal(t, []string{told}, append(f.steered.Told, "")[:1], c.kind)
			if !dry {
				require.Contains(t, textOf(p.element("p", "id", "outcome")), c.outcome)
			}
		}
	}
}

// Nothing but a page of this server, for a visitor that may steer, gives orders.
func TestSteeringIsGuarded(t *testing.T) {
	f := &fakeServer{}
	c := newConsole(f, true)
	cookie, token := logIn(t, c)
	order := func(change func(url.Values)) url.Values {
		form := url.Values{"kind": {"drain"}, "rate": {"1"}, "sure": {"1"}, "token": {token}}
		change(form)
		return form
	}
	post := func(change func(url.Values), cookie string) int {
		return visit(c, "POST", "/console/steer", order(change), cookie).Code
	}
	same := func(url.Values) {}
	require.Equal(t, http.StatusUnauthorized, post(same, ""))
	require.Equal(t, http.StatusForbidden, post(func(f url.Values) { f.Set("token", "guess") }, cookie))
	require.Equal(t, http.StatusForbidden, post(func(f url.Values) { f.Del("token") }, cookie))
	require.Equal(t, http.StatusBadRequest, post(func(f url.Values) { f.Set("kind", "destroy") }, cookie))
	require.Equal(t, http.StatusBadRequest, post(func(f url.Values) { f.Set("rate", "many") }, cookie))
	require.Equal(t, http.StatusBadRequest, post(func(f url.Values) { f.Set("rate", "0") }, cookie))
	require.Equal(t, http.StatusNotFound, visit(c, "GET", "/console/steer", nil, cookie).Code)
	f.mayNotSteer = api.ErrMayNotSteer
	require.Equal(t, http.StatusForbidden, post(same, cookie))
	require.Equal(t, http.StatusForbidden, visit(c, "GET", "/console/steering", nil, cookie).Code)
	require.Empty(t, f.steered.Told)
	f.mayNotSteer = nil
	require.Equal(t, http.StatusOK, post(same, cookie))
	require.Equal(t, []string{"drain 1 false"}, f.steered.Told)

	off := newConsole(f, false)
	cookie, token = logIn(t, off)
	require.Equal(t, http.StatusForbidden, visit(off, "POST", "/console/steer", order(same), cookie).Code)
	p := parse(t, visit(off, "GET", "/console/steering", nil, cookie))
	require.Len(t, p.all("form"), 1, "the one that logs out")
}

// The sessions lead to the form that ends them, for visitors that may try.
func TestSessionsLeadToTheirEnd(t *testing.T) {
	for _, writes := range []bool{true, false} {
		c := newConsole(&fakeServer{}, writes)
		cookie, _ := logIn(t, c)
		to := "steering?session=" + url.QueryEscape(hostile)
		p := parse(t, visit(c, "GET", "/console/sessions", nil, cookie))
		require.Equal(t, writes, p.attribute("a", "href", to, "href") != "")
		p = parse(t, visit(c, "GET", "/console/"+to, nil, cookie))
		require.Equal(t, writes, p.attribute("input", "name", "session", "value") == hostile)
	}
}
