package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// A server keeps how its figures went: reads and writes show as rates, stages as quantiles, its start as an event.
func TestConsoleTellsTrends(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/a")
	b := browse(t, s)
	var got struct {
		EveryMs int64
		Times   []int64
		Series  []struct {
			Name   string
			Values []*float64
		}
		Events []struct {
			At         int64
			Kind, Text string
		}
	}
	values := func(name string) (known []float64) {
		i := slices.IndexFunc(got.Series, func(s struct {
			Name   string
			Values []*float64
		}) bool {
			return s.Name == name
		})
		require.GreaterOrEqual(t, i, 0, name)
		require.Len(t, got.Series[i].Values, len(got.Times), name)
		for _, v := range got.Series[i].Values {
			if v != nil {
				known = append(known, *v)
			}
		}
		return known
	}
	require.Eventually(t, func() bool {
		for i := range 20 {
			c.MustSetData(t, "/a", fmt.Append(nil, i), -1)
			c.MustGetData(t, "/a", false)
		}
		b.get("/trends", &got)
		return len(values("reads")) > 0 && slices.Max(values("reads")) > 0 && slices.Max(values("writes")) > 0 &&
			len(values("p99.all")) > 0
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, int64(2000), got.EveryMs)
	require.True(t, slices.IsSorted(got.Times))
	require.Positive(t, slices.Max(values("p99.all")))
	require.Positive(t, slices.Max(values("memory")))
	require.Positive(t, slices.Max(values("diskFree")))
	require.InDelta(t, 1, slices.Max(values("connections")), 0.01)
	require.Equal(t, "start", got.Events[len(got.Events)-1].Kind)

	last := got.Times[len(got.Times)-1]
	b.get(fmt.Sprintf("/trends?from=%d", last), &got)
	require.GreaterOrEqual(t, got.Times[0], last)
}

// Who watches a znode is told to those that may read it: by watches of it, and by recursive ones above it.
func TestConsoleTellsWatchers(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/a", "/a/b", "/secret")
	c.MustSetACL(t, "/secret", ownedBy("bob", "b"), -1)
	type watcher struct {
		Session, Address, Below string
		Data, Child             bool
	}
	var got struct {
		Total    int
		Watchers []watcher
	}
	b := browse(t, s)
	b.get("/watchers?path=/a/b", &got)
	require.Zero(t, got.Total)
	c.MustGetData(t, "/a/b", true)
	b.get("/watchers?path=/a/b", &got)
	require.Equal(t, 1, got.Total)
	require.Equal(t, []any{true, false, ""}, []any{got.Watchers[0].Data, got.Watchers[0].Child, got.Watchers[0].Below})
	require.NotEmpty(t, got.Watchers[0].Address)
	c.MustChildren(t, "/a/b", true)
	must.Do(c.Do(wire.AddWatch("/a", 1)))(t) // persistent and recursive
	b.get("/watchers?path=/a/b", &got)
	require.Equal(t, []any{true, true, "/a"},
		[]any{got.Watchers[0].Data, got.Watchers[0].Child, got.Watchers[0].Below})
	b.get("/watchers?path=/a", &got)
	require.Equal(t, []any{false, false, "/a"},
		[]any{got.Watchers[0].Data, got.Watchers[0].Child, got.Watchers[0].Below})
	b.get("/watchers?path=/", &got)
	require.Zero(t, got.Total)
	for path, want := range map[string]int{"/secret": 403, "/none": 404} {
		require.Equal(t, want, b.status("GET", "/watchers?path="+path, nil), path)
	}
}

// Who watches a znode with thousands of levels above it is told soon, however many clients are connected.
func TestConsoleTellsWatchersOfADeepZnode(t *testing.T) {
	s, c := withAdmin(t, nil)
	const levels = 3000
	deep := strings.Repeat("/a", levels)
	for made := 0; made < levels; {
		var ops []wire.Request
		for ; made < levels && len(ops) < 50; made++ {
			ops = append(ops, wire.Create(deep[:2*made+2], nil, wire.OpenACL, proto.ModePersistent))
		}
		must.Do(c.Multi(ops...))(t)
	}
	for range 200 {
		dial(t, s.Addr().String(), wire.Options{})
	}
	must.Do(c.Do(wire.AddWatch("/a/a", 1)))(t) // persistent and recursive
	var got struct{ Watchers []struct{ Below string } }
	began := time.Now()
	browse(t, s).get("/watchers?path="+deep, &got)
	require.Len(t, got.Watchers, 1)
	require.Equal(t, "/a/a", got.Watchers[0].Below)
	require.Less(t, time.Since(began), time.Second)
}

// Orders, sessions that have expired, and a restore are events, and say who has ordered what.
func TestConsoleTellsEvents(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) {
		cfg.Admin.ConsoleWrites, cfg.Admin.RateLimiterInterval = true, 0
	})
	b := browse(t, s)
	b.header.Set("Authorization", superUser)
	comes := func(kind, text string) {
		t.Helper()
		var got struct{ Events []struct{ Kind, Text string } }
		require.Eventually(t, func() bool {
			b.get("/trends", &got)
			return slices.Contains(got.Events, struct{ Kind, Text string }{kind, text})
		}, hangGuard, 50*time.Millisecond, "%s: %+v", text, &got)
	}
	resp, text := b.do("POST", "/api/v1/steering/shed_connections", map[string]any{"percentage": 0})
	require.Equal(t, 200, resp.StatusCode, text)
	comes("order", "Order shed_connections by super")
	resp, text = b.do("POST", "/api/v1/steering/hand_over", map[string]any{"to": 9})
	require.Equal(t, 409, resp.StatusCode, text)
	comes("order", "Order hand_over by super, refused: this server does not lead, or it hands over already")

	dial(t, s.Addr().String(), wire.Options{TimeoutMs: 400}).Close()
	comes("sessions", "1 session expired")

	create(t, c, "/a")
	resp, image := fetch(t, s, "/commands/snapshot", superUser)
	require.Equal(t, 200, resp.StatusCode)
	r := must.Do(http.NewRequest(http.MethodPost, b.base+"/commands/restore", bytes.NewReader(image)))(t)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Authorization", superUser)
	restored := must.Do((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r))(t)
	require.NoError(t, restored.Body.Close())
	require.Equal(t, 200, restored.StatusCode)
	var got struct{ Events []struct{ Kind, Text string } }
	b.get("/trends", &got)
	require.Equal(t, "restore", got.Events[0].Kind)
	require.Contains(t, got.Events[0].Text, "State restored from a snapshot, as of txn 0x")
}

