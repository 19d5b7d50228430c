package server

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// wideChildren is more children than are read under one hold of the lock.
const wideChildren = 6_300

// serveWide runs a server with a znode of wideChildren children.
func serveWide(t *testing.T) (*Server, *wire.Conn) {
	s, c := serveOne(t, memConfig())
	c.MustCreate(t, "/wide", nil, proto.ModePersistent)
	for n := 0; n < wideChildren; {
		var ops []wire.Request
		for ; n < wideChildren && len(ops) < 1000; n++ {
			ops = append(ops, wire.Create(fmt.Sprintf("/wide/c%06d", n), nil, wire.OpenACL, proto.ModePersistent))
		}
		must.Do(c.Multi(ops...))(t)
	}
	require.EqualValues(t, 1, s.Store.Wide.Load())
	return s, c
}

// changes are the children of /wide after each txn that has changed them.
type changes struct {
	sync.Mutex
	names map[string]bool
	log   []struct {
		zxid proto.Zxid
		name string
	}
}

// churn creates and deletes children of /wide until stop is closed.
func (ch *changes) churn(t *testing.T, c *wire.Conn, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		name := fmt.Sprintf("c%06d", i*7919%(wideChildren+50))
		req := wire.Delete("/wide/"+name, -1)
		if !ch.has(name) {
			req = wire.Create("/wide/"+name, nil, wire.OpenACL, proto.ModePersistent)
		}
		rep, err := c.Do(req)
		if err != nil || rep.Err() != nil {
			t.Errorf("churn: %v, %v", err, rep)
			return
		}
		ch.Lock()
		ch.names[name] = !ch.names[name]
		ch.log = append(ch.log, struct {
			zxid proto.Zxid
			name string
		}{rep.Header.Zxid, name})
		ch.Unlock()
	}
}

func (ch *changes) has(name string) bool {
	ch.Lock()
	defer ch.Unlock()
	return ch.names[name]
}

