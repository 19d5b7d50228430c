package server_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
