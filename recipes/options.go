package recipes

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// Option changes how a recipe works.
type Option func(*options)

type options struct {
	acl      []client.ACL
	data     []byte
	isStrict bool
}

func newOptions(given []Option) options {
	o := options{acl: client.OpenACL(), isStrict: true}
	for _, f := range given {
		f(&o)
	}
	return o
}

// WithACL sets the ACL of every znode that a recipe creates, parents included, overriding the default, which is
// open to all clients. All participants need read, create and delete on the parent.
func WithACL(acl ...client.ACL) Option {
	acl = slices.Clone(acl) // a recipe uses it again and again
	return func(o *options) { o.acl = acl }
}

// WithData sets the data of a participant's znode, overriding the default, which is none. Other participants see
// it as Contender.Data.
func WithData(data []byte) Option {
	data = bytes.Clone(data)
	return func(o *options) { o.data = data }
}

// UntilExpiry keeps a Hold after the loss of its connection for as long as its session may live, overriding the
// default, which ends the Hold at once. It trades safety for fewer changes: the holder then relies on its clock,
// and on not being paused, to stop in time. By default a leader changes whenever its server is restarted. Choose
// UntilExpiry if that is costly, and if the target of the leader's writes checks its Token, or tolerates two
// leaders for a moment.
func UntilExpiry() Option { return func(o *options) { o.isStrict = false } }

// below runs an action that needs a parent, and runs it again with the parent if there is none.
func (o *options) below(ctx context.Context, c *client.Client, parent string, f func() error) error {
	for {
		if err := f(); !errors.Is(err, client.ErrNoNode) {
			return err
		}
		if err := o.ensure(ctx, c, parent); err != nil {
			return err
		}
	}
}

// ensure creates a znode and its missing ancestors as containers, which the servers remove some time after their
// last child. It succeeds if the znode exists.
func (o *options) ensure(ctx context.Context, c *client.Client, path string) error {
	return again(ctx, func(ctx context.Context) error {
		for {
			_, err := c.Create(ctx, path, nil, client.Container, client.WithACL(o.acl...))
			switch {
			case errors.Is(err, client.ErrNodeExists):
				return nil
			case !errors.Is(err, client.ErrNoNode) || paths.ParentOf(path) == "/":
				return err
			}
			if err := o.ensure(ctx, c, paths.ParentOf(path)); err != nil {
				return err
			}
		}
	})
}
