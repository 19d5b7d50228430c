package recipes

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// Names is a name service: names that stand for bytes, such as addresses.
//
//	/path/printer-1    persistent; the value of the name
//	/path/printer-2
//
// Guarantee: a name has one value at a time, which only Rebind and Unbind change. The result of Lookup may be old
// when it arrives; Follow arrives at the latest value. Names outlive the processes that bind them: for values
// that end with their process, see Group and Discovery. A Names has no state and may be used concurrently.
// Source: the naming service of the ZooKeeper recipes.
type Names struct {
	c    *client.Client
	path string
	options
}

// NewNames returns the name service at a path.
func NewNames(c *client.Client, path string, options ...Option) *Names {
	return &Names{c, path, newOptions(options)}
}

// cell returns the cell of a name. Names have no hierarchy.
func (n *Names) cell(name string) (*cell, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, client.ErrBadArguments
	}
	return &cell{n.c, paths.ChildOf(n.path, name), n.options}, nil
}

// Bind gives a name its value. If the name already has this value, Bind succeeds; if it has another one, the error is
// ErrBusy.
func (n *Names) Bind(ctx context.Context, name string, data []byte) error {
	k, err := n.cell(name)
	if err != nil {
		return err
	}
	return again(ctx, func(ctx context.Context) error {
		_, err := k.change(ctx, func(old client.Node) ([]byte, error) {
			switch {
			case !old.Exists:
				return data, nil
			case bytes.Equal(old.Data, data):
				return nil, errStop
			}
			return nil, ErrBusy
		})
		if errors.Is(err, errStop) {
			return nil
		}
		return err
	})
}

// Rebind replaces the value of a name, or sets it. It may repeat the write after a lost connection.
func (n *Names) Rebind(ctx context.Context, name string, data []byte) error {
	k, err := n.cell(name)
	if err != nil {
		return err
	}
	_, err = k.put(ctx, data)
	return err
}

// Unbind frees a name. It succeeds if the name is free. It may repeat the write after a lost connection.
func (n *Names) Unbind(ctx context.Context, name string) error {
	k, err := n.cell(name)
	if err != nil {
		return err
	}
	return n.c.DeleteSurely(ctx, k.path)
}

// Lookup returns the value of a name. Errors: ErrNoNode of package client if the name is free.
func (n *Names) Lookup(ctx context.Context, name string) (data []byte, err error) {
	k, err := n.cell(name)
	if err != nil {
		return nil, err
	}
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		data, _, err = n.c.Get(ctx, k.path)
		return err
	})
	return data, err
}

// Follow ranges over the values of a name: the current one, then every later one that it sees. While the name is
// free it yields a Value that does not exist. See SharedValue.Follow.
func (n *Names) Follow(ctx context.Context, name string) iter.Seq2[Value, error] {
	return NewSharedValue(n.c, paths.ChildOf(n.path, name)).Follow(ctx)
}

// List returns the names that have a value, sorted.
func (n *Names) List(ctx context.Context) (names []string, err error) {
	names, err = childrenOf(ctx, n.c, n.path)
	slices.Sort(names)
	return names, err
}
