package zk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client/zk"
	"github.com/seed94657493/warren/test/must"
)

// waitFor waits until a znode has n children and returns them.
func waitFor(t *testing.T, c *zk.Conn, path string, n int) []string {
	t.Helper()
	for {
		names, _, changed, err := c.ChildrenW(path)
		if err == zk.ErrNoNode {
			_, _, changed, err = c.ExistsW(path)
		}
		require.NoError(t, err)
		if len(names) == n {
			return names
		}
		receive(t, changed)
	}
}

// A holder whose znode was taken away is told by Unlock, and may lock again.
func TestLostLockCanBeLockedAgain(t *testing.T) {
	c, _ := connect(t, address)
	path := newRoot(t, c)
	l := zk.NewLock(c, path, zk.WorldACL(zk.PermAll))
	require.NoError(t, l.Lock())
	names := waitFor(t, c, path, 1)
	require.NoError(t, c.Delete(path+"/"+names[0], -1))
	require.True(t, l.Unlock() == zk.ErrNoNode)
	require.NoError(t, l.Lock())
	require.NoError(t, l.Unlock())
}

// A contender whose own znode is gone does not hold the lock when its turn comes.
func TestContenderWithoutZnodeDoesNotHoldTheLock(t *testing.T) {
	c, _ := connect(t, address)
	path := newRoot(t, c)
	first := zk.NewLock(c, path, zk.WorldACL(zk.PermAll))
	require.NoError(t, first.Lock())
	before := waitFor(t, c, path, 1)[0]
	failed := make(chan error, 1)
	go func() { failed <- zk.NewLock(c, path, zk.WorldACL(zk.PermAll)).Lock() }()
	for _, name := range waitFor(t, c, path, 2) {
		if name != before {
			require.NoError(t, c.Delete(path+"/"+name, -1))
		}
	}
	require.NoError(t, first.Unlock())
	require.True(t, receive(t, failed) == zk.ErrSessionExpired)
}

// A contender that fails leaves nothing behind, though its session lives.
func TestFailedLockLeavesNothing(t *testing.T) {
	c, _ := connect(t, address)
	path := newRoot(t, c)
	secret := must.Do(c.Create(path+"/lock-0000000000", nil, 0, zk.DigestACL(zk.PermAll, "somebody", "else")))(t)
	for range 3 { // so that the contender's number is higher
		must.Do(c.Create(path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)))(t)
	}
	err := zk.NewLock(c, path, zk.WorldACL(zk.PermAll)).Lock()
	require.True(t, err == zk.ErrNoAuth, "%s cannot be watched", secret)
	waitFor(t, c, path, 4)
}
