package recipes

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// claim creates an ephemeral znode at a path for which other participants compete. It returns the czxid, or 0 if
// another participant has the znode. The data should differ from that of other claims of this session: after a
// connection was lost before the answer to a create, in this call or an earlier one, the znode is recognised by
// data and owner. If ctx ends before the outcome is known, the claim is undone, in the background if that takes
// longer than a second. Errors: ErrNoNode if there is no parent.
func (l *line) claim(ctx context.Context, path string, data []byte) (token client.Zxid, err error) {
	isOpen := false // an earlier create may have been applied
	err = again(ctx, func(ctx context.Context) error {
		_, stat, err := l.c.CreateStat(ctx, path, data, client.Ephemeral, client.WithACL(l.acl...))
		token = stat.Czxid
		isOpen = isOpen || client.MayHaveApplied(err)
		return err
	})
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, client.ErrNodeExists):
		token, err = l.findClaim(ctx, path, data) // the refusal came after the create, so the read sees it
	}
	if err != nil && isOpen && !isGone(err) {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if l.undoClaim(undo, path, data) != nil {
			// Ends with the client at the latest.
			go func() { _ = l.undoClaim(context.WithoutCancel(ctx), path, data) }()
		}
	}
	return token, err
}

// undoClaim deletes the znode that a create with an unknown outcome may have made. After the sync that create can
// no longer be applied.
func (l *line) undoClaim(ctx context.Context, path string, data []byte) error {
	err := client.Retry(ctx, func(ctx context.Context) error { return l.c.Sync(ctx, path) })
	if err != nil {
		return err
	}
	token, err := l.findClaim(ctx, path, data)
	if err != nil || token == 0 {
		return err
	}
	return l.dropClaim(ctx, path, token)
}

// claimBelow is claim that creates missing parents.
func (l *line) claimBelow(ctx context.Context, path string, data []byte) (token client.Zxid, err error) {
	err = l.below(ctx, l.c, paths.ParentOf(path), func() (err error) {
		token, err = l.claim(ctx, path, data)
		return err
	})
	return token, err
}

// possessClaim makes a Hold of a claimed znode. If it fails the znode is deleted.
func (l *line) possessClaim(ctx context.Context, path string, token client.Zxid) (*Hold, error) {
	h, err := l.possess(ctx, path, token)
	if err != nil {
		// Goes on in the background if ctx has ended; after a final error the znode ends with the session.
		_ = l.leaveClaim(ctx, path, token)
	}
	return h, err
}

// findClaim returns the czxid of a znode of this session with the data, 0 if there is none.
func (l *line) findClaim(ctx context.Context, path string, data []byte) (token client.Zxid, err error) {
	n, err := read(ctx, l.c, path)
	session, _ := l.c.Session()
	if n.Exists && bytes.Equal(n.Data, data) && client.SessionID(n.Stat.EphemeralOwner) == session {
		token = n.Stat.Czxid
	}
	return token, err
}

// leaveClaim deletes a claimed znode, in the background if ctx ends first. It succeeds if the session has ended.
func (l *line) leaveClaim(ctx context.Context, path string, token client.Zxid) error {
	err := l.dropClaim(ctx, path, token)
	switch {
	case isGone(err):
		return nil
	case err != nil && ctx.Err() != nil:
		go func() { _ = l.dropClaim(context.WithoutCancel(ctx), path, token) }() // ends with the client at the latest
	}
	return err
}

// dropClaim deletes a claimed znode, or a batch of a queue. Another one may be at the path by now, after a deletion
// whose answer was lost or under a new session, so each attempt reads the znode first. Between the read and the
// deletion of a claim only a deletion by force can come. While writes are refused it waits.
func (l *line) dropClaim(ctx context.Context, path string, token client.Zxid) error {
	isOpen := false // an earlier deletion may still be in progress
	return persist(ctx, func(ctx context.Context) error {
		if isOpen {
			if err := l.c.Sync(ctx, path); err != nil {
				return err
			}
			isOpen = false
		}
		stat, exists, err := l.c.Exists(ctx, path)
		if err != nil || !exists || stat.Czxid != token {
			return err
		}
		err = l.c.Delete(ctx, path, client.AnyVersion)
		if errors.Is(err, client.ErrNoNode) {
			return nil
		}
		isOpen = isUnknown(err)
		return err
	})
}
