package recipes

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// lastMoment is how long processes that find enough processes inside of a double barrier wait for the last one to
// create ready.
const lastMoment = 250 * time.Millisecond

// DoubleBarrier lets processes begin and end a computation together: the double barrier of the paper.
//
//	/path/<uuid>    ephemeral, one for each process inside
//	/path/ready     exists once there were enough of them; the last to leave deletes it
//
// Guarantee: Enter returns when at least size processes have entered, Leave when every process that had entered
// has left or died. Size is a threshold, not a limit. The barrier may be used again after Leave if exactly size
// processes take part: one more process could enter while the others leave and would find it open. The guarantee
// fails for a process whose session expires inside: the others treat it as gone. Inside reports that. The layout
// is that of Curator's DistributedDoubleBarrier. A DoubleBarrier is the view of one process; one goroutine enters
// and leaves it in turns. Source: the paper's section 2.4; operations 9.2.
type DoubleBarrier struct {
	c    *client.Client
	path string
	own  string
	size int
	options
	hasPath bool // the path has existed
}

// NewDoubleBarrier returns the double barrier at a path for size processes. It panics if size is below one.
func NewDoubleBarrier(c *client.Client, path string, size int, options ...Option) *DoubleBarrier {
	if size < 1 {
		panic(fmt.Sprintf("recipes: double barrier of %d at %s", size, path))
	}
	return &DoubleBarrier{c: c, path: path, own: paths.ChildOf(path, newID()), size: size,
		options: newOptions(options)}
}

// newID returns a random UUID in its canonical form.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Enter waits until size processes have entered, or ctx ends. If it fails, the process has not entered.
func (b *DoubleBarrier) Enter(ctx context.Context) error {
	s, err := b.arrive(ctx)
	if err != nil {
		if err = b.join(ctx); err == nil {
			s, err = b.look(ctx)
		}
	}
	if err == nil {
		err = b.awaitReady(ctx, s)
	}
	if err != nil {
		_ = b.c.DeleteSurely(ctx, b.own) // goes on in the background if ctx has ended
	}
	return err
}

// sight is what a process has seen of a barrier after it created its own znode.
type sight struct {
	watch  *client.Watch // of ready; nil if no wait is needed
	inside int           // number of processes, including this one; includes ready if it was created in between
	isLast bool          // this process's znode is the last that was created or deleted
}

// arrive creates this process's znode and counts the others, with all requests sent at once: a server answers a
// session in the order of its requests. join handles errors. The first process also creates the path; it mostly
// exists already when others are faster.
func (b *DoubleBarrier) arrive(ctx context.Context) (sight, error) {
	do, acl := b.c.Async(), client.WithACL(b.acl...)
	if !b.hasPath {
		do.Create(ctx, b.path, nil, client.Container, acl)
	}
	created := do.Create(ctx, b.own, b.data, client.Ephemeral, acl)
	s, at, err := b.count(ctx)
	own, createErr := created.Wait(ctx)
	if err = cmp.Or(createErr, err); err != nil {
		if s.watch != nil {
			s.watch.Close()
		}
		return sight{}, err
	}
	b.hasPath = true
	s.isLast = own.Stat.Czxid == at
	return s, nil
}

// count returns how many processes there are, with a watch if ready does not exist, and the zxid of the last
// change of the children.
func (b *DoubleBarrier) count(ctx context.Context) (s sight, at client.Zxid, err error) {
	counted := b.c.Async().Exists(ctx, b.path)
	var isReady bool
	_, isReady, s.watch, err = b.c.ExistsW(ctx, paths.ChildOf(b.path, layouts.Ready))
	stat, countErr := counted.Wait(ctx)
	s.inside = int(stat.NumChildren)
	if err == nil && (countErr != nil || isReady) {
		s.watch.Close()
		s.watch = nil
	}
	return s, stat.Pzxid, cmp.Or(err, countErr)
}

// look is count after a lost connection.
func (b *DoubleBarrier) look(ctx context.Context) (s sight, err error) {
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		s, _, err = b.count(ctx)
		return err
	})
	s.isLast = true // possibly
	return s, err
}

// join creates this process's znode. Its name is fresh, so an existing one is this process's, unless an earlier
// session has left it.
func (b *DoubleBarrier) join(ctx context.Context) error {
	return again(ctx, func(ctx context.Context) error {
		for {
			err := b.below(ctx, b.c, b.path, func() error {
				_, err := b.c.Create(ctx, b.own, b.data, client.Ephemeral, client.WithACL(b.acl...))
				return err
			})
			if !errors.Is(err, client.ErrNodeExists) {
				return err
			}
			isInside, err := b.Inside(ctx)
			if err == nil && !isInside {
				err = b.c.DeleteSurely(ctx, b.own)
			}
			if isInside || err != nil {
				return err
			}
		}
	})
}

