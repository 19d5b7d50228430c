package single_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// shownRecipe is what a server says of one recipe.
type shownRecipe struct {
	Path, Kind string
	Sure       bool
	Total      int
	Members    []struct {
		Path, State, Session, Text string
		Since                      int64
	}
}

// A server says what the znodes of these recipes mean.
func TestServersShowRecipes(t *testing.T) {
	e := embed.Start(t, embed.Options{Configure: func(_ int, c *config.Config) {
		c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", 0
	}})
	ctx := within(t)
	one, two := dialAt(t, e.Addr(1)), dialAt(t, e.Addr(1))
	shown := func(under string) map[string]*shownRecipe {
		resp := must.Do(http.Get("http://" + e.Server(1).AdminAddr().String() + "/api/v1/recipes?under=" +
			url.QueryEscape(under)))(t)
		defer resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		var answer struct{ Recipes []*shownRecipe }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		byPath := map[string]*shownRecipe{}
		for _, r := range answer.Recipes {
			byPath[r.Path] = r
		}
		return byPath
	}
	states := func(r *shownRecipe) (all []string) {
		for _, m := range r.Members {
			all = append(all, m.State+" "+m.Text)
		}
		return all
	}
	// await waits until the recipe at a path is of a kind, with members in these states.
	await := func(path, kind string, want ...string) *shownRecipe {
		t.Helper()
		var r *shownRecipe
		require.Eventually(t, func() bool {
			r = shown("/")[path]
			return r != nil && r.Kind == kind && slices.Equal(states(r), want)
		}, 10*time.Second, 10*time.Millisecond, "%s: %v", path, want)
		return r
	}
	began := time.Now().Add(-time.Minute)
	data := func(text string) recipes.Option { return recipes.WithData([]byte(text)) }

	must.Do(recipes.NewMutex(one, "/lock", data("one")).Lock(ctx))(t)
	go func() { _, _ = recipes.NewMutex(two, "/lock", data("two")).Lock(ctx) }()
	r := await("/lock", "lock", "holds one", "waits two")
	require.True(t, r.Sure)
	require.NotEqual(t, r.Members[0].Session, r.Members[1].Session)
	require.Greater(t, r.Members[0].Since, began.UnixMilli())

	must.Do(recipes.NewRWMutex(one, "/rw").RLock(ctx))(t)
	must.Do(recipes.NewRWMutex(two, "/rw").RLock(ctx))(t)
	go func() { _, _ = recipes.NewRWMutex(two, "/rw", data("writer")).Lock(ctx) }()
	await("/rw", "read/write lock", "holds ", "holds ", "waits writer")

	must.Do(recipes.NewLatch(one, "/latch", "node-a").Campaign(ctx))(t)
	await("/latch", "election", "leads node-a")

	must.Do(recipes.NewSemaphore(one, "/sem", 1, data("one")).Acquire(ctx))(t)
	go func() { _, _ = recipes.NewSemaphore(two, "/sem", 1, data("two")).Acquire(ctx) }()
	await("/sem", "semaphore", "holds one", "waits two")
	require.NotContains(t, shown("/"), "/sem/leases", "its parts are no recipes of their own")
	require.NotContains(t, shown("/"), "/sem/locks")

	must.Do(recipes.NewSimpleMutex(one, "/simple", data("me")).Lock(ctx))(t)
	await("/simple", "lock", "holds me")

	require.NoError(t, recipes.NewBarrier(one, "/a-barrier").Set(ctx))
	await("/a-barrier", "barrier", "closed ")

	go func() { _ = recipes.NewDoubleBarrier(one, "/double", 2).Enter(ctx) }()
	await("/double", "double barrier", "waits ")
	require.NoError(t, recipes.NewDoubleBarrier(two, "/double", 2).Enter(ctx))
	await("/double", "double barrier", "inside ", "inside ")

	queue := recipes.NewQueue(one, "/queue", "/queue-locks")
	require.NoError(t, queue.Put(ctx, []byte("print")))
	require.NoError(t, queue.Put(ctx, []byte("fold"), []byte("send")))
	must.Do(queue.Take(ctx))(t)
	await("/queue", "queue", "queued print", "queued fold (2 items)")
	await("/queue-locks", "items in work", "taken ")

	urgent := recipes.NewPriorityQueue(one, "/urgent", "/urgent-locks")
	require.NoError(t, urgent.Put(ctx, 5, []byte("later")))
	require.NoError(t, urgent.Put(ctx, -5, []byte("sooner")))
	await("/urgent", "queue", "queued priority -5: sooner", "queued priority 5: later")

	due := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, recipes.NewDelayQueue(one, "/delay", "/delay-locks").Put(ctx, due, []byte("x")))
	await("/delay", "queue", "queued due 2030-01-02 03:04:05 UTC: x")

	must.Do(recipes.NewDiscovery(one, "/services").Register(ctx, recipes.Instance{Name: "web", ID: "w1",
		Address: "10.0.0.1", Port: 80}))(t)
	await("/services/web", "service", "offered 10.0.0.1:80")

	must.Do(recipes.NewGroup(one, "/group").Join(ctx, "node-1", []byte("of one")))(t)
	require.False(t, await("/group", "group", "member of one").Sure)

	require.Len(t, shown("/lock"), 1, "the znode itself is looked at, too")

	// What one session has to do with them.
	type part struct {
		Recipe          shownRecipe
		Waiting, Before int
	}
	partsOf := func(session string) map[string]part {
		resp := must.Do(http.Get("http://" + e.Server(1).AdminAddr().String() + "/api/v1/session?label=" +
			url.QueryEscape(session)))(t)
		defer resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		var answer struct{ Parts []part }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		byPath := map[string]part{}
		for _, p := range answer.Parts {
			require.NotContains(t, byPath, p.Recipe.Path)
			byPath[p.Recipe.Path] = p
		}
		return byPath
	}
	first, second := partsOf(r.Members[0].Session), partsOf(r.Members[1].Session)
	require.ElementsMatch(t, []string{"/lock", "/rw", "/latch", "/sem", "/simple", "/double", "/queue-locks",
		"/services/web", "/group"}, slices.Collect(maps.Keys(first)))
	require.ElementsMatch(t, []string{"/lock", "/rw", "/sem", "/double"}, slices.Collect(maps.Keys(second)))
	lock := second["/lock"]
	require.Equal(t, []string{"holds one", "waits two"}, states(&lock.Recipe), "the holder, too")
	require.Equal(t, []int{1, 0}, []int{lock.Waiting, lock.Before})
	lock = first["/lock"]
	require.Equal(t, []string{"holds one"}, states(&lock.Recipe), "not those that wait")
	require.Equal(t, []int{1, 1}, []int{lock.Waiting, lock.Before})
	sem := second["/sem"]
	require.Equal(t, []string{"holds one", "waits two"}, states(&sem.Recipe))
}
