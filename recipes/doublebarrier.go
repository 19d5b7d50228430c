package recipes

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
)

// DoubleBarrier lets processes begin and end a computation together: the double barrier of the paper.
//
//	/path/<uuid>    ephemeral, one for each process inside
//	/path/ready     exists once there were enough of them; the last to leave deletes it
//
// Guarantee: Enter returns when at least size processes have entered, Leave when every process that had entered has left or died. Size
// is a threshold, not a limit. The barrier may be used again after Leave if exactly size processes take part: one more could enter while
// the others leave and would find it open. It breaks for a process whose session expires inside, which the others take for gone;
// Inside tells it. The layout is that of Curator's DistributedDoubleBarrier. A DoubleBarrier is one process's view, to be entered and left
// in turns by one goroutine. Source: the paper's section 2.4; operations section 9.2.
type DoubleBarrier struct {
	c    *client.Client
	path string
	own  string
	size int
	options
}

// NewDoubleBarrier returns the double barrier at a path for size processes. It panics if size is below one.
func NewDoubleBarrier(c *client.Client, path string, size int, options ...Option) *DoubleBarrier {
	if size < 1 {
		panic(fmt.Sprintf("recipes: double barrier of %d at %s", size, path))
	}
	return &DoubleBarrier{c, path, childOf(path, newID()), size, newOptions(options)}
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
	err := b.join(ctx)
	if err == nil {
		err = b.awaitReady(ctx)
	}
	if err != nil {
		_ = b.c.DeleteSurely(ctx, b.own) // goes on in the background if ctx has ended
	}
	return err
}

// join creates the own znode. Its name is fresh, so one that exists is ours, unless an earlier session has left it.
func (b *DoubleBarrier) join(ctx context.Context) error {
	return again(ctx, func(ctx context.Context) error {
		for {
			_, err := b.c.Create(ctx, b.own, b.data, client.Ephemeral, client.WithACL(b.acl...))
			switch {
			case errors.Is(err, client.ErrNodeExists):
				isInside, err := b.Inside(ctx)
				if err == nil && !isInside {
					err = b.c.DeleteSurely(ctx, b.own)
				}
				if isInside || err != nil {
					return err
				}
			case errors.Is(err, client.ErrNoNode):
				if err := b.ensure(ctx, b.c, b.path); err != nil {
					return err
				}
			default:
				return err
			}
		}
	})
}

// awaitReady waits for ready, or creates it. The watch is set before the others are counted: whoever comes last counts everybody,
// because a session's reads show at least what came before its own znode.
func (b *DoubleBarrier) awaitReady(ctx context.Context) error {
	ready := childOf(b.path, readyName)
	var w *client.Watch
	var isReady bool
	var names []string
	err := client.Retry(ctx, func(ctx context.Context) (err error) {
		if w != nil {
			w.Close()
		}
		if _, isReady, w, err = b.c.ExistsW(ctx, ready); err == nil {
			names, _, err = b.c.Children(ctx, b.path)
		}
		return err
	})
	if w != nil {
		defer w.Close()
	}
	switch {
	case err != nil || isReady:
		return err
	case len(b.others(names)) < b.size:
		return awaitEvent(ctx, w)
	}
	return again(ctx, func(ctx context.Context) error {
		_, err := b.c.Create(ctx, ready, nil, client.Persistent, client.WithACL(b.acl...))
		if errors.Is(err, client.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// others returns the processes among the children, sorted.
func (b *DoubleBarrier) others(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == readyName })
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

// Leave waits until everybody who is inside has left, or ctx ends; the process has left in any case. There is no herd: the
// lowest znode stays to the last and waits for the highest, all others delete theirs and wait for the lowest.
func (b *DoubleBarrier) Leave(ctx context.Context) error {
	err := b.awaitOthers(ctx)
	if err != nil {
		_ = b.c.DeleteSurely(ctx, b.own) // goes on in the background if ctx has ended
		return err
	}
	return b.c.DeleteSurely(ctx, childOf(b.path, readyName))
}

func (b *DoubleBarrier) awaitOthers(ctx context.Context) error {
	for {
		var names []string
		err := client.Retry(ctx, func(ctx context.Context) (err error) {
			names, _, err = b.c.Children(ctx, b.path)
			return err
		})
		if errors.Is(err, client.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		isInside := slices.Contains(names, b.own[strings.LastIndexByte(b.own, '/')+1:])
		if !isInside && !slices.Contains(names, readyName) {
			return nil // somebody saw everybody gone; who is there now has entered again
		}
		names = b.others(names)
		if len(names) == 0 {
			return nil
		}
		lowest, highest := childOf(b.path, names[0]), childOf(b.path, names[len(names)-1])
		awaited := lowest
		switch {
		case lowest == b.own && highest == b.own:
			return b.c.DeleteSurely(ctx, b.own)
		case lowest == b.own:
			awaited = highest
		default:
			if err := b.c.DeleteSurely(ctx, b.own); err != nil {
				return err
			}
		}
		if err := awaitChange(ctx, b.c, awaited); err != nil {
			return err
		}
	}
}
