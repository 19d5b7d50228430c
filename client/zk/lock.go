package zk

import (
	"errors"
	"strconv"
	"strings"
)

const (
	lockPrefix = "lock-"
	lockTries  = 3 // creates of the lock's znode, between which its parents are made
)

// Lock is a mutual exclusion lock: the holder has the ephemeral sequential znode with the lowest number. It works
// together with Locks of go-zookeeper and of kazoo at the same path. A Lock is not for concurrent use; every
// contender has its own.
//
// The holder must stop when its Conn reports StateExpired, and should stop at StateDisconnected.
type Lock struct {
	c    *Conn
	path string
	acl  []ACL
	node string // path of the znode while the lock is held
}

// NewLock returns a Lock that is not held. The path is for this lock alone; it is made, with the ACL, if it does
// not exist.
func NewLock(c *Conn, path string, acl []ACL) *Lock { return &Lock{c: c, path: path, acl: acl} }

// Lock is LockWithData without data.
func (l *Lock) Lock() error { return l.LockWithData([]byte{}) }

// LockWithData waits until the lock is held, in a znode with the data. After an error no znode of the attempt is
// left, even if the connection is lost meanwhile. Errors: ErrDeadlock if this Lock is held already.
func (l *Lock) LockWithData(data []byte) error {
	if l.node != "" {
		return ErrDeadlock
	}
	node, err := l.enter(data)
	if err != nil {
		return err
	}
	if err := l.await(node); err != nil {
		// If it cannot be deleted now, it is deleted in the background.
		if err := l.c.client.DeleteSurely(l.c.wait(), node); err != nil {
			l.c.logf("zk: lock %s: delete %s: %v", l.path, node, err)
		}
		return err
	}
	l.node = node
	return nil
}

// enter makes the znode that waits for the lock.
func (l *Lock) enter(data []byte) (node string, err error) {
	for range lockTries {
		node, err = l.c.CreateProtectedEphemeralSequential(l.path+"/"+lockPrefix, data, l.acl)
		if err != ErrNoNode {
			return node, err
		}
		if err := l.makePath(); err != nil {
			return "", err
		}
	}
	return "", err
}

// makePath makes the znode at path and its ancestors.
func (l *Lock) makePath() error {
	for i := 1; i <= len(l.path); i++ {
		if i < len(l.path) && l.path[i] != '/' {
			continue
		}
		if _, err := l.c.Create(l.path[:i], []byte{}, FlagPersistent, l.acl); err != nil && err != ErrNodeExists {
			exists, _, lookErr := l.c.Exists(l.path[:i]) // a znode may exist although this client may not write it
			if lookErr != nil || !exists {
				return err
			}
		}
	}
	return nil
}

// await waits until no znode is before the given one.
func (l *Lock) await(node string) error {
	own := node[len(l.path)+1:]
	number, err := lockNumber(own)
	if err != nil {
		return err
	}
	for {
		names, _, err := l.c.Children(l.path)
		if err != nil {
			return err
		}
		before, isThere := "", false
		nearest := -1
		for _, name := range names {
			isThere = isThere || name == own
			if n, err := lockNumber(name); err == nil && n < number && n > nearest {
				before, nearest = name, n
			}
		}
		switch {
		case !isThere: // it ended with its session
			return ErrSessionExpired
		case before == "":
			return nil
		}
		_, _, gone, err := l.c.GetW(l.path + "/" + before)
		if err == ErrNoNode {
			continue
		} else if err != nil {
			return err
		}
		if e := <-gone; e.Err != nil {
			return e.Err
		}
	}
}

// lockNumber returns the number of a contender: of go-zookeeper, lock-0000000001 after any prefix, or of kazoo,
// __lock__0000000001.
func lockNumber(name string) (int, error) {
	i := strings.LastIndex(name, lockPrefix)
	if i += len(lockPrefix); i < len(lockPrefix) {
		if i = strings.LastIndex(name, "__"); i < 0 {
			return 0, errors.New("zk: " + name + " is no contender of a lock")
		}
		i += len("__")
	}
	n, err := strconv.Atoi(name[i:])
	if err != nil {
		return 0, errors.New("zk: " + name + " is no contender of a lock")
	}
	return n, nil
}

// Unlock releases the lock. Errors: ErrNotLocked if it is not held, ErrNoNode if it was lost meanwhile; after
// ErrConnectionClosed it may be called again.
func (l *Lock) Unlock() error {
	if l.node == "" {
		return ErrNotLocked
	}
	err := l.c.Delete(l.node, -1)
	if err == nil || err == ErrNoNode {
		l.node = ""
	}
	return err
}