// awaitReady waits for ready, or creates it. The process that comes last counts all of them, because a session's
// reads show at least everything before its own znode. When many come at once most of them count enough. Then the
// last of them creates ready. The others create it only if it does not exist after a while: the last process may
// have died.
func (b *DoubleBarrier) awaitReady(ctx context.Context, s sight) error {
	if s.watch == nil {
		return nil
	}
	defer s.watch.Close()
	switch {
	case s.inside < b.size:
		return awaitEvent(ctx, s.watch)
	case !s.isLast:
		others, cancel := context.WithTimeout(ctx, lastMoment)
		err := awaitEvent(others, s.watch)
		isLate := others.Err() != nil
		cancel()
		if !isLate || ctx.Err() != nil {
			return err
		}
	}
	return again(ctx, func(ctx context.Context) error {
		ready := paths.ChildOf(b.path, layouts.Ready)
		_, err := b.c.Create(ctx, ready, nil, client.Persistent, client.WithACL(b.acl...))
		if errors.Is(err, client.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// others returns the processes among the children, sorted.
func (b *DoubleBarrier) others(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == layouts.Ready })
	slices.Sort(names)
	return names
}

// Inside reports whether the process is inside, as the others see it.
func (b *DoubleBarrier) Inside(ctx context.Context) (isInside bool, err error) {
	err = client.Retry(ctx, func(ctx context.Context) error {
		stat, exists, err := b.c.Exists(ctx, b.own)
		session, _ := b.c.Session()
		isInside = exists && client.SessionID(stat.EphemeralOwner) == session
		return err
	})
	return isInside, err
}

// Leave waits until every process that is inside has left, or ctx ends; this process has left in any case. There is no
// herd effect: the lowest znode stays until last and waits for the highest. All others delete theirs and wait for the
// lowest, which is deleted together with ready.
func (b *DoubleBarrier) Leave(ctx context.Context) error {
	err := b.awaitOthers(ctx)
	if err != nil {
		_ = b.c.DeleteSurely(ctx, b.own) // goes on in the background if ctx has ended
	}
	return err
}

func (b *DoubleBarrier) awaitOthers(ctx context.Context) error {
	ready := paths.ChildOf(b.path, layouts.Ready)
	for {
		names, err := childrenOf(ctx, b.c, b.path)
		if err != nil {
			return err
		}
		isInside := slices.Contains(names, paths.NameOf(b.own))
		if !isInside && !slices.Contains(names, layouts.Ready) {
			return nil // a process saw all others gone; a process that is there now has entered again
		}
		names = b.others(names)
		if len(names) == 0 {
			return b.c.DeleteSurely(ctx, ready)
		}
		lowest, highest := paths.ChildOf(b.path, names[0]), paths.ChildOf(b.path, names[len(names)-1])
		switch {
		case lowest == b.own && highest == b.own:
			return b.close(ctx, ready)
		case lowest == b.own:
			err = awaitChange(ctx, b.c, highest)
		case isInside:
			err = b.depart(ctx, lowest)
		default:
			var w *client.Watch
			if w, err = watchOf(ctx, b.c, lowest); w != nil {
				err = b.awaitLeaving(ctx, w)
			}
		}
		if err != nil {
			return err
		}
	}
}

// depart deletes this process's znode and waits for a change of the lowest one, with both requests sent at once.
func (b *DoubleBarrier) depart(ctx context.Context, lowest string) error {
	deleted := b.c.Async().Delete(ctx, b.own, client.AnyVersion)
	w, err := watchOf(ctx, b.c, lowest)
	if _, deleteErr := deleted.Wait(ctx); deleteErr != nil { // other processes may wait for it
		if deleteErr = b.c.DeleteSurely(ctx, b.own); deleteErr != nil {
			if w != nil {
				w.Close()
			}
			return deleteErr
		}
	}
	if w == nil {
		return err
	}
	return b.awaitLeaving(ctx, w)
}

// awaitLeaving waits for a change of the lowest znode, which w watches, but not if ready does not exist any more.
// A process that has left has seen ready deleted before it enters again, and ready is not created again without
// this process. So if ready exists after the watch was set, the watch is on a process that has yet to leave, and
// not on the same znode of a process that has entered again and waits for this one.
func (b *DoubleBarrier) awaitLeaving(ctx context.Context, w *client.Watch) error {
	var isReady bool
	err := client.Retry(ctx, func(ctx context.Context) (err error) {
		_, isReady, err = b.c.Exists(ctx, paths.ChildOf(b.path, layouts.Ready))
		return err
	})
	if err != nil || !isReady {
		w.Close()
		return err
	}
	return awaitEvent(ctx, w)
}

// close deletes this process's znode, the last inside, together with ready: processes that wait for it have
// nothing left to do.
func (b *DoubleBarrier) close(ctx context.Context, ready string) error {
	if _, err := b.c.Commit(ctx, new(client.Txn).Delete(b.own, client.AnyVersion).
		Delete(ready, client.AnyVersion)); err == nil {
		return nil
	}
	if err := b.c.DeleteSurely(ctx, b.own); err != nil {
		return err
	}
	return b.c.DeleteSurely(ctx, ready)
}
