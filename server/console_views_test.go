package server_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// countedPart is a part of the sizes that a server shows.
type countedPart struct {
	Path          string
	Znodes, Bytes int64
	Writes        float64
	Parts         []countedPart
	Others        int
}

func (p *countedPart) at(path string) *countedPart {
	for i := range p.Parts {
		if p.Parts[i].Path == path {
			return &p.Parts[i]
		}
	}
	return &countedPart{}
}

// countSizes asks until the sizes below a znode are counted.
func countSizes(b *browser, path string) *countedPart {
	b.t.Helper()
	var s struct {
		Counted int64
		Running bool
		Whole   countedPart
	}
	require.Eventually(b.t, func() bool {
		b.get("/sizes?path="+url.QueryEscape(path), &s)
		return s.Counted > 0
	}, time.Minute, 10*time.Millisecond)
	return &s.Whole
}

func TestConsoleCountsSizes(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/a", "/a/b", "/a/b/c", "/secret", "/secret/inner")
	c.MustSetACL(t, "/secret", ownedBy("bob", "b"), -1)
	for i := range 1000 { // more than one hold of the lock counts
		c.MustCreate(t, fmt.Sprintf("/a/n%d", i), make([]byte, 100), proto.ModePersistent)
	}
	b := browse(t, s)
	whole := countSizes(b, "/")
	require.EqualValues(t, 1+3+1003+1, whole.Znodes, "what is below the secret is not counted")
	a := whole.at("/a")
	require.EqualValues(t, 1003, a.Znodes)
	bytes := int64(0)
	for _, path := range []string{"/a", "/a/b", "/a/b/c"} {
		bytes += int64(len(path) + len("data of "+path))
	}
	for i := range 1000 {
		bytes += int64(len(fmt.Sprintf("/a/n%d", i)) + 100)
	}
	require.Equal(t, bytes, a.Bytes)
	require.Positive(t, a.Writes)
	require.Len(t, a.Parts, 60)
	require.Equal(t, 1001-60, a.Others)
	require.EqualValues(t, len("/secret"), whole.at("/secret").Bytes)
	require.EqualValues(t, 2, countSizes(b, "/a/b").Znodes, "a part that was kept, or a count of its own")
	for _, path := range []string{"/secret", "/secret/inner"} {
		require.Equal(t, 403, b.status("GET", "/sizes?path="+path, nil))
	}
	require.Equal(t, 404, b.status("GET", "/sizes?path=/none", nil))

	b.header.Set("Authorization", "digest bob:b")
	require.EqualValues(t, 2, countSizes(b, "/").at("/secret").Znodes, "a count is that of its visitor")
}

// A count goes on when znodes are deleted under it, and is right about those that stay.
func TestConsoleCountsWhileZnodesGo(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/stays", "/goes", "/last")
	for i := range 800 {
		for _, parent := range []string{"/stays", "/goes"} {
			c.MustCreate(t, fmt.Sprintf("%s/n%d", parent, i), nil, proto.ModePersistent)
		}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for i := range 800 {
			_ = c.Delete(fmt.Sprintf("/goes/n%d", i), -1)
		}
		_ = c.Delete("/goes", -1)
	}()
	b := browse(t, s)
	whole := countSizes(b, "/")
	<-gone
	require.EqualValues(t, 801, whole.at("/stays").Znodes)
	require.EqualValues(t, 1, whole.at("/last").Znodes)
	require.LessOrEqual(t, whole.Znodes, int64(1+3+801+801+1))
}

