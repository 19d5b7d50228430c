package prepare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// closes sends closeSession and returns its list.
func (l *pipeline) closes() []string {
	l.t.Helper()
	l.close()
	var txn proto.CloseSessionTxn
	require.NoError(l.t, txn.ReadFrom(l.last()))
	paths := []string{}
	for _, p := range txn.Paths2Delete {
		paths = append(paths, string(p))
	}
	return paths
}

// The measured example of server-semantics 7.5, and 16.3 scenario 33.
func TestCloseSessionListsItsEphemerals(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		for i := range 3 {
			l.must(proto.OK, proto.OpCreate, create(fmt.Sprint("/e", i), proto.ModeEphemeral))
			step()
		}
		l.as(otherSession).must(proto.OK, proto.OpCreate, create("/other", proto.ModeEphemeral))
		step()
		l.as(testSession).must(proto.OK, proto.OpDelete, del("/e1", -1))
		step()
		require.Equal(t, []string{"/e0", "/e2"}, l.closes())
	})
}

// Applied ephemerals come first. An ephemeral that the same session deleted and made again is listed once; one
// that another session made again is not listed.
func TestCloseSessionMixesAppliedAndOutstanding(t *testing.T) {
	l := newPipeline(t, nil)
	for _, path := range []string{"/keep", "/again", "/stolen", "/plain", "/gone", "/twice"} {
		l.must(proto.OK, proto.OpCreate, create(path, proto.ModeEphemeral))
	}
	l.applyAll()
	for _, path := range []string{"/again", "/stolen", "/plain", "/gone", "/twice"} {
		l.must(proto.OK, proto.OpDelete, del(path, -1))
	}
	l.must(proto.OK, proto.OpCreate, create("/new", proto.ModeEphemeral))
	l.must(proto.OK, proto.OpCreate, create("/again", proto.ModeEphemeral))
	l.must(proto.OK, proto.OpCreate, create("/plain", proto.ModePersistent))
	l.as(otherSession).must(proto.OK, proto.OpCreate, create("/stolen", proto.ModeEphemeral))
	l.as(testSession)
	l.must(proto.OK, proto.OpMulti, new(multiOf).
		add(proto.OpCreate, create("/twice", proto.ModeEphemeral)).add(proto.OpDelete, del("/twice", -1)).
		add(proto.OpCreate, create("/twice", proto.ModeEphemeral)))
	l.must(proto.OK, proto.OpSetData, set("/new", "changed", 0))
	require.Equal(t, []string{"/keep", "/again", "/twice", "/new"}, l.closes())
	l.as(otherSession)
	require.Equal(t, []string{"/stolen"}, l.closes())
	l.applyAll()
	require.Zero(t, l.s.NumEphemerals())
	require.NotZero(t, l.s.Lookup([]byte("/plain")))
}

// The end of a session with very many ephemerals takes no memory for each of them, because all other writes wait
// meanwhile; and what is prepared behind it sees none of them.
func TestCloseSessionOfManyEphemerals(t *testing.T) {
	l := newPipeline(t, nil)
	const parents, each = 20, 2000
	path := func(i, k int) string { return fmt.Sprintf("/parent%d/a-name-that-is-longer-than-most-%06d", i, k) }
	for i := range parents {
		l.must(proto.OK, proto.OpCreate, create(fmt.Sprintf("/parent%d", i), 0))
		for k := range each {
			l.must(proto.OK, proto.OpCreate, create(path(i, k), proto.ModeEphemeral))
		}
		l.applyAll()
	}
	l.must(proto.OK, proto.OpSetData, set(path(0, 0), "changed", 0))
	l.must(proto.OK, proto.OpDelete, del(path(1, 0), -1))
	l.must(proto.OK, proto.OpCreate, create("/parent2/new", proto.ModeEphemeral))
	require.Less(t, len(l.closes()), parents*each, "the list is full")
	require.Less(t, l.p.overlay.used, 2*parents)
	l.as(otherSession)
	l.must(proto.ErrNoNode, proto.OpSetData, set(path(3, 7), "x", -1))
	l.must(proto.ErrNoNode, proto.OpDelete, del(path(0, 0), -1))
	l.must(proto.OK, proto.OpCreate, create(path(4, 7), proto.ModeEphemeral))
	l.must(proto.ErrNotEmpty, proto.OpDelete, del("/parent4", -1))
	l.must(proto.OK, proto.OpDelete, del("/parent5", -1))
	l.must(proto.OK, proto.OpCreate, create("/parent5", 0))
	l.as(testSession).closes() // again: there is nothing left to count
	l.applyAll()               // compares digests
	require.Equal(t, 1, l.s.NumEphemerals())
	require.EqualValues(t, 1, l.s.Stat(l.s.Lookup([]byte("/parent4"))).NumChildren)
}

