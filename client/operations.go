package client

import (
	"context"
	"errors"

	"github.com/seed94657493/warren/proto"
)

// pathCall prepares a call that names a znode.
func (c *Client) pathCall(op proto.OpCode, path string) (*call, error) {
	if err := checkPath(path, false); err != nil {
		return nil, invalid(op, path, err)
	}
	return c.newCall(op, path), nil
}

// versionCall is pathCall for an operation that expects a version.
func (c *Client) versionCall(op proto.OpCode, path string, version int32) (*call, error) {
	cl, err := c.pathCall(op, path)
	if err == nil {
		cl.version = version
	}
	return cl, err
}

// Get returns the data and the Stat of a znode. Data is nil if the znode has none. Errors: ErrNoNode, ErrNoAuth.
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	cl, err := c.pathCall(proto.OpGetData, path)
	got, err := await(ctx, c, cl, err, readData)
	return got.Data, got.Stat, err
}

// Exists reports whether there is a znode, and its Stat. Errors: ErrNoAuth.
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	cl, err := c.pathCall(proto.OpExists, path)
	stat, err := await(ctx, c, cl, err, readStat)
	if errors.Is(err, ErrNoNode) {
		return Stat{}, false, nil
	}
	return stat, err == nil, err
}

// Children returns the names of a znode's children, in no defined order, and its Stat. The names share memory.
// Errors: ErrNoNode, ErrNoAuth.
func (c *Client) Children(ctx context.Context, path string) ([]string, Stat, error) {
	cl, err := c.pathCall(proto.OpGetChildren2, path)
	got, err := await(ctx, c, cl, err, readChildren)
	return got.Names, got.Stat, err
}

// CountDescendants returns how many znodes are below a znode, at all depths. Servers since 3.6. Errors:
// ErrNoNode, ErrNoAuth, ErrUnimplemented.
func (c *Client) CountDescendants(ctx context.Context, path string) (int, error) {
	cl, err := c.pathCall(proto.OpGetAllChildrenNumber, path)
	return await(ctx, c, cl, err, func(cl *call) (int, error) { return int(cl.count), nil })
}

// Set replaces the data of a znode if its version is the expected one, and returns the new Stat. Errors:
// ErrNoNode, ErrBadVersion, ErrNoAuth, ErrQuotaExceeded.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	cl, err := c.setCall(path, data, version)
	return await(ctx, c, cl, err, readStat)
}

func (c *Client) setCall(path string, data []byte, version int32) (*call, error) {
	cl, err := c.versionCall(proto.OpSetData, path, version)
	if err == nil {
		cl.data = data
	}
	return cl, err
}

// Delete deletes a znode without children if its version is the expected one. Errors: ErrNoNode, ErrBadVersion,
// ErrNotEmpty, ErrNoAuth.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	cl, err := c.versionCall(proto.OpDelete, path, version)
	_, err = await(ctx, c, cl, err, readNothing)
	return err
}

// GetACL returns the ACL of a znode and its Stat. Without PermAdmin the hashes of digests are hidden. Errors:
// ErrNoNode, ErrNoAuth.
func (c *Client) GetACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	cl, err := c.pathCall(proto.OpGetACL, path)
	var acl []ACL
	stat, err := await(ctx, c, cl, err, func(cl *call) (Stat, error) {
		acl = cl.acls
		return cl.stat, nil
	})
	return acl, stat, err
}

// SetACL replaces the ACL of a znode if the version of its ACL (Stat.Aversion) is the expected one. Errors:
// ErrNoNode, ErrBadVersion, ErrNoAuth, ErrInvalidACL.
func (c *Client) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	cl, err := c.versionCall(proto.OpSetACL, path, version)
	if err == nil {
		cl.acl = acl
	}
	return await(ctx, c, cl, err, readStat)
}

// Sync waits until the server has applied every write that was committed when Sync was called, so that later
// reads of this session show them. Servers ignore the path; a chroot is allowed.
func (c *Client) Sync(ctx context.Context, path string) error {
	cl, err := c.pathCall(proto.OpSync, path)
	_, err = await(ctx, c, cl, err, readNothing)
	return err
}

// Ephemerals returns the ephemerals of this session whose paths begin with a prefix; "/" means all. Servers since
// 3.6.
func (c *Client) Ephemerals(ctx context.Context, prefix string) ([]string, error) {
	got, err := await(ctx, c, c.newCall(proto.OpGetEphemerals, prefix), nil, readChildren)
	return got.Names, err
}

// Identity is one identity of a connection.
type Identity struct{ Scheme, User string }

// WhoAmI returns the identities that this connection has at the server, always including that of scheme ip.
// Servers since 3.7.
func (c *Client) WhoAmI(ctx context.Context) ([]Identity, error) {
	return await(ctx, c, c.newCall(proto.OpWhoAmI, ""), nil, readIdentities)
}

func readIdentities(cl *call) ([]Identity, error) {
	var resp proto.WhoAmIResponse
	if err := resp.ReadFrom(cl.body); err != nil {
		return nil, invalid(proto.OpWhoAmI, "", errors.Join(ErrProtocol, err))
	}
	ids := make([]Identity, len(resp.ClientInfo))
	for i, info := range resp.ClientInfo {
		ids[i] = Identity{info.AuthScheme.String(), info.User.String()}
	}
	return ids, nil
}
