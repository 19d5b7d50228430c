package visible

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// Of many former counts few are kept: the oldest, and the newer the denser.
func TestFormersAreDenserTheNewerTheyAre(t *testing.T) {
	var all []former
	for i := range int64(1000) {
		all = remember(all, former{counted: 1 + i})
		require.LessOrEqual(t, len(all), formersMax)
	}
	require.EqualValues(t, 1, all[0].counted)
	require.EqualValues(t, 1000, all[len(all)-1].counted)
	require.Greater(t, all[2].counted-all[1].counted, all[len(all)-1].counted-all[len(all)-2].counted)
	require.EqualValues(t, 1, before(all, 0).counted)
	require.EqualValues(t, 1000, before(all, 2000).counted)
	require.Equal(t, all[3].counted, before(all, all[3].counted).counted)
	require.Equal(t, all[3].counted, before(all, all[4].counted-1).counted)
	require.Nil(t, before(nil, 1))
}

// Growth is known of what was there, and of what is new where all that was there was kept.
func TestSizesTellGrowth(t *testing.T) {
	g := newGrove(t, 1)
	set := func(path string, size int) {
		g.apply(proto.OpCreate, &proto.CreateTxn{Path: proto.Text(path), Data: make([]byte, size)})
	}
	c := &count{root: "/"}
	count := func(since int64) *Sizes {
		for done := false; !done; {
			done = must.Do(g.countOn(c))(t)
		}
		return c.sizes("/", nil, since)
	}
	grown := func(s SizePart, path string) *int64 {
		for _, p := range s.Parts {
			if p.Path == path {
				return p.Grown
			}
		}
		t.Fatal(path)
		return nil
	}
	set("/a", 10)
	set("/a/x", 10)
	s := count(0)
	require.Zero(t, s.Since)
	require.Nil(t, s.Whole.Grown, "nothing is known yet")
	require.Nil(t, grown(s.Whole, "/a"))
	set("/a/y", 100)
	set("/b", 1000)
	set("/b/z", 5)
	s = count(0)
	require.Len(t, s.Formers, 1)
	require.Equal(t, s.Formers[0], s.Since)
	require.EqualValues(t, 104, *grown(s.Whole, "/a"))
	require.EqualValues(t, 1002+9, *grown(s.Whole, "/b"), "it was not there")
	require.EqualValues(t, 104+1002+9, *s.Whole.Grown)
	for _, p := range s.Whole.Parts {
		for _, q := range p.Parts {
			want := map[string]int64{"/a/x": 0, "/a/y": 104, "/b/z": 9}[q.Path]
			require.Equal(t, want, *q.Grown, q.Path)
		}
	}
	s = count(time.Now().UnixMilli())
	require.Len(t, s.Formers, 2)
	require.Equal(t, s.Formers[1], s.Since)
	require.Zero(t, *s.Whole.Grown)
}
