package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// CreateOption refines a create.
type CreateOption func(*request)

// WithACL sets the permissions of the znode, overriding OpenACL.
func WithACL(acl ...ACL) CreateOption { return func(r *request) { r.acl = acl } }

// WithTTL sets how long the znode lives without children and without being written: 1 ms to about 34 years.
// PersistentTTL and PersistentSequentialTTL require it, and no other mode allows it. The server must have enabled
// them (extendedTypesEnabled).
func WithTTL(d time.Duration) CreateOption { return func(r *request) { r.ttlMs = d.Milliseconds() } }

// WithProtectionID sets the id by which CreateProtected recognises its znode, overriding a random UUID. It must
// be different for every znode, not empty, and contain no slash.
func WithProtectionID(id string) CreateOption { return func(r *request) { r.protection = id } }

// openACL is the ACL of a create without an ACL; it is never written.
var openACL = OpenACL()

// Create makes a znode and returns its path, which for sequential modes has a suffix of ten digits. Errors:
// ErrNodeExists, ErrNoNode (no parent), ErrNoChildrenForEphemerals, ErrNoAuth, ErrInvalidACL, ErrBadArguments,
// ErrQuotaExceeded.
func (c *Client) Create(
	ctx context.Context, path string, data []byte, mode Mode, options ...CreateOption,
) (string, error) {
	created, _, err := c.CreateStat(ctx, path, data, mode, options...)
	return created, err
}

// CreateStat is Create that also returns the znode's Stat, whose Czxid is a fencing token.
func (c *Client) CreateStat(
	ctx context.Context, path string, data []byte, mode Mode, options ...CreateOption,
) (string, Stat, error) {
	cl, err := c.createCall(path, data, mode, options)
	created, err := await(ctx, c, cl, err, readCreated)
	return created.Path, created.Stat, err
}

func (c *Client) createCall(path string, data []byte, mode Mode, options []CreateOption) (*call, error) {
	cl := c.newCall(proto.OpCreate2, path)
	cl.data, cl.mode, cl.acl = data, mode, openACL
	for _, o := range options {
		o(&cl.request)
	}
	if err := checkCreate(&cl.request); err != nil {
		cl.release()
		return nil, invalid(proto.OpCreate2, path, err)
	}
	return cl, nil
}

// checkCreate validates a create and chooses its operation. Source: client-protocol 8.2.
func checkCreate(r *request) error {
	switch {
	case !r.mode.Valid():
		return fmt.Errorf("mode %d: %w", r.mode, ErrBadArguments)
	case r.mode.IsTTL() && (r.ttlMs < 1 || r.ttlMs > proto.MaxTTL):
		return fmt.Errorf("time to live of %d ms: %w", r.ttlMs, ErrBadArguments)
	case !r.mode.IsTTL() && r.ttlMs != 0:
		return fmt.Errorf("time to live for a mode without: %w", ErrBadArguments)
	case r.mode.IsTTL():
		r.op = proto.OpCreateTTL
	case r.mode == Container:
		r.op = proto.OpCreateContainer
	}
	return checkPath(r.path, r.mode.IsSequential())
}

// CreateAll creates a persistent znode and its missing ancestors. It succeeds if they exist already.
func (c *Client) CreateAll(ctx context.Context, path string, options ...CreateOption) error {
	_, err := c.Create(ctx, path, nil, Persistent, options...)
	if errors.Is(err, ErrNoNode) && path != "/" {
		if err := c.CreateAll(ctx, paths.ParentOf(path), options...); err != nil {
			return err
		}
		_, err = c.Create(ctx, path, nil, Persistent, options...)
	}
	exists := errors.Is(err, ErrNodeExists)
	if errors.Is(err, ErrNoAuth) { // to create in the parent, whether or not the znode exists
		_, exists, _ = c.Exists(ctx, path)
	}
	if exists {
		return nil
	}
	return err
}
