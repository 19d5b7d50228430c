package recipes

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/seed94657493/warren/client"
)

// claim creates an ephemeral znode whose path others want too, unless there is one, and returns its czxid, 0 if another has it. The data
// should be unlike that of other claims of this session: by data and owner the znode is recognised if the connection was lost before the
// answer to one of the creates, in this call or in an earlier one. If ctx ends before that is settled, what there is of it is undone, in
// the background if it takes longer than a second. Errors: ErrNoNode if there is no parent.
func (l *line) claim(ctx context.Context, path string, data []byte) (token client.Zxid, err error) {
	isOpen := false // an earlier create may have happened
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
		token, err = l.findClaim(ctx, path, data) // the refusal came after the create, so it shows
	}
	if err != nil && isOpen && !isGone(err) {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if l.undoClaim(undo, path, data) != nil {
			go func() { _ = l.undoClaim(context.WithoutCancel(ctx), path, data) }() // ends with the client at the latest
		}
	}
	return token, err
}

// undoClaim deletes what a create with an unknown outcome may have made. After the sync it will make nothing any more.
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
func (l *line) claimBelow(ctx context.Context, path string, data []byte) (client.Zxid, error) {
	for {
		token, err := l.claim(ctx, path, data)
		if !errors.Is(err, client.ErrNoNode) {
			return token, err
		}
		if err := l.ensure(ctx, l.c, parentOf(path)); err != nil {
			return 0, err
		}
	}
}

// possessClaim makes a Hold of a znode that was claimed. If it fails the znode is deleted.
func (l *line) possessClaim(ctx context.Context, path string, token client.Zxid) (*Hold, error) {
	h, err := l.possess(ctx, path, token)
	if err != nil {
		_ = l.leaveClaim(ctx, path, token) // goes on in the background if ctx has ended; what fails for good ends with the session
	}
	return h, err
}

// findClaim returns the czxid of a znode of this session with the data, 0 if there is none.
func (l *line) findClaim(ctx context.Context, path string, data []byte) (token client.Zxid, err error) {
	err = client.Retry(ctx, func(ctx context.Context) error {
		found, stat, err := l.c.Get(ctx, path)
		session, _ := l.c.Session()
		if token = 0; err == nil && bytes.Equal(found, data) && client.SessionID(stat.EphemeralOwner) == session {
			token = stat.Czxid
		}
		return err
	})
	if errors.Is(err, client.ErrNoNode) {
		err = nil
	}
	return token, err
}

// leaveClaim deletes a claimed znode, in the background if ctx ends first. It is content if the session is over.
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

// dropClaim deletes a claimed znode. The path may be another's by now, after a deletion whose answer was lost or under a new session, so
// each attempt looks first. Nothing can come between the look and the deletion but a deletion by force.
func (l *line) dropClaim(ctx context.Context, path string, token client.Zxid) error {
	isOpen := false // an earlier deletion may still be under way
	return again(ctx, func(ctx context.Context) error {
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
