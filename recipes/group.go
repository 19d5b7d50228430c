package recipes

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// Group is the membership of the paper: the list of live members.
//
//	/path/node-1    ephemeral znode of member node-1, with the data that it joined with
//	/path/node-2
//
// Guarantee: a list of members is the list that a server had at one moment. A member that died is listed until its
// session expires, and a member that is cut off does not know whether it is listed. So membership does not exclude
// other members, and must not be the basis of decisions that all must agree on: use an Election for those. Two members
// with one name count as one: the second takes the place when the first ends. The layout is that of Curator's
// GroupMember. A Group has no state and may be used concurrently. Source: the paper's section 2.4.
type Group struct {
	c       *client.Client
	path    string
	options []Option
}

// NewGroup returns the group at a path.
func NewGroup(c *client.Client, path string, options ...Option) *Group {
	return &Group{c, path, options}
}

// Join waits until the member is listed, or ctx ends. It stays listed until the node is closed; Set changes its data.
func (g *Group) Join(ctx context.Context, name string, data []byte) (*PersistentNode, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, client.ErrBadArguments
	}
	return openNode(ctx, g.c, paths.ChildOf(g.path, name), data, g.options...)
}

// Member is one member of a group.
type Member struct {
	Name string
	Data []byte
}

// Members returns the members sorted by name. A group that does not exist has none.
func (g *Group) Members(ctx context.Context) ([]Member, error) {
	names, err := childrenOf(ctx, g.c, g.path)
	slices.Sort(names)
	var members []Member
	for _, name := range names {
		n, err := read(ctx, g.c, paths.ChildOf(g.path, name))
		if err != nil {
			return nil, err
		}
		if n.Exists { // it has not left in between
			members = append(members, Member{strings.Clone(name), n.Data})
		}
	}
	return members, err
}

// Follow ranges over the list of members: the current one, then a new one whenever a member has come, has gone or has
// changed its data. It may skip lists in quick succession, but never the last. It ends with an error, or without one
// when ctx ends. It uses one persistent watch, which servers have since 3.6.
func (g *Group) Follow(ctx context.Context) iter.Seq2[[]Member, error] {
	return func(yield func([]Member, error) bool) {
		var w *client.Watch
		err := client.Retry(ctx, func(ctx context.Context) (err error) {
			w, err = g.c.Watch(ctx, g.path, client.WatchSubtree)
			return err
		})
		if err == nil {
			defer w.Close()
			err = g.follow(ctx, w, yield)
		}
		if err != nil && ctx.Err() == nil {
			yield(nil, err)
		}
	}
}

// follow reads the members whenever the watch has reported an event. Nil means that the receiver has stopped.
func (g *Group) follow(ctx context.Context, w *client.Watch, yield func([]Member, error) bool) error {
	for {
		members, err := g.Members(ctx)
		if err == nil {
			if !yield(members, nil) {
				return nil
			}
			err = awaitNews(ctx, w)
		}
		if err := renewed(ctx, g.c, err); err != nil {
			return err
		}
	}
}