// The quirk of server-semantics 2.2 is not copied: a znode that a queued closeSession will delete does not keep
// its parent.
func TestParentOfQueuedCloseSession(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/p", 0))
		step()
		l.must(proto.OK, proto.OpCreate, create("/p/e", proto.ModeEphemeral))
		step()
		l.as(otherSession).must(proto.ErrNotEmpty, proto.OpDelete, del("/p", -1))
		l.as(testSession).close()
		step()
		l.as(otherSession).must(proto.OK, proto.OpCreate, create("/p/e", 0))
		step()
		l.must(proto.OK, proto.OpDelete, del("/p/e", 0))
		step()
		l.must(proto.OK, proto.OpDelete, del("/p", -1))
	})
}

// server-semantics 16.3 scenario 32: nothing of a closing session passes.
func TestClosingSession(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/a", 0))
		step()
		l.close()
		step()
		for op, r := range map[proto.OpCode]encodable{
			proto.OpCreate:          create("/b", 0),
			proto.OpCreate2:         create("/b", proto.ModeEphemeral),
			proto.OpCreateContainer: create("/b", proto.ModeContainer),
			proto.OpDelete:          del("/a", -1),
			proto.OpSetData:         set("/a", "", -1),
			proto.OpSetACL:          setACL("/a", -1, openACL()...),
			proto.OpMulti:           new(multiOf),
		} {
			l.must(proto.ErrSessionExpired, op, r)
			step()
		}
		require.Empty(t, l.closes()) // the client closes and the server expires it
		step()
		l.open() // an id that is used again is a new session
		step()
		l.must(proto.OK, proto.OpCreate, create("/b", proto.ModeEphemeral))
		step()
		require.Equal(t, []string{"/b"}, l.closes())
	})
}

// server-semantics 16.3 scenario 43 and the local sessions of server-semantics 7.6.
func TestUnknownAndLocalSessions(t *testing.T) {
	l := newPipeline(t, nil)
	l.as(0x55).must(proto.ErrSessionExpired, proto.OpCreate, create("/e", proto.ModeEphemeral))
	l.must(proto.ErrSessionExpired, proto.OpCreate, create("/a", 0))
	l.local = true
	l.must(proto.ErrEphemeralOnLocalSession, proto.OpCreate, create("/e", proto.ModeEphemeral))
	l.must(proto.OK, proto.OpCreate, create("/a", 0))
	l.must(proto.OK, proto.OpSetData, set("/a", "", 0))
	l.must(proto.OK, proto.OpCreateContainer, create("/c", proto.ModeEphemeral)) // no ephemeral
	// The upgrade: a createSession for the same id, then the request.
	l.local = false
	l.open()
	l.must(proto.OK, proto.OpCreate, create("/e", proto.ModeEphemeral))
	l.applyAll()
	require.Equal(t, proto.SessionID(0x55), l.s.Node(l.s.Lookup([]byte("/e"))).Owner)
}

