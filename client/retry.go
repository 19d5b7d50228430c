package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

const (
	retryMin = 5 * time.Millisecond
	retryMax = time.Second
)

// Retry calls f again while its error is SafeToRetry, with random pauses that grow to a second, until ctx ends.
// Operations wait for a connection by themselves, so f fails only when a connection is lost during an operation.
// Retry returns the last error of f; if ctx has ended, the error is ctx's as well (errors.Is).
func Retry(ctx context.Context, f func(ctx context.Context) error) error {
	for limit := retryMin; ; limit = min(2*limit, retryMax) {
		err := f(ctx)
		if !SafeToRetry(err) {
			return err
		}
		if pause(ctx, limit) != nil {
			return givenUp(ctx, err)
		}
	}
}

// outlives reports whether the client opens a new session after an error that says that its session has expired.
func (c *Client) outlives(err error) bool {
	return errors.Is(err, ErrSessionExpired) && c.s.rebuild != nil
}

// givenUp returns the error of a call that was repeated until ctx ended: the error of ctx and the last error.
func givenUp(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// CreateProtected is Create that finds out what happened when the connection is lost before the answer. As
// Curator does, it puts a fresh id into the name (_c_<uuid>-name), and looks for it. It returns the real path of
// the znode. If ctx ends while the result is unknown, the znode is searched for and deleted in the background.
func (c *Client) CreateProtected(
	ctx context.Context, path string, data []byte, mode Mode, options ...CreateOption,
) (string, error) {
	var asked request
	for _, o := range options {
		o(&asked)
	}
	if err := checkPath(path, mode.IsSequential()); err != nil || path == "/" && !mode.IsSequential() ||
		strings.Contains(asked.protection, "/") {
		return "", invalid(proto.OpCreate2, path, cmp.Or(err, error(ErrBadArguments)))
	}
	parent, name := paths.ParentOf(path), paths.NameOf(path)
	id := "_c_" + cmp.Or(asked.protection, newUUID()) + "-"
	marked := paths.ChildOf(parent, id+name)
	for limit := retryMin; ; limit = min(2*limit, retryMax) {
		created, err := c.Create(ctx, marked, data, mode, options...)
		isUnknown := MayHaveApplied(err)
		if err == nil || !isUnknown && !SafeToRetry(err) {
			return created, err
		}
		if isUnknown {
			found, lookErr := c.findMarked(ctx, parent, id, mode)
			switch {
			case lookErr == nil && found != "":
				return found, nil
			case lookErr != nil:
				c.start(func(ctx context.Context) { c.deleteMarked(ctx, parent, id) })
				return "", givenUp(ctx, err)
			}
		}
		if pause(ctx, limit) != nil {
			return "", givenUp(ctx, err)
		}
	}
}

// findMarked returns a child whose name begins with id, "" if there is none. It deletes a znode that an expired
// session has left. The sync makes the answer final: a request of an earlier connection that was not applied by
// then never will be, because the leader refuses it once the session has moved.
func (c *Client) findMarked(ctx context.Context, parent, id string, mode Mode) (found string, err error) {
	err = Retry(ctx, func(ctx context.Context) error {
		if err := c.Sync(ctx, parent); err != nil {
			return err
		}
		found = ""
		names, _, err := c.Children(ctx, parent)
		if errors.Is(err, ErrNoNode) {
			return nil // there is no parent
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, id) {
				continue
			}
			path := paths.ChildOf(parent, name)
			stat, exists, err := c.Exists(ctx, path)
			if err != nil {
				return err
			}
			session, _ := c.Session()
			if exists && (!mode.IsEphemeral() || SessionID(stat.EphemeralOwner) == session) {
				found = path
				return nil
			}
			if exists {
				if err := c.Delete(ctx, path, AnyVersion); err != nil && !errors.Is(err, ErrNoNode) {
					return err
				}
			}
		}
		return nil
	})
	return found, err
}

// deleteMarked deletes the znode that a create with an unknown result may have left. Like deleteSurely it goes on in
// the next session.
func (c *Client) deleteMarked(ctx context.Context, parent, id string) {
	for limit := retryMin; ; limit = min(2*limit, retryMax) {
		found, err := c.findMarked(ctx, parent, id, Persistent)
		if err == nil && found != "" {
			err = c.deleteSurely(ctx, found)
		}
		if err == nil {
			return
		}
		if !c.outlives(err) || pause(ctx, limit) != nil {
			c.cfg.log.Warn("znode of an abandoned create may be left", "path", parent, "id", id, "error", err)
			return
		}
	}
}

// DeleteSurely deletes a znode of any version and does not give up: it waits while there is no connection or the
// servers refuse writes because their disks are full, and goes on in the background when ctx ends, as long as the
// client lives. It succeeds if the znode does not exist.
func (c *Client) DeleteSurely(ctx context.Context, path string) error {
	err := c.deleteSurely(ctx, path)
	if err != nil && ctx.Err() != nil {
		c.start(func(ctx context.Context) {
			if err := c.deleteSurely(ctx, path); err != nil {
				c.cfg.log.Warn("znode could not be deleted", "path", path, "error", err)
			}
		})
	}
	return err
}

func (c *Client) deleteSurely(ctx context.Context, path string) error {
	for limit := retryMin; ; limit = min(2*limit, retryMax) {
		err := c.Delete(ctx, path, AnyVersion)
		switch {
		case err == nil || errors.Is(err, ErrNoNode):
			return nil
		case !SafeToRetry(err) && !errors.Is(err, ErrNotReadOnly) && !c.outlives(err) &&
			!(MayHaveApplied(err) && errors.Is(err, ErrConnectionLoss)):
			return err
		}
		if pause(ctx, limit) != nil {
			return givenUp(ctx, err)
		}
	}
}

// newUUID returns a random UUID in its canonical form.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