// The past is that of the log: znodes that are gone, data and ACLs that were replaced.
func TestConsoleShowsThePast(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/a", "/a/goes", "/a/stays", "/other")
	var z struct{ Stat struct{ Mzxid, Pzxid string } }
	b := browse(t, s)
	b.get("/znode?path=/", &z)
	c.MustSetData(t, "/a/stays", []byte("new"), -1)
	require.NoError(t, c.Delete("/a/goes", -1))
	create(t, c, "/a/comes")
	c.MustSetACL(t, "/a", ownedBy("bob", "b"), -1)
	before := z.Stat.Pzxid // /other was created last

	for _, path := range []string{"/past?at=" + before + "&path=/a", "/difference?from=" + before} {
		require.Equal(t, 403, b.status("GET", path, nil), "without a login")
	}
	b.header.Set("Authorization", "digest bob:b")
	require.Equal(t, 403, b.status("GET", "/past?at="+before+"&path=/a", nil), "a user that may not fetch a snapshot")
	b.header.Set("Authorization", "digest super:secret")
	var p struct {
		Zxid     string
		Exists   bool
		Znode    struct{ Data string }
		Children struct{ Children []struct{ Name string } }
	}
	b.get("/past?at="+before+"&path=/a", &p)
	require.True(t, p.Exists)
	require.Equal(t, before, p.Zxid)
	require.Equal(t, []struct{ Name string }{{"goes"}, {"stays"}}, p.Children.Children)
	b.get("/past?at="+before+"&path=/a/stays", &p)
	require.Equal(t, "data of /a/stays", p.Znode.Data)
	b.get("/past?at="+before+"&path=/a/comes", &p)
	require.False(t, p.Exists)
	b.get("/past?at=2100-01-01T00:00:00Z&path=/a/stays", &p)
	require.Equal(t, "new", p.Znode.Data)
	for at, want := range map[string]int{"ffffffff": 404, "1980-01-01T00:00:00Z": 200, "x": 400} {
		require.Equal(t, want, b.status("GET", "/past?path=/&at="+at, nil), at)
	}

	var d struct {
		Changed int
		Changes []struct {
			Path, Kind, Before, After string
			What                      []string
		}
	}
	b.get("/difference?under=/a&from="+before, &d)
	require.Equal(t, 4, d.Changed)
	got := []string{}
	for _, c := range d.Changes {
		got = append(got, fmt.Sprint(c.Path, " ", c.Kind, " ", c.What, " ", c.Before, " ", c.After))
	}
	require.Equal(t, []string{"/a changed [acl] data of /a data of /a", "/a/comes created []  data of /a/comes",
		"/a/goes deleted [] data of /a/goes ", "/a/stays changed [data] data of /a/stays new"}, got)
	b.get("/difference?under=/other&from="+before, &d)
	require.Zero(t, d.Changed)
	require.Equal(t, 400, b.status("GET", "/difference?to="+before+"&from=2100-01-01T00:00:00Z", nil))
}

// Letters of a path are found in any case, a part of it or with gaps.
func TestConsoleSearchesInAnyCase(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/config", "/config/Topics", "/config/Topics/Orders", "/config/Topics/orders-old", "/other")
	b := browse(t, s)
	for query, want := range map[string][]string{
		"contains=ORDERS":                       {"/config/Topics/Orders", "/config/Topics/orders-old"},
		"contains=topics/ord":                   {"/config/Topics/Orders", "/config/Topics/orders-old"},
		"letters=CFGTPCORD":                     {"/config/Topics/Orders", "/config/Topics/orders-old"},
		"letters=od":                            {"/config/Topics/Orders", "/config/Topics/orders-old"},
		"letters=odd":                           {"/config/Topics/orders-old"},
		"under=/config/Topics&letters=topics":   nil,
		"under=/config&letters=ts&limit=1":      {"/config/Topics"},
		"letters=%C3%84":                        {},
		"prefix=Ord":                            {"/config/Topics/Orders"},
		"under=/config/Topics&prefix=ord":       {"/config/Topics/orders-old"},
		"letters=zzzz":                          {},
		"under=/other&letters=o":                {},
		"letters=config/topics/orders-oldd":     {},
		"under=/config&contains=" + "%2Forders": {"/config/Topics/Orders", "/config/Topics/orders-old"},
	} {
		var found struct{ Paths []string }
		b.get("/search?"+query, &found)
		require.ElementsMatch(t, want, found.Paths, query)
	}
	for _, query := range []string{"", "contains=a&letters=b", "prefix=a&letters=b", "letters="} {
		require.Equal(t, 400, b.status("GET", "/search?"+query, nil), query)
	}
}

// The reads and writes of a znode are counted from the first look on, for visitors with a login that may read it.
func TestConsoleCountsActivity(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.Top = true })
	create(t, c, "/a", "/secret")
	c.MustSetACL(t, "/secret", ownedBy("eve", "e"), -1)
	c.MustSetACL(t, "/a", append(ownedBy("bob", "b"), proto.ACL{Perms: proto.PermAll,
		Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}), -1)
	b := browse(t, s)
	require.Equal(t, 401, b.status("GET", "/activity?path=/a", nil))
	require.Equal(t, 200, b.login("bob", "b"))
	for path, want := range map[string]int{"/secret": 403, "/none": 404} {
		require.Equal(t, want, b.status("GET", "/activity?path="+path, nil), path)
	}
	var got struct {
		Enabled bool
		EveryMs int64
		Times   []int64
		Series  []struct {
			Name   string
			Values []float64
		}
	}
	b.get("/activity?path=/a", &got)
	require.True(t, got.Enabled)
	require.EqualValues(t, 2000, got.EveryMs)
	sum := func(values []float64) (n float64) {
		for _, v := range values {
			n += 2 * v
		}
		return n
	}
	for range 3 {
		c.MustGetData(t, "/a", false)
	}
	c.MustSetData(t, "/a", []byte("x"), -1)
	require.Eventually(t, func() bool {
		if _, _, err := c.GetData("/a", false); err != nil {
			return false
		}
		_, err := c.SetData("/a", []byte("y"), -1)
		b.get("/activity?path=/a", &got)
		return err == nil && len(got.Times) > 1 && sum(got.Series[0].Values) > 3 && sum(got.Series[1].Values) > 1
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, []string{"reads", "writes"}, []string{got.Series[0].Name, got.Series[1].Name})
}
