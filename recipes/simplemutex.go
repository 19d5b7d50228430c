package recipes

import (
	"bytes"
	"context"

	"github.com/seed94657493/warren/client"
)

// SimpleMutex is the simple lock of the paper: the participant that creates the znode has the lock, all others
// wait for its deletion.
//
//	/path    ephemeral; its data is a fresh id, a line feed, and the data of WithData
//
// Guarantee: at most one Hold's Context lives at a time, and tokens grow from grant to grant. It fails as Mutex's
// does. It also fails if a client writes the znode while the connection of its creator is lost: the creator then takes
// it for another participant's and waits until its own session ends. Grants are in no particular order, so a
// participant may starve, and every release wakes all waiting ones: a herd. The recipe exists because it needs only
// one znode, and because other programs use it; Mutex is better. Curator has none. A SimpleMutex has no state and may
// be used concurrently. Source: the paper's section 2.4.
type SimpleMutex struct {
	line line
	path string
}

// NewSimpleMutex returns the lock at a path. All participants must use the same path.
func NewSimpleMutex(c *client.Client, path string, options ...Option) *SimpleMutex {
	return &SimpleMutex{line{c: c, options: newOptions(options)}, path}
}

// Lock waits until the lock is granted or ctx ends, and leaves no znode behind if it fails.
func (m *SimpleMutex) Lock(ctx context.Context) (*Hold, error) { return m.lock(ctx, false) }

// TryLock is Lock that returns ErrBusy instead of waiting.
func (m *SimpleMutex) TryLock(ctx context.Context) (*Hold, error) { return m.lock(ctx, true) }

func (m *SimpleMutex) lock(ctx context.Context, isTry bool) (*Hold, error) {
	// The same for every try, so that a create whose answer was lost is recognised.
	data := append([]byte(newID()+"\n"), m.line.data...)
	for {
		token, err := m.line.claimBelow(ctx, m.path, data)
		switch {
		case err != nil:
			return nil, err
		case token != 0:
			return m.line.possessClaim(ctx, m.path, token)
		case isTry:
			return nil, ErrBusy
		}
		if err := awaitChange(ctx, m.line.c, m.path); err != nil {
			return nil, err
		}
	}
}

// Holder returns the holder of the lock, and false if there is none.
func (m *SimpleMutex) Holder(ctx context.Context) (holder Contender, isHeld bool, err error) {
	n, err := read(ctx, m.line.c, m.path)
	if !n.Exists {
		return Contender{}, false, err
	}
	_, data, _ := bytes.Cut(n.Data, []byte("\n"))
	return Contender{m.path, data, n.Stat.Czxid}, true, nil
}
