package zk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// waitFor waits until a znode has n children and returns them.
func waitFor(t *testing.T, c *Conn, path string, n int) []string {
	t.Helper()
	for {
		names, _, changed, err := c.ChildrenW(path)
		if err == ErrNoNode {
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
	l := NewLock(c, path, WorldACL(PermAll))
	require.NoError(t, l.Lock())
	names := waitFor(t, c, path, 1)
	require.NoError(t, c.Delete(path+"/"+names[0], -1))
	require.True(t, l.Unlock() == ErrNoNode)
	require.NoError(t, l.Lock())
	require.NoError(t, l.Unlock())
}

// A contender whose own znode is gone does not hold the lock when its turn comes.
func TestContenderWithoutZnodeDoesNotHoldTheLock(t *testing.T) {
	c, _ := connect(t, address)
	path := newRoot(t, c)
	first := NewLock(c, path, WorldACL(PermAll))
	require.NoError(t, first.Lock())
	before := waitFor(t, c, path, 1)[0]
	failed := make(chan error, 1)
	go func() { failed <- NewLock(c, path, WorldACL(PermAll)).Lock() }()
	for _, name := range waitFor(t, c, path, 2) {
		if name != before {
			require.NoError(t, c.Delete(path+"/"+name, -1))
		}
	}
	require.NoError(t, first.Unlock())
	require.True(t, receive(t, failed) == ErrSessionExpired)
}

// A contender that fails leaves nothing behind, though its session lives.
func TestFailedLockLeavesNothing(t *testing.T) {
	c, _ := connect(t, address)
	path := newRoot(t, c)
	secret, err := c.Create(path+"/lock-0000000000", nil, 0, DigestACL(PermAll, "somebody", "else"))
	require.NoError(t, err)
	for range 3 { // so that the contender's number is higher
		_, err := c.Create(path+"/n-", nil, FlagEphemeralSequential, WorldACL(PermAll))
		require.NoError(t, err)
	}
	require.True(t, NewLock(c, path, WorldACL(PermAll)).Lock() == ErrNoAuth, "%s cannot be watched", secret)
	waitFor(t, c, path, 4)
}

func TestLockNumber(t *testing.T) {
	for name, want := range map[string]int{"lock-0000000007": 7, "_c_00112233445566778899aabbccddeeff-lock-0000000012": 12,
		"_c_lock-0000000001-lock-0000000012": 12, "0123456789abcdef__lock__0000000003": 3, "lock--2147483648": -2147483648} {
		n, err := lockNumber(name)
		require.NoError(t, err, name)
		require.Equal(t, want, n, name)
	}
	for _, name := range []string{"", "n-0000000001", "lock-", "lock-x", "__"} {
		_, err := lockNumber(name)
		require.Error(t, err, name)
	}
}
