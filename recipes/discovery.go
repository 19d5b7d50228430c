package recipes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// Discovery is a register of services and of the instances that provide them.
//
//	/base/web/7f0c...    ephemeral; an instance of the service web, as JSON
//	/base/web/91aa...
//	/base/mail/03de...
//
// Guarantee: the same as Group's. An instance that died is listed until its session expires, and a listed instance may
// fail: its user then tries another one (see Provider.NoteError). An instance that is cut off goes on although it is
// no longer listed. The layout is that of Curator's x-discovery. A Discovery has no state and may be used
// concurrently. Source: operations 9.2.
type Discovery struct {
	c    *client.Client
	base string
	options
}

// NewDiscovery returns the register at a path.
func NewDiscovery(c *client.Client, base string, options ...Option) *Discovery {
	return &Discovery{c, base, newOptions(options)}
}

func (d *Discovery) cell(name, id string) (*cell, error) {
	if name == "" || id == "" || strings.Contains(name, "/") || strings.Contains(id, "/") {
		return nil, client.ErrBadArguments
	}
	return &cell{d.c, paths.ChildOf(paths.ChildOf(d.base, name), id), d.options}, nil
}

// Registration is a registered instance.
type Registration struct {
	Instance Instance // with its id and time
	cell     *cell
	node     *PersistentNode // nil unless it is dynamic
	isGone   atomic.Bool     // Close has succeeded
}

// Register lists an instance and waits until it is listed. How long it stays listed depends on its type. A
// dynamic instance is also listed under a new session if the client opens one (client.WithRenewal). If another
// session has an instance with the same id and both are dynamic, Register waits for the end of that one.
func (d *Discovery) Register(ctx context.Context, s Instance) (*Registration, error) {
	if s.ID == "" {
		s.ID = newID()
	}
	if s.RegisteredAt.IsZero() {
		s.RegisteredAt = time.Now()
	}
	s.Type = cmp.Or(s.Type, Dynamic)
	k, err := d.cell(s.Name, s.ID)
	if err == nil && s.Type != Dynamic && s.Type != Static && s.Type != Permanent {
		err = client.ErrBadArguments
	}
	var data []byte
	if err == nil {
		data, err = s.encode()
	}
	if err != nil {
		return nil, err
	}
	r := &Registration{Instance: s, cell: k}
	if s.Type != Dynamic {
		_, err = k.put(ctx, data)
		return r, err
	}
	if r.node, err = openNode(ctx, d.c, k.path, data, WithACL(d.acl...)); err != nil {
		return nil, err
	}
	return r, nil
}

// Update changes the description of the instance, except name, id, type and time. It waits for static and
// permanent instances only.
func (r *Registration) Update(ctx context.Context, s Instance) error {
	s.Name, s.ID, s.Type, s.RegisteredAt = r.Instance.Name, r.Instance.ID, r.Instance.Type, r.Instance.RegisteredAt
	data, err := s.encode()
	if err != nil {
		return err
	}
	if r.node != nil {
		r.node.Set(data)
		return nil
	}
	_, err = r.cell.put(ctx, data)
	return err
}

// Err returns why a dynamic instance is no longer listed; nil while it is, and after Close.
func (r *Registration) Err() error {
	if r.node == nil {
		return nil
	}
	return r.node.Err()
}

// Close removes the instance from the list, unless it is permanent. After it has succeeded a further Close does
// nothing.
func (r *Registration) Close(ctx context.Context) error {
	switch {
	case r.node != nil:
		return r.node.Close(ctx)
	case r.Instance.Type == Permanent || r.isGone.Load():
		return nil
	}
	err := r.cell.c.DeleteSurely(ctx, r.cell.path)
	r.isGone.Store(err == nil)
	return err
}

// Unregister removes an instance of any type from the list, even one of another process; a dynamic one comes back if
// its process lives. It succeeds if the instance is not listed.
func (d *Discovery) Unregister(ctx context.Context, name, id string) error {
	k, err := d.cell(name, id)
	if err != nil {
		return err
	}
	return d.c.DeleteSurely(ctx, k.path)
}

// Services returns the names of services that have or had instances, sorted.
func (d *Discovery) Services(ctx context.Context) ([]string, error) { return d.list(ctx, d.base) }

func (d *Discovery) list(ctx context.Context, path string) ([]string, error) {
	names, err := childrenOf(ctx, d.c, path)
	slices.Sort(names)
	return names, err
}

// Instances returns the instances of a service, sorted by their znodes. A znode that is not an instance is left out.
func (d *Discovery) Instances(ctx context.Context, name string) ([]Instance, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, client.ErrBadArguments
	}
	path := paths.ChildOf(d.base, name)
	ids, err := d.list(ctx, path)
	if err != nil {
		return nil, err
	}
	var all []Instance
	for _, id := range ids {
		n, err := read(ctx, d.c, paths.ChildOf(path, id))
		if err != nil {
			return nil, err
		}
		if s, err := decodeInstance(n.Data); n.Exists && err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}
