package zk

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/seed94657493/warren/client"
)

// The kinds of znodes.
const (
	FlagPersistent = iota
	FlagEphemeral
	FlagSequence
	FlagEphemeralSequential
	FlagContainer
	FlagTTL
	FlagPersistentSequentialWithTTL
)

// protectedTries is how many sessions CreateProtectedEphemeralSequential may lose.
const protectedTries = 3

// modeOf returns the kind of znode for flags, after a check of the path.
func modeOf(flags int32, path string) (client.Mode, error) {
	mode := client.Mode(flags)
	if !mode.Valid() {
		return 0, fmt.Errorf("zk: there is no kind of znode with flags %d: %w", flags, ErrInvalidFlags)
	}
	return mode, checkPath(path, mode.IsSequential())
}

func (c *Conn) create(path string, data []byte, mode client.Mode, options ...client.CreateOption) (string, error) {
	created, err := c.client.Create(c.wait(), path, data, mode, options...)
	return created, failure(err)
}

// Create makes a znode and returns its path, which has a suffix if it is sequential. For a TTL use CreateTTL.
// With FlagContainer the znode is a plain persistent one, as servers treat it; CreateContainer makes containers.
func (c *Conn) Create(path string, data []byte, flags int32, acl []ACL) (string, error) {
	mode, err := modeOf(flags, path)
	switch {
	case err != nil:
		return "", err
	case mode.IsTTL():
		return "", fmt.Errorf("zk: a znode with a TTL is made by CreateTTL: %w", ErrInvalidFlags)
	case mode == client.Container:
		mode = client.Persistent
	}
	return c.create(path, data, mode, client.WithACL(acl...))
}

// CreateContainer makes a container, which the server deletes some time after its last child; the flag must be
// FlagContainer.
func (c *Conn) CreateContainer(path string, data []byte, flag int32, acl []ACL) (string, error) {
	mode, err := modeOf(flag, path)
	switch {
	case err != nil:
		return "", err
	case mode != client.Container:
		return "", fmt.Errorf("zk: a container has FlagContainer: %w", ErrInvalidFlags)
	}
	return c.create(path, data, mode, client.WithACL(acl...))
}

// CreateTTL makes a znode that the server deletes when it has no children and was not written for the given time;
// the flag must be FlagTTL or FlagPersistentSequentialWithTTL.
func (c *Conn) CreateTTL(path string, data []byte, flag int32, acl []ACL, ttl time.Duration) (string, error) {
	mode, err := modeOf(flag, path)
	switch {
	case err != nil:
		return "", err
	case !mode.IsTTL():
		return "", fmt.Errorf("zk: a znode with a TTL has FlagTTL: %w", ErrInvalidFlags)
	}
	return c.create(path, data, mode, client.WithACL(acl...), client.WithTTL(ttl))
}

// CreateProtectedEphemeralSequential makes an ephemeral sequential znode and finds out what happened when the
// connection is lost before the answer: the znode's name begins with _c_, 32 hexadecimal digits and a dash, and
// is searched by that. If the result cannot be learned, the znode is deleted in the background.
func (c *Conn) CreateProtectedEphemeralSequential(path string, data []byte, acl []ACL) (string, error) {
	if err := checkPath(path, true); err != nil {
		return "", err
	}
	for try := 1; ; try++ {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		created, err := c.client.CreateProtected(c.wait(), path, data, client.EphemeralSequential,
			client.WithACL(acl...), client.WithProtectionID(hex.EncodeToString(id[:])))
		if err == nil {
			return created, nil
		}
		if err = failure(err); err != ErrSessionExpired || try == protectedTries {
			return "", err
		}
	}
}
