package recipes

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

const (
	bundleTxnSize = 256 << 10 // bytes of one transaction of a Publish, well below jute.maxbuffer
)

// ErrSuperseded is returned by Bundle.Publish when another Publish has begun meanwhile.
var ErrSuperseded = errors.New("recipes: another publish has begun")

// Bundle is the configuration of the paper with many parts: readers see all of one publication or all of another,
// never a mixture. (A configuration of one znode needs no recipe: client.Follow shows every reader its last
// state.)
//
//	/path          its version grows with every Publish, which fences off earlier ones
//	/path/host     a part
//	/path/port     another
//	/path/ready    exists while the parts belong together; its czxid names the publication
//
// Publish removes ready, changes the parts, and creates ready again. A reader reads ready, then the parts, then
// ready again. The czxid of ready is the same only if no change came between, because the reads of one session
// never go back in time. If a publisher dies before it creates ready, readers wait, or keep their last
// publication, until another Publish. There may be any number of parts, each as large as a znode may be. The
// guarantee fails if a program writes a part without Publish. A Bundle has no state and may be used concurrently.
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

// Publish replaces all parts. A part is named as a znode may be, and not "ready"; one that is too large for a znode is
// refused before anything changes (ErrTooLarge of package client). Publish returns ErrSuperseded if another Publish
// began later: then no reader sees this publication, except for a moment before that if the connection was lost during
// the last step. After any other error no reader sees a mixture either, but readers may have to wait for the next
// Publish.
func (b *Bundle) Publish(ctx context.Context, parts map[string][]byte) error {
	for name := range parts {
		path := paths.ChildOf(b.path, name)
		if name == layouts.Ready || strings.Contains(name, "/") || !paths.Valid([]byte(path)) {
			return client.ErrBadArguments
		}
	}
	for _, t := range b.changes(0, nil, parts) {
		if err := b.c.Fits(t); err != nil {
			return err
		}
	}
	fence, names, err := b.begin(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(names, layouts.Ready) { // of a publisher that has finished between the two steps of begin
		if err := b.commit(ctx, fence, b.txn(fence).Delete(paths.ChildOf(b.path, layouts.Ready), client.AnyVersion),
			false); err != nil {
			return err
		}
	}
	txns := b.changes(fence, names, parts)
	last := len(txns) - 1
	if err := b.commitAll(ctx, fence, txns[:last]); err != nil {
		return err
	}
	return b.commit(ctx, fence, txns[last], false)
}

// begin removes ready and fences off all publishers that have begun before: their transactions check the version
// that begin changes. It returns the version, and the names of the children then. No other publisher can change
// these without changing the version. Ready may exist again.
func (b *Bundle) begin(ctx context.Context) (fence int32, names []string, err error) {
	err = again(ctx, func(ctx context.Context) error {
		started := b.c.Async().Commit(ctx, new(client.Txn).Set(b.path, b.data, client.AnyVersion).
			Delete(paths.ChildOf(b.path, layouts.Ready), client.AnyVersion))
		var listErr error
		names, _, listErr = b.c.Children(ctx, b.path) // the server does this after the transaction
		results, err := started.Wait(ctx)
		if err == nil {
			fence = results[0].Stat.Version
			return listErr
		}
		var refused *client.TxnError
		if !errors.As(err, &refused) || !errors.Is(err, client.ErrNoNode) {
			return err
		}
		if refused.Index == 0 {
			if err := b.ensure(ctx, b.c, b.path); err != nil {
				return err
			}
		}
		stat, err := b.c.Set(ctx, b.path, b.data, client.AnyVersion) // ready does not exist
		if err != nil {
			return err
		}
		fence = stat.Version
		names, _, err = b.c.Children(ctx, b.path)
		return err
	})
	return fence, names, err
}

// changes returns the transactions that produce the parts. The last one creates ready; the order of the others
// does not matter.
func (b *Bundle) changes(fence int32, names []string, parts map[string][]byte) []*client.Txn {
	exists := make(map[string]bool, len(names))
	for _, name := range names {
		exists[name] = true
	}
	txns := []*client.Txn{b.txn(fence)}
	size := 0
	last := func(more int) *client.Txn {
		if size += more; size > bundleTxnSize {
			txns, size = append(txns, b.txn(fence)), more
		}
		return txns[len(txns)-1]
	}
	for _, name := range names {
		path := paths.ChildOf(b.path, name)
		if _, isKept := parts[name]; !isKept && name != layouts.Ready {
			last(len(path)+100).Delete(path, client.AnyVersion)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		path, data := paths.ChildOf(b.path, name), parts[name]
		if t := last(len(path) + len(data) + 200); exists[name] {
			t.Set(path, data, client.AnyVersion)
		} else {
			t.Create(path, data, client.Persistent, client.WithACL(b.acl...))
		}
	}
	last(200).Create(paths.ChildOf(b.path, layouts.Ready), nil, client.Persistent, client.WithACL(b.acl...))
	return txns
}

func (b *Bundle) txn(fence int32) *client.Txn {
	return new(client.Txn).Check(b.path, fence)
}

// commitAll sends all transactions at once, and repeats those whose outcome is unknown. No reader reads the parts
// before ready exists.
func (b *Bundle) commitAll(ctx context.Context, fence int32, txns []*client.Txn) error {
	started := make([]client.Future[[]client.TxnResult], len(txns))
	for i, t := range txns {
		started[i] = b.c.Async().Commit(ctx, t)
	}
	var failed error
	for i, f := range started {
		_, err := f.Wait(ctx)
		if failed == nil && (isUnknown(err) || client.SafeToRetry(err)) {
			err = b.commit(ctx, fence, txns[i], isUnknown(err))
		}
		if failed == nil {
			failed = superseded(err)
		}
	}
	return failed
}

// commit runs one transaction. It repeats a transaction whose outcome is unknown, also one of an earlier attempt.
// If the repetition is refused, the transaction was either applied or superseded; only the fence can tell.
func (b *Bundle) commit(ctx context.Context, fence int32, t *client.Txn, isRepeated bool) error {
	return superseded(again(ctx, func(ctx context.Context) error {
		_, err := b.c.Commit(ctx, t)
		isDone := isRepeated && (errors.Is(err, client.ErrNodeExists) || errors.Is(err, client.ErrNoNode))
		if isRepeated = isRepeated || isUnknown(err); isDone {
			return nil
		}
		return err
	}))
}

// superseded returns ErrSuperseded for a transaction that was fenced off.
func superseded(err error) error {
	if errors.Is(err, client.ErrBadVersion) {
		return ErrSuperseded
	}
	return err
}

// Read returns the current publication, and waits while there is no complete one. With client.WithRenewal it goes on
// under the next session.
func (b *Bundle) Read(ctx context.Context) (Publication, error) {
	return outliving(ctx, b.c, func() (Publication, error) {
		p, w, err := b.read(ctx)
		if err == nil {
			w.Close()
		}
		return p, err
	})
}

// Follow ranges over the publications: the current one, then every later one that it sees complete. It may skip
// some, but never the last. It ends with an error, or without one when ctx ends.
func (b *Bundle) Follow(ctx context.Context) iter.Seq2[Publication, error] {
	return follow(ctx, b.c, b.read, func(a, b Publication) bool { return a.Zxid == b.Zxid })
}

// read returns a complete publication and a watch that fires when the publication is replaced.
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
			continue // the publication changed during the read
		}
		if err := awaitEvent(ctx, w); err != nil {
			return Publication{}, nil, err
		}
	}
}

// try reads the bundle once. Without a publication it returns the watch to wait for, or no watch if it must be
// called again.
func (b *Bundle) try(ctx context.Context) (p Publication, w *client.Watch, err error) {
	ready := paths.ChildOf(b.path, layouts.Ready)
	stat, exists, w, err := b.c.ExistsW(ctx, ready)
	if err != nil || !exists {
		return Publication{}, w, err
	}
	p = Publication{Zxid: stat.Czxid}
	p.Parts, err = b.parts(ctx)
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

// parts reads all parts at once.
func (b *Bundle) parts(ctx context.Context) (map[string][]byte, error) {
	names, _, err := b.c.Children(ctx, b.path)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == layouts.Ready })
	started := make([]client.Future[client.NodeData], len(names))
	for i, name := range names {
		started[i] = b.c.Async().Get(ctx, paths.ChildOf(b.path, name))
	}
	parts := make(map[string][]byte, len(names))
	for i, f := range started {
		part, getErr := f.Wait(ctx)
		parts[names[i]], err = part.Data, cmp.Or(err, getErr)
	}
	return parts, err
}
