package recipes

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// PersistentNode keeps an ephemeral znode in existence. It creates the znode again when another client deletes it
// and, if the client opens new sessions (client.WithRenewal), after its session has expired.
//
//	/path    ephemeral, with the data of the last Set
//
// Guarantee: while the session lives and servers answer, the znode exists with the wanted data, except for the
// moments after a deletion. If servers refuse the write because their disks are full or a quota is used up, it is
// repeated until there is room. It is not exclusive: a znode of another session at the path stays, and is replaced
// when it ends. A process that was restarted within its session timeout meets such a znode. Without renewal the
// expiry of the session ends the PersistentNode; Err says so. Curator's PersistentNode has the same layout. All
// methods may be called concurrently. Source: operations 9.2.
type PersistentNode struct {
	c    *client.Client
	path string
	options
	stop    context.CancelFunc
	changed chan struct{} // holds a token when data may have changed
	created chan struct{} // closed after the first creation
	done    chan struct{} // closed when the goroutine has ended
	err     error         // why the goroutine ended; set before done is closed
	isGone  atomic.Bool   // Close has succeeded

	mu    sync.Mutex
	want  []byte
	fault error // of the last attempt to keep the znode; nil if it succeeded
}

// NewPersistentNode begins to keep a znode. Its missing parents are created. It must be closed.
func NewPersistentNode(c *client.Client, path string, data []byte, options ...Option) *PersistentNode {
	ctx, stop := context.WithCancel(context.Background())
	n := &PersistentNode{
		c: c, path: path, options: newOptions(options), stop: stop, want: bytes.Clone(data),
		changed: make(chan struct{}, 1), created: make(chan struct{}), done: make(chan struct{}),
	}
	go n.run(ctx)
	return n
}

// openNode is NewPersistentNode that waits until the znode is created. If it fails there is no PersistentNode.
func openNode(
	ctx context.Context, c *client.Client, path string, data []byte, options ...Option,
) (*PersistentNode, error) {
	n := NewPersistentNode(c, path, data, options...)
	if err := n.AwaitCreated(ctx); err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = n.Close(leaving) // the znode ends with the session at the latest
		return nil, err
	}
	return n, nil
}

// Path returns the path of the znode.
func (n *PersistentNode) Path() string { return n.path }

// AwaitCreated waits until this session has created the znode for the first time, until ctx ends, or until it is
// certain that it never will. If servers have refused to create it when ctx ends, the error says why, too.
func (n *PersistentNode) AwaitCreated(ctx context.Context) error {
	select {
	case <-n.created:
		return nil
	case <-n.done:
		return n.err
	case <-ctx.Done():
		n.mu.Lock()
		defer n.mu.Unlock()
		return errors.Join(ctx.Err(), n.fault)
	}
}

// Set changes the data that the znode should have. It does not wait.
func (n *PersistentNode) Set(data []byte) {
	n.mu.Lock()
	n.want = bytes.Clone(data)
	n.mu.Unlock()
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// Done returns a channel that is closed when the znode is no longer kept; Err says why.
func (n *PersistentNode) Done() <-chan struct{} { return n.done }

// Err returns why the znode is no longer kept; nil while it is, and after Close.
func (n *PersistentNode) Err() error {
	select {
	case <-n.done:
		if errors.Is(n.err, context.Canceled) {
			return nil
		}
		return n.err
	default:
		return nil
	}
}

// Close stops keeping the znode and deletes it if it belongs to this session. If ctx ends first the znode may
// stay until the session ends, and the error says so. After it has succeeded a further Close does nothing.
func (n *PersistentNode) Close(ctx context.Context) (err error) {
	if n.isGone.Load() {
		return nil
	}
	defer func() { n.isGone.Store(err == nil) }()
	n.stop()
	<-n.done
	session, _ := n.c.Session()
	var stat client.Stat
	var exists bool
	err = client.Retry(ctx, func(ctx context.Context) error { // the sync settles a create whose answer was lost
		err := n.c.Sync(ctx, n.path)
		if err == nil {
			stat, exists, err = n.c.Exists(ctx, n.path)
		}
		return err
	})
	switch {
	case isGone(err) || err == nil && (!exists || client.SessionID(stat.EphemeralOwner) != session):
		return nil
	case err != nil:
		return err
	}
	own := line{c: n.c} // others may be waiting for the path
	return own.leaveClaim(ctx, n.path, stat.Czxid)
}

func (n *PersistentNode) run(ctx context.Context) {
	defer close(n.done)
	for {
		err := persist(ctx, func(ctx context.Context) error {
			err := n.keep(ctx)
			n.mu.Lock()
			n.fault = err
			n.mu.Unlock()
			return err
		})
		if ctx.Err() != nil {
			n.err = ctx.Err()
			return
		}
		if err = renewed(ctx, n.c, err); err != nil {
			n.err = err
			return
		}
	}
}

// keep creates, replaces or updates the znode if needed. Otherwise it waits for the next change of the znode or
// of the wanted data.
func (n *PersistentNode) keep(ctx context.Context) error {
	n.mu.Lock()
	want := n.want
	n.mu.Unlock()
	data, stat, w, err := n.c.GetW(ctx, n.path)
	if errors.Is(err, client.ErrNoNode) {
		_, err = n.c.Create(ctx, n.path, want, client.Ephemeral, client.WithACL(n.acl...))
		switch {
		case errors.Is(err, client.ErrNoNode):
			return n.ensure(ctx, n.c, paths.ParentOf(n.path))
		case errors.Is(err, client.ErrNodeExists):
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer w.Close()
	if session, _ := n.c.Session(); client.SessionID(stat.EphemeralOwner) == session {
		if !bytes.Equal(data, want) {
			_, err := n.c.Set(ctx, n.path, want, stat.Version)
			if err != nil && !errors.Is(err, client.ErrNoNode) && !errors.Is(err, client.ErrBadVersion) {
				return err
			}
			return nil
		}
		select {
		case <-n.created:
		default:
			close(n.created)
		}
	}
	select {
	case e := <-w.C():
		return e.Err
	case <-n.changed:
	case <-ctx.Done():
	}
	return nil
}
