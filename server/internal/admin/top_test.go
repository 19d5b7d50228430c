package admin

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/facts"
)

// What may be secret of slow operations is told to requests that may have a snapshot.
func TestSlowHidesPaths(t *testing.T) {
	node := &fakeNode{authorize: func(c facts.Credentials) error {
		if c.Auth == "super:secret" {
			return nil
		}
		return facts.ErrNotAuthenticated
	}}
	s := New(Options{Node: node})
	secrets := []string{"/a<b>", "s-0123456789ab", "d0b7c0e9"}
	resp, body := ask(t, s, "GET", "/commands/slow", "Authorization", "digest super:secret")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	for _, secret := range secrets {
		require.Contains(t, body, secret)
	}
	resp, refused := ask(t, s, "GET", "/commands/slow", "Authorization", "digest no:one")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	resp, some := ask(t, s, "GET", "/commands/slow")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, some, "setData")
	require.NotContains(t, refused, "setData")
	for _, secret := range secrets {
		require.NotContains(t, some+refused, secret)
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "limit=-1"} {
		resp, body := ask(t, s, "GET", "/commands/slow?"+query)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, query)
		require.Contains(t, body, slowUsage)
	}
}

// Paths, sessions and addresses are told to requests that may have a snapshot; wrong credentials are refused.
func TestTopHidesPaths(t *testing.T) {
	node := &fakeNode{authorize: func(c facts.Credentials) error {
		switch c.Auth {
		case "super:secret":
			return nil
		case "bob:x":
			return facts.ErrNotAuthorized
		}
		return facts.ErrNotAuthenticated
	}}
	s := New(Options{Node: node})
	for auth, want := range map[string]int{"digest super:secret": http.StatusOK, "digest bob:x": http.StatusForbidden,
		"digest no:one": http.StatusUnauthorized} {
		resp, body := ask(t, s, "GET", "/commands/top", "Authorization", auth)
		require.Equal(t, want, resp.StatusCode)
		if want == http.StatusOK {
			require.Contains(t, body, "/a<b>")
		} else {
			require.NotContains(t, body, "/a<b>")
		}
	}
	resp, body := ask(t, s, "GET", "/commands/top?limit=1")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, "getData")
	require.Contains(t, body, `"paths" : null`)
	require.NotContains(t, body, "exists")
	require.NotContains(t, body, "127.0.0.1")
}

func TestTopRefusesWrongParameters(t *testing.T) {
	s := New(Options{Node: &fakeNode{}})
	for _, query := range []string{"by=", "by=<x>", "limit=0", "limit=1001", "limit=x", "limit=-1"} {
		resp, body := ask(t, s, "GET", "/commands/top?"+query)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, query)
		require.Contains(t, body, topUsage)
	}
}
