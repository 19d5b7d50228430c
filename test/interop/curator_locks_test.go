//go:build interop

package interop

import (
	"context"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// lock is one of the ways to take a lock.
type lock func(ctx context.Context) (*recipes.Hold, error)

// exclude checks that a lock of Go's and one of Java's exclude each other, hand over, and lose no increment of a
// znode.
func (m *meeting) exclude(kind, path string, lock, try lock) {
	m.Helper()
	h := must.Do(lock(m.ctx()))(m)
	m.java.do("false", "trylock %s %s", kind, path)
	m.java.start("lock %s %s", kind, path)
	m.awaitChildren(path, 2)
	require.NoError(m, h.Context().Err())
	require.NoError(m, h.Release(m.ctx()))
	m.java.await("true")

	_, err := try(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy)
	granted := m.waits(lock)
	m.awaitChildren(path, 2)
	require.Empty(m, granted)
	m.java.do("", "unlock %s %s", kind, path)
	next := <-granted
	require.Greater(m, next.Token(), h.Token())
	require.NoError(m, next.Release(m.ctx()))

	const rounds = 40
	counter := path + "-counter"
	must.Do(m.c.Create(m.ctx(), counter, []byte("0"), client.Persistent))(m)
	m.java.start("increment %s %s %s %d", kind, path, counter, rounds)
	for range rounds {
		h := must.Do(lock(m.ctx()))(m)
		data, _ := must.Do2(m.c.Get(m.ctx(), counter))(m)
		n := must.Atoi(m, string(data))
		must.Do(m.c.Set(m.ctx(), counter, []byte(strconv.Itoa(n+1)), client.AnyVersion))(m)
		require.NoError(m, h.Release(m.ctx()))
	}
	m.java.await("")
	data, _ := must.Do2(m.c.Get(m.ctx(), counter))(m)
	require.Equal(m, strconv.Itoa(2*rounds), string(data))
}

func curatorMutex(m *meeting) {
	l := recipes.NewMutex(m.c, m.root)
	m.exclude("mutex", m.root, l.Lock, l.TryLock)
}

func curatorReadWriteLock(m *meeting) {
	l := recipes.NewRWMutex(m.c, m.root)
	m.exclude("write", m.root, l.Lock, l.TryLock)

	r := must.Do(l.RLock(m.ctx()))(m)
	m.java.do("true", "trylock read %s", m.root)
	_, err := l.TryLock(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy)
	require.NoError(m, r.Release(m.ctx()))
	_, err = l.TryLock(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy, "Java reads")
	r = must.Do(l.TryRLock(m.ctx()))(m)
	m.java.do("", "unlock read %s", m.root)
	m.java.do("false", "trylock write %s", m.root)
	m.java.start("lock write %s", m.root)
	m.awaitChildren(m.root, 2)
	_, err = l.TryRLock(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy, "a writer waits")
	require.NoError(m, r.Release(m.ctx()))
	m.java.await("true")
	_, err = l.TryRLock(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy)
	m.java.do("", "unlock write %s", m.root)
}

func curatorMultiLock(m *meeting) {
	l := recipes.NewMultiMutex(m.c, []string{m.root + "/a", m.root + "/b"})
	h := must.Do(l.Lock(m.ctx()))(m)
	m.java.do("false", "trylock multi %s", m.root)
	m.java.do("false", "trylock mutex %s/b", m.root)
	require.NoError(m, h.Release(m.ctx()))
	m.java.do("true", "trylock multi %s", m.root)
	_, err := l.TryLock(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy)
	m.java.do("", "unlock multi %s", m.root)
	h = must.Do(l.TryLock(m.ctx()))(m)
	require.NoError(m, h.Release(m.ctx()))
}

func curatorRevoker(m *meeting) {
	l := recipes.NewMutex(m.c, m.root)
	h := must.Do(l.Lock(m.ctx()))(m)
	m.java.do("", "revoke %s", m.root)
	select {
	case <-h.Revoked():
	case <-m.ctx().Done():
		require.Fail(m, "never asked")
	}
	require.NoError(m, h.Context().Err(), "a request, no more")
	require.NoError(m, h.Release(m.ctx()))

	m.java.do("", "revocable %s", m.root)
	m.java.do("true", "lock mutex %s", m.root)
	contenders := must.Do(l.Contenders(m.ctx()))(m)
	require.Len(m, contenders, 1)
	require.NoError(m, recipes.Revoke(m.ctx(), m.c, contenders[0].Path))
	m.java.do("revoked", "revoked %s", m.root)
	m.java.do("", "unlock mutex %s", m.root)
}

func curatorSemaphore(m *meeting) {
	s := recipes.NewSemaphore(m.c, m.root, 2)
	first := must.Do(s.Acquire(m.ctx()))(m)
	m.java.do("true", "permit %s 2 try", m.root)
	_, err := s.TryAcquire(m.ctx())
	require.ErrorIs(m, err, recipes.ErrBusy)
	granted := m.waits(s.Acquire)
	m.awaitChildren(m.root+"/leases", 3)
	require.Empty(m, granted)
	m.java.do("", "return %s", m.root)
	second := <-granted
	m.java.do("false", "permit %s 2 try", m.root)
	m.java.start("permit %s 2 wait", m.root)
	m.awaitChildren(m.root+"/leases", 3)
	require.NoError(m, first.Release(m.ctx()))
	m.java.await("true")
	m.java.do("", "return %s", m.root)
	require.NoError(m, second.Release(m.ctx()))
	m.awaitChildren(m.root+"/leases", 0)
}

func curatorLeaderLatch(m *meeting) {
	e := recipes.NewLatch(m.c, m.root, "go")
	h := must.Do(e.Campaign(m.ctx()))(m)
	m.java.do("", "latch %s java", m.root)
	m.java.do("false", "leads %s 300", m.root)
	m.java.do("go", "leader %s", m.root)
	participants := must.Do(e.Participants(m.ctx()))(m)
	require.Len(m, participants, 2)
	require.Equal(m, "java", string(participants[1].Data))
	require.NoError(m, h.Release(m.ctx()))
	m.java.do("true", "leads %s 60000", m.root)
	leader := must.Do(e.Leader(m.ctx()))(m)
	require.Equal(m, "java", leader.ID)
	require.Greater(m, leader.Token, h.Token())
	ended := make(chan error, 1)
	go func() {
		ended <- e.Run(m.ctx(), func(context.Context, client.Zxid) error { return nil })
	}()
	m.awaitChildren(m.root, 2)
	require.Empty(m, ended)
	m.java.do("", "resign %s", m.root)
	require.NoError(m, <-ended)
}

func curatorLeaderSelector(m *meeting) {
	e := recipes.NewSelector(m.c, m.root, "go")
	h := must.Do(e.Campaign(m.ctx()))(m)
	m.java.do("", "select %s java", m.root)
	m.awaitChildren(m.root, 2)
	m.java.do("null", "selected %s 300", m.root)
	require.NoError(m, h.Release(m.ctx()))
	m.java.do("leads", "selected %s 60000", m.root)
	require.Equal(m, "java", must.Do(e.Leader(m.ctx()))(m).ID)
	granted := m.waits(e.Campaign)
	m.awaitChildren(m.root, 2)
	require.Empty(m, granted)
	m.java.do("", "deselect %s", m.root)
	require.NoError(m, (<-granted).Release(m.ctx()))
}

func curatorBarrier(m *meeting) {
	b := recipes.NewBarrier(m.c, m.root)
	require.NoError(m, b.Set(m.ctx()))
	m.java.do("false", "barrier %s 300", m.root)
	m.java.start("barrier %s 60000", m.root)
	require.NoError(m, b.Remove(m.ctx()))
	m.java.await("true")
	m.java.do("", "barrier %s set", m.root)
	ctx, cancel := context.WithTimeout(m.ctx(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(m, b.Wait(ctx), context.DeadlineExceeded)
	waited := make(chan error, 1)
	go func() { waited <- b.Wait(m.ctx()) }()
	m.java.do("", "barrier %s remove", m.root)
	require.NoError(m, <-waited)
}

func curatorDoubleBarrier(m *meeting) {
	b := recipes.NewDoubleBarrier(m.c, m.root, 2)
	for range 2 { // in each order
		m.java.start("enter %s 2", m.root)
		require.NoError(m, b.Enter(m.ctx()))
		m.java.await("true")
		left := make(chan error, 1)
		go func() { left <- b.Leave(m.ctx()) }()
		m.java.do("true", "leave %s", m.root)
		require.NoError(m, <-left)
	}
}
