package recipes

import (
	"context"
	"iter"

	"github.com/seed94657493/warren/client"
)

// Rendezvous is the paper's: processes that do not know each other in advance agree on a znode. One of them writes its
// address there, and the others wait for it.
//
//	/path    ephemeral; the data of the announcer; it ends with the announcer
//
// Guarantee: at most one announcement is valid at a time, and a waiting process sees an announcement that was
// made. It may be out of date by then: an announcer that died is announced until its session expires. The
// guarantee fails if two announcers of one session announce the same data: they count as one. A Rendezvous has no
// state and may be used concurrently. Source: the paper's section 2.4.
type Rendezvous struct {
	line line
	path string
}

// NewRendezvous returns the rendezvous at a path.
func NewRendezvous(c *client.Client, path string, options ...Option) *Rendezvous {
	return &Rendezvous{line{c: c, options: newOptions(options)}, path}
}

// Meeting is an announcement.
type Meeting struct {
	Data  []byte
	Token client.Zxid // grows from announcement to announcement
}

// Exists reports whether there is an announcement.
func (m Meeting) Exists() bool { return m.Token != 0 }

// Announce publishes data, such as the address of this process, until the Hold is released or lost. It returns
// ErrBusy if another process has announced.
func (r *Rendezvous) Announce(ctx context.Context, data []byte) (*Hold, error) {
	token, err := r.line.claimBelow(ctx, r.path, data)
	switch {
	case err != nil:
		return nil, err
	case token == 0:
		return nil, ErrBusy
	}
	return r.line.possessClaim(ctx, r.path, token)
}

// Await waits for an announcement, or until ctx ends.
func (r *Rendezvous) Await(ctx context.Context) (Meeting, error) {
	for meeting, err := range r.Follow(ctx) {
		if err != nil || meeting.Exists() {
			return meeting, err
		}
	}
	return Meeting{}, ctx.Err()
}

// Follow ranges over the announcements: the current one, then every later one that it sees, and one that does not
// Exist while there is none. It may skip some in quick succession, but never the last. It ends with an error, or
// without one when ctx ends.
func (r *Rendezvous) Follow(ctx context.Context) iter.Seq2[Meeting, error] {
	return func(yield func(Meeting, error) bool) {
		for node, err := range r.line.c.Follow(ctx, r.path) {
			if !yield(Meeting{node.Data, node.Stat.Czxid}, err) || err != nil {
				return
			}
		}
	}
}
