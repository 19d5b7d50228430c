package server_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
			_, err := c.SetData("/a", fmt.Append(nil, i), -1)
			require.NoError(t, err)
			_, _, err = c.GetData("/a", false)
			require.NoError(t, err)
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
	_, err := c.SetACL("/secret", ownedBy("bob", "b"), -1)
	require.NoError(t, err)
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
	_, _, err = c.GetData("/a/b", true)
	require.NoError(t, err)
	b.get("/watchers?path=/a/b", &got)
	require.Equal(t, 1, got.Total)
	require.Equal(t, []any{true, false, ""}, []any{got.Watchers[0].Data, got.Watchers[0].Child, got.Watchers[0].Below})
	require.NotEmpty(t, got.Watchers[0].Address)
	_, err = c.Children("/a/b", true)
	require.NoError(t, err)
	_, err = c.Do(wire.AddWatch("/a", 1)) // persistent and recursive
	require.NoError(t, err)
	b.get("/watchers?path=/a/b", &got)
	require.Equal(t, []any{true, true, "/a"},
		[]any{got.Watchers[0].Data, got.Watchers[0].Child, got.Watchers[0].Below})
	b.get("/watchers?path=/a", &got)
	require.Equal(t, []any{false, false, "/a"},
		[]any{got.Watchers[0].Data, got.Watchers[0].Child, got.Watchers[0].Below})
	b.get("/watchers?path=/", &got)
	require.Zero(t, got.Total)
	for path, want := range map[string]int{"/secret": 403, "/none": 404} {
		status, _ := b.status("GET", "/watchers?path="+path, nil)
		require.Equal(t, want, status, path)
	}
}
