package topk

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// A path is counted in slots from the first look on, reads and writes apart, and other paths are not.
func TestFollowedPaths(t *testing.T) {
	const start, second = int64(100 * time.Second), int64(time.Second)
	r := New(start)
	var s Sampler
	r.Begin(&s)
	request := func(now int64, op proto.OpCode, paths ...string) {
		q := Request{Op: op, Now: now}
		for _, p := range paths {
			q.Paths = append(q.Paths, []byte(p))
		}
		require.True(t, s.Due())
		r.Record(&s, &q)
	}
	request(start, proto.OpGetData, "/a")
	require.Empty(t, r.Follow("/a", start, start).Times, "nothing is known of the time before")
	request(start+second, proto.OpGetData, "/a") // in a slot that is not whole
	for range 6 {
		request(start+3*second, proto.OpGetData, "/a")
	}
	request(start+3*second, proto.OpSetData, "/a")
	request(start+3*second, proto.OpMulti, "/b", "/a")
	request(start+3*second, proto.OpExists, "/b")
	c := r.Follow("/a", start+8*second, start+8*second)
	require.Equal(t, []int64{102_000, 104_000, 106_000}, c.Times)
	require.Equal(t, []float64{3, 0, 0}, c.Reads)
	require.Equal(t, []float64{1, 0, 0}, c.Writes)
	require.EqualValues(t, 1, c.OneIn)

	// It keeps ten minutes, and ends ten minutes after the last look.
	request(start+500*second, proto.OpGetData, "/a")
	c = r.Follow("/a", start+590*second, 0)
	require.Equal(t, start/1e6+590_000-2000, c.Times[len(c.Times)-1])
	c = r.Follow("/a", start+1100*second, start+1100*second)
	require.Len(t, c.Times, followSlots-1)
	request(start+1100*second+int64(FollowFor)+1, proto.OpGetData, "/a")
	require.Empty(t, r.mu.followed)
}

// Visitors cannot make a server follow more and more paths.
func TestFollowedPathsAreBounded(t *testing.T) {
	r := New(0)
	for i := range 3 * followedMax {
		r.Follow(fmt.Sprint("/", i), int64(i), 0)
	}
	require.Len(t, r.mu.followed, followedMax)
	require.Contains(t, r.mu.followed, fmt.Sprint("/", 3*followedMax-1))
	require.NotContains(t, r.mu.followed, "/0")
}