// A change of the ensemble is an event at every server.
func TestConsoleTellsReconfigurations(t *testing.T) {
	e := startSteered(t, func(c *config.Config) { c.Quorum.ReconfigEnabled, c.Admin.ConsoleWrites = true, true })
	require.NoError(t, e.WaitServing(t.Context()))
	leader := leaderOf(t, e)
	b := browse(t, e.Server(leader))
	b.header.Set("Authorization", superUser)
	leaves := map[string]any{"leave": fmt.Sprint(leader%3 + 1)}
	resp, text := b.do("POST", "/api/v1/reconfiguration/plan", leaves)
	require.Equal(t, 200, resp.StatusCode, text)
	var plan struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(text), &plan))
	leaves["version"] = plan.Version
	resp, text = b.do("POST", "/api/v1/reconfiguration", leaves)
	require.Equal(t, 200, resp.StatusCode, text)
	require.Eventually(t, func() bool {
		var got struct{ Events []struct{ Kind, Text string } }
		b.get("/trends", &got)
		return slices.ContainsFunc(got.Events, func(e struct{ Kind, Text string }) bool {
			return e.Kind == "configuration" && strings.HasSuffix(e.Text, ": 2 voters")
		})
	}, hangGuard, 50*time.Millisecond)
}

// What is special about a znode is told: that it goes with a session, with its last child, or after a time.
func TestConsoleTellsKinds(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.ExtendedTypes = true })
	create(t, c, "/a")
	c.MustCreate(t, "/a/ephemeral", nil, proto.ModeEphemeral)
	must.Do2(c.CreateContainer("/a/container", nil))(t)
	must.Do2(c.CreateTTL("/a/ttl", nil, proto.ModePersistentTTL, 60_000))(t)
	b := browse(t, s)
	var children struct {
		Children []struct{ Name, Kind, Owner string }
	}
	b.get("/children?path=/a", &children)
	require.Len(t, children.Children, 3)
	for _, child := range children.Children {
		require.Equal(t, child.Name, child.Kind)
		require.Equal(t, child.Kind == "ephemeral", child.Owner != "")
		var z struct {
			Stat struct {
				Kind  string
				TTLMs int64
			}
		}
		b.get("/znode?path=/a/"+child.Name, &z)
		require.Equal(t, child.Kind, z.Stat.Kind)
		require.Equal(t, child.Kind == "ttl", z.Stat.TTLMs == 60_000)
	}
	var z struct{ Stat struct{ Kind string } }
	b.get("/znode?path=/a", &z)
	require.Equal(t, "persistent", z.Stat.Kind)
}

// The figures and events of a server are there after a restart, and another version is an event of its own.
func TestConsoleKeepsTrendsOverARestart(t *testing.T) {
	cfg := testConfig(t)
	cfg.Admin.Enabled, cfg.Admin.Port = true, 0
	type answer struct {
		Times  []int64
		Events []struct{ Kind, Text string }
	}
	live := func(version string, until func(*answer) bool) answer {
		s := server.New(cfg, server.Options{Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)), Program: version})
		require.NoError(t, s.Start())
		defer s.Stop()
		b, got := browse(t, s), answer{}
		require.Eventually(t, func() bool {
			got = answer{}
			b.get("/trends", &got)
			return until(&got)
		}, time.Minute, 20*time.Millisecond)
		return got
	}
	kinds := func(a *answer) (all []string) {
		for _, e := range a.Events {
			all = append(all, e.Kind)
		}
		return all
	}
	first := live("Warren 0.1.0", func(a *answer) bool { return len(a.Times) > 0 })
	last := first.Times[len(first.Times)-1]
	same := live("Warren 0.1.0", func(a *answer) bool { return len(a.Times) > 0 && a.Times[len(a.Times)-1] > last })
	require.Contains(t, same.Times, last)
	require.Equal(t, []string{"start", "start"}, kinds(&same))
	next := live("Warren 0.2.0", func(a *answer) bool { return len(a.Events) > 2 })
	require.Contains(t, next.Times, last)
	require.Equal(t, []string{"deploy", "start", "start", "start"}, kinds(&next))
	require.Equal(t, "Warren 0.2.0 runs; before the restart it was Warren 0.1.0", next.Events[0].Text)

	// A damaged file is no trouble.
	file := filepath.Join(cfg.DataDir, ".warren.trends")
	require.NoError(t, os.WriteFile(file, []byte("damaged"), 0o600))
	damaged := live("Warren 0.2.0", func(a *answer) bool { return len(a.Events) > 0 })
	require.Equal(t, []string{"start"}, kinds(&damaged))
}
