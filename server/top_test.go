package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// topAnswer is a facts.Top with the keys of admin commands, as far as they are other ones and are looked at.
type topAnswer struct {
	facts.Top
	OneIn int64 `json:"sampled_one_in"`
}

// top asks for the command top.
func top(t *testing.T, s *server.Server, query, auth string) (a topAnswer) {
	t.Helper()
	resp, body := fetch(t, s, "/commands/top"+query, auth)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, json.Unmarshal(body, &a))
	return a
}

// keysOf are the keys of entries in their order.
func keysOf(entries []answers.TopEntry) (keys []string) {
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// The command top and /api/v1/top name the paths, sessions, addresses and operations of reads, writes and
// multis; without the permissions for a snapshot only operations.
func TestTop(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.Top = true })
	create(t, c, "/hot", "/large", "/in-multi")
	c.MustSetData(t, "/large", make([]byte, 200_000), -1)
	for range 50 {
		c.MustGetData(t, "/hot", false)
	}
	var ops []wire.Request
	for range 3 {
		ops = append(ops, wire.SetData("/in-multi", nil, -1))
	}
	must.Do(c.Multi(ops...))(t)

	all := top(t, s, "", superUser)
	require.True(t, all.Enabled)
	require.EqualValues(t, 1, all.OneIn, "few requests are all recorded")
	require.Equal(t, []string{"/hot", "/in-multi", "/large"}, keysOf(all.Paths))
	require.Equal(t, []string{c.Session().String()}, keysOf(all.Sessions))
	require.Equal(t, []string{"127.0.0.1"}, keysOf(all.Addresses))
	require.Equal(t, "getData", all.Operations[0].Key)
	require.Subset(t, keysOf(all.Operations), []string{"setData", "multi"})
	require.Equal(t, "/large", top(t, s, "?by=bytes&limit=1", superUser).Paths[0].Key)
	require.Len(t, top(t, s, "?limit=2", superUser).Paths, 2)
	require.Positive(t, all.Total.Millis, "a write takes time")

	some := top(t, s, "", "")
	require.Equal(t, keysOf(all.Operations), keysOf(some.Operations))
	require.Nil(t, some.Paths)
	require.Nil(t, some.Sessions)
	require.Nil(t, some.Addresses)
	c.MustSetACL(t, "/", ownedBy("bob", "x"), -1)
	resp, _ := fetch(t, s, "/commands/top", "digest eve:x")
	require.NotEqual(t, http.StatusOK, resp.StatusCode)

	var shown struct {
		Everything        bool
		Paths, Operations []struct{ Key string }
	}
	for auth, everything := range map[string]bool{"": false, "digest eve:x": false, superUser: true} {
		resp, body := fetch(t, s, "/api/v1/top", auth)
		if auth == "digest eve:x" {
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
			continue
		}
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, json.Unmarshal(body, &shown))
		require.Equal(t, everything, shown.Everything)
		require.Equal(t, everything, len(shown.Paths) > 0)
		require.NotEmpty(t, shown.Operations)
		require.NotContains(t, string(body), c.Session().String(), "an id opens the session")
	}
}

func TestTopIsSwitchedOff(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/a")
	require.False(t, top(t, s, "", superUser).Enabled)
	require.Empty(t, top(t, s, "", superUser).Operations)
}
