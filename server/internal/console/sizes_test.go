package console

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/api"
)

// Areas are proportional to weights, lie in the whole, and do not overlap.
func checkAreas(t *testing.T, values []float64, total float64) {
	t.Helper()
	rects := squarify(values, total)
	require.Len(t, rects, len(values))
	for i, r := range rects {
		require.InDelta(t, values[i]/total, r.w*r.h, 1e-6, "%d of %v", i, values)
		require.True(t, r.x >= -1e-6 && r.y >= -1e-6 && r.x+r.w <= 1+1e-6 && r.y+r.h <= 1+1e-6, "%v", r)
		for _, o := range rects[:i] {
			overlap := max(0, min(r.x+r.w, o.x+o.w)-max(r.x, o.x)) * max(0, min(r.y+r.h, o.y+o.h)-max(r.y, o.y))
			require.InDelta(t, 0, overlap, 1e-6)
		}
	}
}

func TestSquarify(t *testing.T) {
	checkAreas(t, []float64{6, 6, 4, 3, 2, 2, 1}, 24)
	checkAreas(t, []float64{1}, 1)
	checkAreas(t, []float64{1e12, 1, 1e-9}, 1e12+1+1e-9)
	require.Empty(t, squarify(nil, 1))
}

func TestAreasHaveARest(t *testing.T) {
	weigh := func(p *api.SizePart) float64 { return float64(p.Bytes) }
	all := areas([]api.SizePart{{Path: "/a", Bytes: 1}, {Path: "/b", Bytes: 5}, {Path: "/c"}}, weigh, 10)
	require.Len(t, all, 3, "what weighs nothing has no area")
	require.Equal(t, "/b", all[0].part.Path)
	require.Nil(t, all[2].part)
	require.InDelta(t, 0.4, all[2].rect.w*all[2].rect.h, 1e-9)
	require.Empty(t, areas(nil, weigh, 0))
}

func FuzzSquarify(f *testing.F) {
	f.Add(6.0, 5.0, 1.0, 0.5)
	f.Add(1e12, 1.0, 1e-9, 1.0)
	f.Fuzz(func(t *testing.T, a, b, c, d float64) {
		var values []float64
		total := 0.0
		for _, v := range []float64{a, b, c, d} {
			if v > 0 && v < 1e15 && !math.IsNaN(v) {
				values, total = append(values, v), total+v
			}
		}
		if total > 1e-9 {
			checkAreas(t, values, total)
		}
	})
}
