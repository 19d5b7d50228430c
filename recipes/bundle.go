package recipes

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/seed94657493/warren/client"
)

const (
	readyName     = "ready"
	bundleTxnSize = 256 << 10 // bytes of one transaction of a Publish, well below jute.maxbuffer
)

// ErrSuperseded is returned by Bundle.Publish when another Publish has begun meanwhile.
var ErrSuperseded = errors.New("recipes: another publish has begun")

// Bundle is the configuration of the paper that has many parts: readers see all of one publication or all of another, never a mixture.
// (A configuration of one znode needs no recipe: client.Follow shows every reader its last state.)
//
//	/path          its version grows with every Publish, which fences off earlier ones
//	/path/host     a part
//	/path/port     another
//	/path/ready    exists while the parts belong together; its czxid names the publication
//
// Publish removes ready, changes the parts, and creates ready again. A reader reads ready, then the parts, then ready again:
// its czxid is the same only if no change came between, because what one session reads never goes back in time. If a
// publisher dies on the way, readers wait, or keep what they have, until somebody publishes again. The parts may be of any number, each
// as large as a znode may be. It breaks if somebody writes a part without Publish. A Bundle has no state and may be used concurrently.
// Source: the paper's section 2.3.
type Bundle struct {
	c    *client.Client
	path string
	options
}

// NewBundle returns the bundle at a path.
func NewBundle(c *client.Client, path string, options ...Option) *Bundle {
	return &Bundle{c, path, newOptions(options)}
}

// Publication is a bundle as one Publish wrote it.
type Publication struct {
	Parts map[string][]byte
	Zxid  client.Zxid // grows with every publication
}

// Publish replaces all parts. A part cannot be named "ready". It returns ErrSuperseded if another Publish began later: nobody ever
// sees this one then. After any other error nobody sees a mixture either, but readers may have to wait for the next Publish.
func (b *Bundle) Publish(ctx context.Context, parts map[string][]byte) error {
	if _, ok := parts[readyName]; ok {
		return client.ErrBadArguments
	}
	fence, err := b.begin(ctx)
	if err != nil {
		return err
	}
	txns, err := b.changes(ctx, fence, parts)
	if err != nil {
		return err
	}
	for _, t := range txns {
		if err := b.commit(ctx, fence, t); err != nil {
			return err
		}
	}
	return nil
}

// begin fences off everybody who has begun before: their transactions check the version that it changes.
func (b *Bundle) begin(ctx context.Context) (fence int32, err error) {
	err = again(ctx, func(ctx context.Context) error {
		stat, err := b.c.Set(ctx, b.path, b.data, client.AnyVersion)
		if errors.Is(err, client.ErrNoNode) {
			if err = b.ensure(ctx, b.c, b.path); err == nil {
				stat, err = b.c.Set(ctx, b.path, b.data, client.AnyVersion)
			}
		}
		fence = stat.Version
		return err
	})
	return fence, err
}

