package recipes

import (
	"context"
	"errors"
	"sync"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// Hold is possession: of a lock, of a permit of a semaphore, of leadership. It depends on an ephemeral znode.
//
// The possession is exclusive as long as its holder acts only while Context lives. That cannot be perfect: a
// process that is paused between the check and the act notices too late. A resource that must not be harmed
// therefore checks Token: it remembers the largest token that it has seen and refuses smaller ones. All methods
// may be called concurrently.
type Hold struct {
	line    *line
	path    string
	token   client.Zxid
	ctx     context.Context
	end     context.CancelCauseFunc
	revoked chan struct{}
	isClaim bool           // another participant may have the path after this one
	watched sync.WaitGroup // the goroutine that watches the hold's znode

	release sync.Once
	err     error // of the release
}

// Context ends when the possession is no longer certain: after Release, when the connection is lost (or, with
// UntilExpiry, when the session may have expired), and when another client deletes the znode. Its cause says
// which. It has the values of the context that the Hold was acquired with, but not its end. Its Err and Done look at
// the clock, so that a process that was stopped for too long is told by the first call afterwards; a context that is
// derived from it ends a moment later.
func (h *Hold) Context() context.Context { return h.ctx }

// Token is the fencing token: the zxid of the txn that created the znode. Among conflicting Holds of a recipe a
// later one has a larger token, whatever happens to servers and sessions.
func (h *Hold) Token() client.Zxid { return h.token }

// Path is the znode on which the possession depends.
func (h *Hold) Path() string { return h.path }

// Revoked is closed when another client asks the holder to release (see Revoke). Nothing else happens: the holder
// decides whether to release.
func (h *Hold) Revoked() <-chan struct{} { return h.revoked }

// Release gives up the possession. Context ends before the release begins. If ctx ends first, the deletion goes on in
// the background. If the possession was already lost, Release succeeds; a second call returns the result of the first.
func (h *Hold) Release(ctx context.Context) error {
	h.release.Do(func() {
		h.end(ErrReleased)
		h.watched.Wait() // the watch is closed, so that the deletion is no event for this hold
		if h.isClaim {
			h.err = h.line.leaveClaim(ctx, h.path, h.token)
		} else {
			h.err = h.line.leave(ctx, h.path)
		}
	})
	return h.err
}

// Revoke asks the holder whose znode is at path to release, as Curator does. It is only a request. Errors:
// ErrNoNode of package client if the holder is gone already.
func Revoke(ctx context.Context, c *client.Client, path string) error {
	return again(ctx, func(ctx context.Context) error {
		_, err := c.Set(ctx, path, []byte(layouts.Revoke), client.AnyVersion)
		return err
	})
}

// possess makes a Hold of a znode that nothing blocks. The order matters: first the context is tied to the
// session, then the znode is read, owned by that session; whatever happens to the session later ends the context.
// Claimed is the czxid of a claimed znode, and 0 for a znode of a line, whose name no other participant ever has.
func (l *line) possess(ctx context.Context, path string, claimed client.Zxid) (h *Hold, err error) {
	err = client.Retry(ctx, func(ctx context.Context) error {
		tie := l.c.WhileHeld
		if l.isStrict {
			tie = l.c.WhileConnected
		}
		held, stop := tie(context.WithoutCancel(ctx))
		session, _ := l.c.Session()
		data, stat, w, err := l.c.GetW(ctx, path)
		switch {
		case errors.Is(err, client.ErrNoNode):
			err = ErrLost
		case err != nil:
		case client.SessionID(stat.EphemeralOwner) != session || claimed != 0 && claimed != stat.Czxid:
			w.Close()
			err = ErrLost
		case held.Err() != nil:
			w.Close()
			err = client.ErrConnectionLoss // between the two
		}
		if err != nil {
			stop()
			return err
		}
		h = &Hold{line: l, path: path, token: stat.Czxid, isClaim: claimed != 0, revoked: make(chan struct{})}
		h.ctx, h.end = tieTo(held, held)
		h.watched.Go(func() {
			defer stop()
			h.attend(string(data) == layouts.Revoke, w)
		})
		return nil
	})
	return h, err
}

// attend ends the hold when its znode is deleted, and reports a request to release.
func (h *Hold) attend(isRevoked bool, w *client.Watch) {
	isSaid := false
	for {
		if isRevoked && !isSaid {
			isSaid = true
			close(h.revoked)
		}
		e, err := nextEvent(h.ctx, w)
		if err == nil && e.Type == client.NodeDeleted {
			err = ErrLost
		}
		if err != nil {
			h.end(err)
			return
		}
		var data []byte
		var stat client.Stat
		data, stat, w, err = readW(h.ctx, h.line.c, h.path)
		switch {
		case err != nil:
		case w == nil:
			err = ErrLost
		case stat.Czxid != h.token:
			w.Close() // the znode of another participant, after this hold's
			err = ErrLost
		}
		if err != nil {
			h.end(err)
			return
		}
		isRevoked = string(data) == layouts.Revoke
	}
}

// acquire joins the line, waits until nothing blocks and takes possession. After any error no znode is left in
// the line.
func (l *line) acquire(ctx context.Context, marker string, blocks blocker, isTry bool) (*Hold, error) {
	return l.acquireAfter(ctx, marker, func(path string) error { return l.await(ctx, path, blocks, isTry) })
}

// acquireAfter is acquire with another way to wait until nothing blocks the znode at path.
func (l *line) acquireAfter(ctx context.Context, marker string, await func(path string) error) (*Hold, error) {
	path, err := l.join(ctx, marker)
	if err != nil {
		return nil, err
	}
	var h *Hold
	if err = await(path); err == nil {
		h, err = l.possess(ctx, path, 0)
	}
	if err != nil {
		// Goes on in the background if ctx has ended; after a final error the znode ends with the session.
		_ = l.leave(ctx, path)
		return nil, err
	}
	return h, nil
}

// Contender is one participant in a line, in the order of the line.
type Contender struct {
	Path  string
	Data  []byte
	Token client.Zxid // fencing token of the participant, now or when its turn comes
}

// contenders reads the participants of the line. Those that leave during the read are left out.
func (l *line) contenders(ctx context.Context) ([]Contender, error) {
	line, err := l.places(ctx)
	if err != nil {
		return nil, err
	}
	var all []Contender
	for _, p := range line {
		n, err := read(ctx, l.c, paths.ChildOf(l.parent, p.Name))
		if err != nil {
			return nil, err
		}
		if n.Exists {
			all = append(all, Contender{n.Path, n.Data, n.Stat.Czxid})
		}
	}
	return all, nil
}
