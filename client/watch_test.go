package client

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

func TestOneShotWatchesOnEachServer(t *testing.T) {
	eachServer(t, func(t *testing.T, connect string) {
		c := dial(t, connect)
		ctx := within(t, time.Minute)
		_, exists, created, err := c.ExistsW(ctx, "/w")
		require.NoError(t, err)
		require.False(t, exists)
		require.Do(c.Create(ctx, "/w", nil, Persistent))(t)
		// The event is there before the reply to the write that caused it.
		e := <-created.C()
		require.Equal(t, NodeCreated, e.Type)
		require.Equal(t, "/w", e.Path)
		_, ok := <-created.C()
		require.False(t, ok)

		data := armed(c.GetW(ctx, "/w"))(t)
		children := armed(c.ChildrenW(ctx, "/w"))(t)
		require.Do(c.Create(ctx, "/w/c", nil, Persistent))(t)
		require.Equal(t, NodeChildrenChanged, next(t, children).Type)
		require.Do(c.Set(ctx, "/w", []byte("x"), AnyVersion))(t)
		require.Equal(t, NodeDataChanged, next(t, data).Type)
		require.NoError(t, data.Err())

		_, _, _, err = c.GetW(ctx, "/none")
		require.ErrorIs(t, err, ErrNoNode)
		c.watches.mu.Lock()
		require.Empty(t, c.watches.paths)
		c.watches.mu.Unlock()
	})
}

func TestPersistentWatchesOnEachServer(t *testing.T) {
	eachServer(t, func(t *testing.T, connect string) {
		c := dial(t, connect)
		ctx := within(t, time.Minute)
		life, stop := context.WithCancel(ctx)
		node := require.Do(c.Watch(life, "/p", WatchNode))(t)
		tree := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)
		require.Do(c.Create(ctx, "/p", nil, Persistent))(t)
		require.Do(c.Create(ctx, "/p/q", nil, Persistent))(t)
		require.NoError(t, c.Delete(ctx, "/p/q", AnyVersion))
		want := func(w *Watch, types ...EventType) {
			t.Helper()
			for _, typ := range types {
				require.Equal(t, typ, next(t, w).Type)
			}
			require.Empty(t, w.C())
		}
		want(node, NodeCreated, NodeChildrenChanged, NodeChildrenChanged)
		want(tree, NodeCreated, NodeCreated, NodeDeleted)

		// The context closes the watch, here and on the server.
		require.True(t, require.Do(c.HasWatch(ctx, "/p", proto.WatcherAny))(t))
		stop()
		_, ok := node.Next(ctx)
		require.False(t, ok)
		require.NoError(t, node.Err())
		require.False(t, require.Do(c.HasWatch(ctx, "/p", proto.WatcherAny))(t))

		require.NoError(t, c.RemoveWatches(ctx, "/", proto.WatcherAny))
		_, ok = tree.Next(ctx)
		require.False(t, ok)
		require.ErrorIs(t, c.RemoveWatches(ctx, "/", proto.WatcherAny), ErrNoWatcher)
	})
}

func TestWatchesSeeWhatHappenedWhileDisconnected(t *testing.T) {
	f := newFake(t)
	addr := f.addr()
	c := dial(t, addr, WithBackoff(time.Millisecond, time.Millisecond))
	ctx := within(t, time.Minute)
	for _, p := range []string{"/data", "/same", "/child", "/gone"} {
		require.Do(c.Create(ctx, p, nil, Persistent))(t)
	}
	data := armed(c.GetW(ctx, "/data"))(t)
	same := armed(c.GetW(ctx, "/same"))(t)
	child := armed(c.ChildrenW(ctx, "/child"))(t)
	gone := armed(c.GetW(ctx, "/gone"))(t)
	created := armed(c.ExistsW(ctx, "/new"))(t)
	tree := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)

	turn := states(t, c)
	_ = f.listener.Close()
	f.cutAll()
	until(t, turn, Disconnected)
	f.listen("127.0.0.1:0")
	direct := dial(t, f.addr())
	require.Do(direct.Set(ctx, "/data", nil, AnyVersion))(t)
	require.Do(direct.Create(ctx, "/child/c", nil, Persistent))(t)
	require.NoError(t, direct.Delete(ctx, "/gone", AnyVersion))
	require.Do(direct.Create(ctx, "/new", nil, Persistent))(t)
	second := f.listener
	f.listen(addr)
	defer second.Close()

	require.Equal(t, NodeDataChanged, next(t, data).Type)
	require.Equal(t, NodeChildrenChanged, next(t, child).Type)
	require.Equal(t, NodeDeleted, next(t, gone).Type)
	require.Equal(t, NodeCreated, next(t, created).Type)
	for { // the recursive watch may be shown what the others caught up on
		if e := next(t, tree); e.Type == WatchRearmed {
			break
		}
	}
	require.Do(direct.Set(ctx, "/same", nil, AnyVersion))(t)
	require.Equal(t, NodeDataChanged, next(t, same).Type)
	require.Equal(t, "/same", next(t, tree).Path)
	f.with(func() { require.Equal(t, []proto.OpCode{proto.OpSetWatches2}, f.rearms) })
}