// at returns the children at a zxid, sorted. All changes up to that zxid must have been recorded.
func (ch *changes) at(zxid proto.Zxid) (names []string) {
	now := maps.Clone(ch.names)
	for _, e := range slices.Backward(ch.log) {
		if e.zxid > zxid {
			now[e.name] = !now[e.name]
		}
	}
	for name, there := range now {
		if there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Children that are read in slices, while children are created and deleted, are the children at the zxid of the
// reply, in the order of the session. The watch that the read leaves misses no change.
func TestWideChildrenAreReadAtOneMoment(t *testing.T) {
	s, filler := serveWide(t)
	ch := &changes{names: map[string]bool{}}
	for i := range wideChildren {
		ch.names[fmt.Sprintf("c%06d", i)] = true
	}
	stop := make(chan struct{})
	var churning sync.WaitGroup
	churning.Go(func() { ch.churn(t, filler, stop) })
	type listing struct {
		zxid  proto.Zxid
		names []string
	}
	var mu sync.Mutex
	var events int
	c := dialWire(t, s, wire.Options{Observe: func(p wire.Packet) {
		if p.Event != nil {
			mu.Lock()
			events++
			mu.Unlock()
		}
	}})
	var seen []listing
	watched := 0
	fired := func() bool { mu.Lock(); defer mu.Unlock(); return events == watched }
	c.MustCreate(t, "/own", nil, proto.ModePersistent)
	for round := range 15 {
		watch := round%3 == 0
		reqs := []wire.Request{wire.GetChildren("/wide", watch), wire.GetChildren2("/wide", false)}
		if round%2 == 0 { // behind writes, and in front of one
			reqs = []wire.Request{
				wire.SetData("/own", nil, -1), wire.GetChildren("/wide", watch), wire.GetData("/own", false),
				wire.GetChildren2("/wide", false), wire.SetData("/own", nil, -1), wire.GetData("/own", false),
			}
		}
		if watch { // two watches of one client on one znode fire as one
			require.Eventually(t, fired, hangGuard, time.Millisecond, "every watch fires once")
			watched++
		}
		for i, call := range c.SendAll(reqs) {
			require.NoError(t, call.Wait())
			require.NoError(t, call.Reply.Err())
			switch reqs[i].Op {
			case proto.OpGetChildren:
				var body proto.GetChildrenResponse
				require.NoError(t, body.ReadFrom(call.Reply.Body))
				seen = append(seen, listing{call.Reply.Header.Zxid, texts(body.Children)})
			case proto.OpGetChildren2:
				var body proto.GetChildren2Response
				require.NoError(t, body.ReadFrom(call.Reply.Body))
				require.Len(t, body.Children, int(body.Stat.NumChildren))
				require.LessOrEqual(t, body.Stat.Pzxid, call.Reply.Header.Zxid)
				seen = append(seen, listing{call.Reply.Header.Zxid, texts(body.Children)})
			}
		}
	}
	require.Eventually(t, fired, hangGuard, time.Millisecond, "every watch fires once")
	close(stop)
	churning.Wait()
	for _, l := range seen {
		require.Equal(t, ch.at(l.zxid), l.names)
	}
	require.Eventually(t, func() bool { return s.InProcess.Load() == 0 }, hangGuard, time.Millisecond)
}

func texts(list []proto.Text) (names []string) {
	for _, name := range list {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// Requests before and after a long listing keep their order. A write of another client does not wait for the
// listing.
func TestWideChildrenKeepTheOrderOfTheSession(t *testing.T) {
	s, _ := serveWide(t)
	c := dialWire(t, s, wire.Options{})
	var reqs []wire.Request
	for i := range 20 {
		reqs = append(reqs, wire.Create(fmt.Sprintf("/wide/own%02d", i), nil, wire.OpenACL, proto.ModePersistent))
		for range 1 + i%3 {
			reqs = append(reqs, wire.GetChildren("/wide", false))
		}
	}
	own := 0
	for i, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err())
		if reqs[i].Op == proto.OpCreate {
			own++
			continue
		}
		var body proto.GetChildrenResponse
		require.NoError(t, body.ReadFrom(call.Reply.Body))
		require.Len(t, body.Children, wideChildren+own, "the writes in front of it, and none behind it")
	}
}

// A connection that ends leaves no read unfinished, and no watches, however many it had.
func TestWideChildrenOfAConnectionThatGoes(t *testing.T) {
	s, other := serveWide(t)
	for range 5 {
		nc := dialRaw(t, s)
		hello(t, nc, wire.Options{TimeoutMs: 60_000})
		b := frame(nil, 1, wire.SetData("/", nil, -1))
		for i := range 3000 {
			b = frame(b, 2, wire.Exists(fmt.Sprintf("/absent/%d", i), true))
		}
		for range 50 {
			b = frame(b, 2, wire.GetChildren("/wide", true))
		}
		must.Do(nc.Write(b))(t)
		must.Do(wire.ReadFrame(nc))(t)
		require.NoError(t, nc.Close())
	}
	require.Eventually(t, func() bool { return s.front.Conns.Len() == 1 }, hangGuard, time.Millisecond)
	require.Zero(t, s.InProcess.Load())
	require.Zero(t, s.front.CountWatches())
	require.True(t, s.Store.Listings.TryLock())
	s.Store.Listings.Unlock()
	require.Len(t, other.MustChildren(t, "/wide", false), wideChildren)
	require.Greater(t, wideChildren, datatree.WideChildren)
}

// With a million TTL znodes the reaper reads for 40 ms. Meanwhile a write waits, but no read waits behind that write.
func TestTheReaperLetsOthersRead(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	looked := make(chan [][]byte, 1)
	func() {
		s.Store.Long.Lock()
		defer s.Store.Long.Unlock()
		go func() { looked <- s.due() }()
		require.Never(t, func() bool { return len(looked) > 0 }, 50*time.Millisecond, time.Millisecond)
	}()
	require.Empty(t, <-looked)
}