// server-semantics 16.3 scenario 48: the list fits a record that Java can read back; the rest is deleted without
// being listed, and the digest knows it.
func TestCloseSessionListIsCapped(t *testing.T) {
	for _, applied := range []bool{false, true} {
		l := newPipeline(t, nil)
		const count = 2000
		name := strings.Repeat("x", 900)
		for i := range count {
			l.must(proto.OK, proto.OpCreate, create(fmt.Sprintf("/%s%d", name, i), proto.ModeEphemeral))
		}
		if applied {
			l.applyAll()
		}
		listed := l.closes()
		require.Less(t, len(l.last()), 1<<20+1)
		require.Greater(t, len(l.last()), 1<<19-1000)
		require.Less(t, len(listed), count)
		l.as(otherSession).must(proto.OK, proto.OpCreate, create(fmt.Sprintf("/%s%d", name, count-1), 0))
		l.applyAll()
		require.Zero(t, l.s.NumEphemerals())
		require.Equal(t, 5, l.s.NumNodes())
	}
}

// A list without room for all has a child of every parent. Replay over a snapshot that was written while the session
// ended finds neither the others nor, if it was a parent that the walk had passed, its pzxid.
func TestCappedListHasAChildOfEveryParent(t *testing.T) {
	for _, outstanding := range []int{0, 1, 50, 2000} { // of the ephemerals
		l := newPipeline(t, nil)
		const parents, each = 50, 40
		name := strings.Repeat("x", 900)
		for i := range parents {
			l.must(proto.OK, proto.OpCreate, create(fmt.Sprintf("/p%d", i), 0))
		}
		for i := range parents * each {
			if i == parents*each-outstanding {
				l.applyAll()
			}
			l.must(proto.OK, proto.OpCreate, create(fmt.Sprintf("/p%d/%s%d", i/each, name, i), proto.ModeEphemeral))
		}
		if outstanding == 0 {
			l.applyAll()
		}
		has := map[string]bool{}
		for _, path := range l.closes() {
			parent, _, _ := strings.Cut(path[1:], "/")
			has[parent] = true
		}
		require.Len(t, has, parents, "%d outstanding", outstanding)
		require.Less(t, len(l.last()), 1<<20+1)
		l.applyAll()
		require.Zero(t, l.s.NumEphemerals())
	}
}

func TestCreateSessionKeepsItsTimeout(t *testing.T) {
	l := newPipeline(t, nil)
	l.as(0x42).must(proto.OK, proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: 4321})
	require.Equal(t, []byte{0, 0, 0x10, 0xe1}, l.last())
	l.applyAll()
	timeout, ok := l.s.Session(0x42)
	require.True(t, ok)
	require.EqualValues(t, 4321, timeout)
}

// Without the list every server deletes what it knows to be the session's, to the same end. No digest follows,
// which would be taken for the list.
func TestCloseSessionWithoutList(t *testing.T) {
	empty := func(cfg *Config) { cfg.EmptyClose = true }
	run := func(t *testing.T, l *pipeline, step func()) {
		for _, path := range []string{"/a", "/b"} {
			l.must(proto.OK, proto.OpCreate, create(path, proto.ModeEphemeral))
			step()
		}
		l.as(otherSession).must(proto.OK, proto.OpCreate, create("/other", proto.ModeEphemeral))
		step()
		l.as(testSession).must(proto.OK, proto.OpDelete, del("/a", -1))
		step()
		l.close()
		step()
		l.as(otherSession).must(proto.OK, proto.OpCreate, create("/b", proto.ModeEphemeral))
		step()
	}
	var whole int64
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		run(t, l, step)
		l.applyAll()
		whole = l.s.Digest()
	})
	bothWays(t, empty, func(t *testing.T, l *pipeline, step func()) {
		run(t, l, step)
		l.applyAll()
		require.Equal(t, whole, l.s.Digest())
		require.NotZero(t, l.s.Lookup([]byte("/b")))
	})
	l := newPipeline(t, empty)
	l.must(proto.OK, proto.OpCreate, create("/a", proto.ModeEphemeral))
	l.close()
	require.Len(t, l.queue[len(l.queue)-1].payload, proto.TxnHeaderSize)
}