// The zxid of an event counts as seen. But watches are set again from the last reply on, since other events of
// the same txn may have been lost.
func TestEventsAreSeen(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	w := require.Do(c.Watch(ctx, "/", WatchNode))(t)
	replied := c.LastZxid()
	told := replied + 7
	turn := states(t, c)
	f.with(func() {
		f.zxid = told
		for fc := range f.conns {
			fc.notify(proto.EventNodeDataChanged, "/", told)
		}
	})
	require.Equal(t, told, next(t, w).Zxid)
	require.Equal(t, told, c.LastZxid())
	f.cutAll()
	until(t, turn, Disconnected)
	until(t, turn, Connected)
	require.Do2(c.Get(ctx, "/"))(t) // behind setWatches
	f.with(func() {
		require.Equal(t, told, f.seen)
		require.Equal(t, replied, f.relative)
	})
	require.Equal(t, told, c.Detach().Zxid)
}

func TestOverflowIsSaid(t *testing.T) {
	_, c := faked(t, WithWatchQueue(3))
	ctx := within(t, time.Minute)
	w := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)
	set := func(n int) {
		for range n {
			require.Do(c.Set(ctx, "/", nil, AnyVersion))(t)
		}
	}
	set(10)
	for _, want := range []EventType{NodeDataChanged, NodeDataChanged, NodeDataChanged, WatchOverflow} {
		require.Equal(t, want, next(t, w).Type)
	}
	require.Empty(t, w.C())
	set(1)
	require.Equal(t, NodeDataChanged, next(t, w).Type)
	// The last event has its place even in a full queue.
	set(10)
	require.NoError(t, c.Close())
	var last Event
	for e := range w.C() {
		last = e
	}
	require.Equal(t, WatchLost, last.Type)
	require.ErrorIs(t, w.Err(), ErrClosed)
}

func TestEventsOfOneRangeEndWithBreak(t *testing.T) {
	_, c := faked(t)
	ctx := within(t, time.Minute)
	w := require.Do(c.Watch(ctx, "/", WatchNode))(t)
	require.Do(c.Set(ctx, "/", nil, AnyVersion))(t)
	for e := range w.All(ctx) {
		require.Equal(t, NodeDataChanged, e.Type)
		break
	}
	require.False(t, require.Do(c.HasWatch(ctx, "/", proto.WatcherAny))(t))
}

// Thousands of watches are set again in requests of about 128 KiB, or less where servers take less: none refuses
// them.
func TestRearmIsSplit(t *testing.T) {
	for _, tt := range []struct{ requestMax, longest, least int }{
		{proto.DefaultMaxBuffer, rearmBytes + rearmFixed, 3},
		{1 << 30, rearmBytes + rearmFixed, 3},
		{5000, 5000, 70},
		{50, rearmFixed + 4 + len("/root/00000/") + 149, 2571}, // a single path must go as it is
	} {
		s := newWatchSet("/root")
		want := map[string]bool{}
		for i := range 3000 {
			path := fmt.Sprintf("/%05d/%s", i, strings.Repeat("x", 100+i%50))
			w := s.add(path, watchKind(i%5), newEventQueue(1), false)
			if i%7 != 0 { // the others have no answer yet
				s.activate(w)
				want["/root"+path] = true
			}
		}
		b, n := s.rearm(77, tt.requestMax)
		require.LessOrEqual(t, tt.least, n)
		in := newFrames(strings.NewReader(string(b)), tt.longest)
		got := map[string]bool{}
		for range n {
			frame := require.Do(in.next())(t)
			require.LessOrEqual(t, len(frame), tt.longest)
			var h proto.RequestHeader
			require.NoError(t, h.ReadFrom(frame[:proto.RequestHeaderSize]))
			require.Equal(t, int32(proto.XidSetWatches), int32(h.Xid))
			lists := watchLists(t, h.Type, frame[proto.RequestHeaderSize:])
			for _, list := range lists {
				require.False(t, list == nil, "a null vector is refused")
				for _, p := range list {
					require.False(t, got[p.String()])
					got[p.String()] = true
				}
			}
		}
		require.Equal(t, want, got)
	}
}

// watchLists returns the lists of a setWatches or setWatches2 at 77.
func watchLists(t *testing.T, op proto.OpCode, body []byte) [][]proto.Text {
	t.Helper()
	if op == proto.OpSetWatches {
		var r proto.SetWatches
		require.NoError(t, r.ReadFrom(body))
		require.EqualValues(t, 77, r.RelativeZxid)
		return [][]proto.Text{r.DataWatches, r.ExistWatches, r.ChildWatches}
	}
	require.Equal(t, proto.OpSetWatches2, op)
	var r proto.SetWatches2
	require.NoError(t, r.ReadFrom(body))
	require.EqualValues(t, 77, r.RelativeZxid)
	return [][]proto.Text{r.DataWatches, r.ExistWatches, r.ChildWatches, r.PersistentWatches,
		r.PersistentRecursiveWatches}
}

