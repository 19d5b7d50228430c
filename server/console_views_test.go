package server_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
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
	_, err := c.SetACL("/secret", ownedBy("bob", "b"), -1)
	require.NoError(t, err)
	for i := range 1000 { // more than one hold of the lock counts
		_, err := c.Create(fmt.Sprintf("/a/n%d", i), make([]byte, 100), proto.ModePersistent)
		require.NoError(t, err)
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
		status, _ := b.status("GET", "/sizes?path="+path, nil)
		require.Equal(t, 403, status)
	}
	status, _ := b.status("GET", "/sizes?path=/none", nil)
	require.Equal(t, 404, status)

	b.header.Set("Authorization", "digest bob:b")
	require.EqualValues(t, 2, countSizes(b, "/").at("/secret").Znodes, "a count is that of its visitor")
}

// A count goes on when znodes are deleted under it, and is right about those that stay.
func TestConsoleCountsWhileZnodesGo(t *testing.T) {
	s, c := withAdmin(t, nil)
	create(t, c, "/stays", "/goes", "/last")
	for i := range 800 {
		for _, parent := range []string{"/stays", "/goes"} {
			_, err := c.Create(fmt.Sprintf("%s/n%d", parent, i), nil, proto.ModePersistent)
			require.NoError(t, err)
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