// changes returns the transactions that lead to the parts: without ready, with the parts, with ready. Nobody else can change anything
// meanwhile without changing the fence.
func (b *Bundle) changes(ctx context.Context, fence int32, parts map[string][]byte) ([]*client.Txn, error) {
	var names []string
	err := client.Retry(ctx, func(ctx context.Context) (err error) {
		names, _, err = b.c.Children(ctx, b.path)
		return err
	})
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	first := b.txn(fence)
	for _, name := range names {
		exists[name] = true
	}
	if exists[readyName] {
		first.Delete(childOf(b.path, readyName), client.AnyVersion)
	}
	txns := []*client.Txn{first}
	size := 0
	last := func(more int) *client.Txn {
		if size += more; size > bundleTxnSize {
			txns, size = append(txns, b.txn(fence)), more
		}
		return txns[len(txns)-1]
	}
	for _, name := range names {
		path := childOf(b.path, name)
		if _, isKept := parts[name]; !isKept && name != readyName {
			last(len(path)+100).Delete(path, client.AnyVersion)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		path, data := childOf(b.path, name), parts[name]
		if t := last(len(path) + len(data) + 200); exists[name] {
			t.Set(path, data, client.AnyVersion)
		} else {
			t.Create(path, data, client.Persistent, client.WithACL(b.acl...))
		}
	}
	last(200).Create(childOf(b.path, readyName), nil, client.Persistent, client.WithACL(b.acl...))
	return txns, nil
}

func (b *Bundle) txn(fence int32) *client.Txn {
	return new(client.Txn).Check(b.path, fence)
}

// commit runs one transaction. If its outcome is unknown it runs it again; what is refused then has either happened or been superseded, which
// only the fence can tell.
func (b *Bundle) commit(ctx context.Context, fence int32, t *client.Txn) error {
	isRepeated := false
	err := again(ctx, func(ctx context.Context) error {
		_, err := b.c.Commit(ctx, t)
		isDone := isRepeated && (errors.Is(err, client.ErrNodeExists) || errors.Is(err, client.ErrNoNode))
		if isRepeated = isRepeated || isUnknown(err); isDone {
			return nil
		}
		return err
	})
	if errors.Is(err, client.ErrBadVersion) {
		return ErrSuperseded
	}
	return err
}

// Read returns what is published, and waits while there is nothing whole.
func (b *Bundle) Read(ctx context.Context) (Publication, error) {
	p, w, err := b.read(ctx)
	if err == nil {
		w.Close()
	}
	return p, err
}

// Follow ranges over the publications: the current one, then every later one that is seen whole. Some may be left out, the last never is. It
// ends with an error, or silently when ctx ends.
func (b *Bundle) Follow(ctx context.Context) iter.Seq2[Publication, error] {
	return func(yield func(Publication, error) bool) {
		var seen client.Zxid
		for {
			p, w, err := b.read(ctx)
			if err == nil {
				if p.Zxid != seen && !yield(p, nil) {
					w.Close()
					return
				}
				seen = p.Zxid
				err = awaitEvent(ctx, w)
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(Publication{}, err)
				return
			}
		}
	}
}

// read returns a whole publication and a watch that fires when it is over.
func (b *Bundle) read(ctx context.Context) (p Publication, w *client.Watch, err error) {
	for {
		err := client.Retry(ctx, func(ctx context.Context) (err error) {
			if w != nil {
				w.Close()
			}
			p, w, err = b.try(ctx)
			return err
		})
		switch {
		case err != nil || p.Parts != nil:
			return p, w, err
		case w == nil:
			continue // changed while it was read
		}
		if err := awaitEvent(ctx, w); err != nil {
			return Publication{}, nil, err
		}
	}
}

// try reads the bundle once. Without a publication it returns the watch to wait for, or none if it should be tried again.
func (b *Bundle) try(ctx context.Context) (p Publication, w *client.Watch, err error) {
	ready := childOf(b.path, readyName)
	stat, exists, w, err := b.c.ExistsW(ctx, ready)
	if err != nil || !exists {
		return Publication{}, w, err
	}
	p = Publication{Parts: map[string][]byte{}, Zxid: stat.Czxid}
	names, _, err := b.c.Children(ctx, b.path)
	for _, name := range names {
		if err != nil {
			break
		}
		if name != readyName {
			p.Parts[name], _, err = b.c.Get(ctx, childOf(b.path, name))
		}
	}
	if err == nil {
		stat, exists, err = b.c.Exists(ctx, ready)
	}
	isTorn := errors.Is(err, client.ErrNoNode) || err == nil && (!exists || stat.Czxid != p.Zxid)
	switch {
	case isTorn:
		w.Close()
		return Publication{}, nil, nil
	case err != nil:
		w.Close()
		return Publication{}, nil, err
	}
	return p, w, nil
}