func TestPersistentWatchOnOlderServerIsLost(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	w := require.Do(c.Watch(ctx, "/", WatchNode))(t)
	f.with(func() { f.isOld = true })
	f.cutAll()
	e := next(t, w)
	require.Equal(t, WatchLost, e.Type)
	require.ErrorIs(t, e.Err, ErrUnimplemented)
	require.NoError(t, Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }))
	require.ErrorIs(t, require.Err(c.Watch(ctx, "/", WatchNode)), ErrUnimplemented)
}

// A one-shot watch is the size of a record, and has no channel until it is used.
func TestOneShotWatchIsSmall(t *testing.T) {
	require.LessOrEqual(t, reflect.TypeFor[Watch]().Size(), uintptr(64))
	s := newWatchSet("")
	const n = 1000
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("/%d", i)
	}
	kept := make([]*Watch, 0, n)
	allocs := testing.AllocsPerRun(1, func() {
		kept = kept[:0]
		for _, path := range paths {
			kept = append(kept, s.add(path, watchData, nil, false))
		}
	})
	require.Less(t, allocs, 1.1*n, "the watch, and a share of the map")
	require.True(t, kept[0].to == nil)
}

// Whenever the channel of a one-shot watch is asked for, it holds what it has to.
func TestChannelOfAOneShotWatch(t *testing.T) {
	type end struct {
		name string
		end  func(s *watchSet, w *Watch)
		want []Event
		err  error
	}
	for _, e := range []end{
		{"fires", func(s *watchSet, w *Watch) { s.fire(NodeDeleted, []byte("/a"), 7) },
			[]Event{{NodeDeleted, "/a", 7, nil}}, nil},
		{"closed", func(s *watchSet, w *Watch) { w.Close() }, nil, nil},
		{"session lost", func(s *watchSet, w *Watch) { s.sessionLost(ErrSessionExpired) },
			[]Event{{WatchLost, "/a", -1, ErrSessionExpired}}, ErrSessionExpired},
		{"client closed", func(s *watchSet, w *Watch) { s.close(ErrClosed) },
			[]Event{{WatchLost, "/a", -1, ErrClosed}}, ErrClosed},
	} {
		for _, isEarly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/early=%v", e.name, isEarly), func(t *testing.T) {
				s := newWatchSet("")
				s.remove = func(string) bool { return true }
				w := s.add("/a", watchData, nil, false)
				s.activate(w)
				var early <-chan Event
				if isEarly {
					early = w.C()
					require.Empty(t, early)
				}
				e.end(s, w)
				if isEarly {
					require.Equal(t, early, w.C())
				}
				require.Equal(t, w.C(), w.C())
				var got []Event
				for e := range w.C() {
					got = append(got, e)
				}
				require.Equal(t, e.want, got)
				require.Equal(t, e.err, w.Err())
				w.Close() // again
				require.Equal(t, e.err, w.Err())
			})
		}
	}
}

// RemoveWatches ends the watches that the server has removed, even if its caller does not wait for the answer, and no
// others: not one that was set meanwhile.
func TestRemovedWatchesEndWithTheAnswer(t *testing.T) {
	f := newFake(t)
	ctx := within(t, time.Minute)
	var later *Watch
	var c *Client
	c = dial(t, f.addr(), WithHooks(Hooks{End: func(_ context.Context, r OpResult) {
		if r.Op == proto.OpRemoveWatches.String() && r.Err == nil {
			_, _, later, _ = c.GetW(ctx, "/") // as another goroutine might
		}
	}}))
	removed := armed(c.GetW(ctx, "/"))(t)
	require.NoError(t, c.RemoveWatches(ctx, "/", WatcherData))
	_, isOpen := removed.Next(ctx)
	require.False(t, isOpen)
	require.Do(c.Set(ctx, "/", nil, AnyVersion))(t)
	require.Equal(t, NodeDataChanged, next(t, later).Type)

	removed = armed(c.GetW(ctx, "/"))(t)
	hasty, giveUp := context.WithCancel(ctx)
	hasLeft := make(chan struct{})
	f.with(func() {
		f.onRequest = func(op proto.OpCode, _ int) bool {
			if op == proto.OpRemoveWatches {
				giveUp()
				<-hasLeft
			}
			return true
		}
	})
	require.ErrorIs(t, c.RemoveWatches(hasty, "/", WatcherData), context.Canceled)
	close(hasLeft)
	require.NoError(t, c.Sync(ctx, "/"))
	select {
	case _, isOpen = <-removed.C():
		require.False(t, isOpen)
	default:
		t.Fatal("the watch waits for an event that the server will never send")
	}
}
