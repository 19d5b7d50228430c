package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
)

func TestOrderOfSRVRecords(t *testing.T) {
	firsts := map[string]int{}
	for range 1000 {
		list := require.Do(inOrder([]*net.SRV{{Target: "far.", Port: 1, Priority: 2, Weight: 9},
			{Target: "heavy.", Port: 1, Priority: 1, Weight: 3}, {Target: "light", Port: 1, Priority: 1, Weight: 1},
			{Target: "idle", Port: 1, Priority: 1}, {Target: "far.", Port: 1, Priority: 2}, {Target: ".", Port: 1},
			{Target: "none"}, {Port: 1}, nil}))(t)
		require.Len(t, list, 4)
		require.Equal(t, "far.:1", list[3])
		firsts[list[0]]++
	}
	require.Greater(t, firsts["heavy.:1"], 600) // three quarters of 1000
	require.Greater(t, firsts["light:1"], 150)
	require.Less(t, firsts["idle:1"], 50)
	firsts = map[string]int{}
	for range 300 {
		list, err := inOrder([]*net.SRV{{Target: "a", Port: 1}, {Target: "b", Port: 1}, {Target: "c", Port: 1}})
		require.NoError(t, err)
		firsts[list[0]]++
	}
	for _, name := range []string{"a:1", "b:1", "c:1"} {
		require.Greater(t, firsts[name], 30, name)
	}
	for _, none := range [][]*net.SRV{nil, {{Target: ".", Port: 1}}} {
		require.ErrorIs(t, require.Err(inOrder(none)), errNoServers)
	}
}

// registry answers for SRV records as a test wants it.
type registry struct {
	guarded
	records []*net.SRV
	fails   error
	silent  bool
	asked   []string
}

func (r *registry) lookup(ctx context.Context, name string) ([]*net.SRV, error) {
	r.mu.Lock()
	r.asked = append(r.asked, name)
	records, err, silent := r.records, r.fails, r.silent
	r.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return records, err
}

func records(ids ...int) (all []*net.SRV) {
	for _, id := range ids {
		all = append(all, &net.SRV{Target: fmt.Sprintf("s%d.", id), Port: 1, Weight: 1})
	}
	return all
}

// The servers of a service are those of its records when the client looks for a server: the next connection goes to a
// new one, and none to those that have gone. While the name server does not say which they are, the last ones are
// tried.
func TestServersOfAService(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*registry)
		up     int // the server to which the client must come
		dials  []string
	}{
		"moved":     {func(r *registry) { r.records = records(4) }, 4, []string{"s4.:1"}},
		"silent":    {func(r *registry) { r.silent = true }, 1, []string{"s1.:1"}},
		"fails":     {func(r *registry) { r.fails = errors.New("server misbehaving") }, 1, []string{"s1.:1"}},
		"no record": {func(r *registry) { r.records = nil }, 1, []string{"s1.:1"}},
		"withdrawn": {func(r *registry) { r.records = []*net.SRV{{Target: ".", Port: 1}} }, 1, []string{"s1.:1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &registry{records: records(1)}
			s := &site{up: map[string]bool{"s1.:1": true}}
			cl, err := New("dns-srv://_zk._tcp.example.com/app", WithDialer(s.dial), WithSRVResolver(r.lookup))
			require.NoError(t, err)
			defer cl.Close()
			require.NoError(t, cl.WaitConnected(t.Context()))
			r.set(func() { c.change(r) })
			s.change(map[string]bool{fmt.Sprintf("s%d.:1", c.up): true})
			synctest.Wait()
			began := time.Now()
			require.NoError(t, cl.WaitConnected(t.Context()))
			require.LessOrEqual(t, time.Since(began), 2*answerWait, name)
			s.mu.Lock()
			require.Equal(t, c.dials, s.dialed, name)
			s.mu.Unlock()
			r.set(func() { require.Equal(t, []string{"_zk._tcp.example.com", "_zk._tcp.example.com"}, r.asked) })
		})
	}
}

// Each pass asks for the records again, and waits between two passes. A search does not begin with the server that was
// lost.
func TestPassesOverAService(t *testing.T) {
	r := &registry{fails: errors.New("server misbehaving")}
	h := newHosts(nil, newNames(t.Context(), nil), time.Minute)
	h.service, h.records = "zk", newRecords(t.Context(), r.lookup)
	h.begin()
	_, isLast, err := h.pick(t.Context())
	require.True(t, isLast)
	require.EqualError(t, err, "client: resolve zk: server misbehaving")
	r.set(func() { r.fails, r.records = nil, records(1, 2, 3) })
	for want := 3; want > 0; want-- {
		seen := map[string]bool{}
		for isLast := false; !isLast; {
			var e endpoint
			e, isLast = require.Do2(h.pick(t.Context()))(t)
			require.Equal(t, e.addr, e.host+".:1")
			seen[e.addr] = true
		}
		require.Len(t, seen, want)
		r.set(func() { r.records = r.records[:want-1] })
	}
	require.Len(t, r.asked, 4)
	r.set(func() { r.records = records(1, 2) })
	for range 20 {
		h.begin()
		before := h.current
		e, _ := require.Do2(h.pick(t.Context()))(t)
		require.NotEqual(t, before, e.addr)
	}
	h.front = "s9.:1"
	e, _ := require.Do2(h.pick(t.Context()))(t)
	require.Equal(t, "s9.:1", e.addr, "a server with quorum is tried at once")
}

func TestServiceAndServerSource(t *testing.T) {
	_, err := New("dns-srv://zk", WithServerSource(func(context.Context) (string, error) { return "a:1", nil }))
	require.EqualError(t, err, "client: dns-srv://zk and WithServerSource both say which servers to try")
	require.ErrorContains(t, require.Err(New("dns-srv://zk", WithSRVResolver(nil))), "must not be nil")
}
