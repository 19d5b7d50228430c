package client

import (
	"context"
	"errors"

	"github.com/seed94657493/warren/proto"
)

// isCode reports whether err is a given answer of a server.
func isCode(err error, code proto.ErrCode) bool { return errors.Is(err, code) }

// pathCall prepares a call that names a znode.
func (c *Client) pathCall(op proto.OpCode, path string) (*call, error) {
	if err := checkPath(path, false); err != nil {
		return nil, invalid(op, path, err)
	}
	return c.newCall(op, path), nil
}

// Get returns the data and the Stat of a znode. Data is nil if the znode has none. Errors: ErrNoNode, ErrNoAuth.
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	cl, err := c.pathCall(proto.OpGetData, path)
	if err != nil {
		return nil, Stat{}, err
	}
	return c.doData(ctx, cl)
}

func (c *Client) doData(ctx context.Context, cl *call) ([]byte, Stat, error) {
	if err := c.do(ctx, cl); err != nil {
		return nil, Stat{}, err
	}
	data, stat := cl.body, cl.stat
	cl.release()
	return data, stat, nil
}

// Exists reports whether there is a znode, and its Stat. Errors: ErrNoAuth.
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	cl, err := c.pathCall(proto.OpExists, path)
	if err != nil {
		return Stat{}, false, err
	}
	stat, err := c.doStat(ctx, cl)
	if isCode(err, ErrNoNode) {
		return Stat{}, false, nil
	}
	return stat, err == nil, err
}

// Children returns the names of a znode's children, in no defined order, and its Stat. The names share memory.
// Errors: ErrNoNode, ErrNoAuth.
func (c *Client) Children(ctx context.Context, path string) ([]string, Stat, error) {
	cl, err := c.pathCall(proto.OpGetChildren2, path)
	if err != nil {
		return nil, Stat{}, err
	}
	return c.doChildren(ctx, cl)
}

func (c *Client) doChildren(ctx context.Context, cl *call) ([]string, Stat, error) {
	if err := c.do(ctx, cl); err != nil {
		return nil, Stat{}, err
	}
	names, stat := cl.names, cl.stat
	cl.release()
	return names, stat, nil
}

// CountDescendants returns how many znodes are below a znode, at all depths. Servers since 3.6. Errors:
// ErrNoNode, ErrNoAuth, ErrUnimplemented.
func (c *Client) CountDescendants(ctx context.Context, path string) (int, error) {
	cl, err := c.pathCall(proto.OpGetAllChildrenNumber, path)
	if err == nil {
		err = c.do(ctx, cl)
	}
	if err != nil {
		return 0, err
	}
	n := int(cl.count)
	cl.release()
	return n, nil
}

// Set replaces the data of a znode if its version is the expected one, and returns the new Stat. Errors:
// ErrNoNode, ErrBadVersion, ErrNoAuth, ErrQuotaExceeded.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	cl, err := c.pathCall(proto.OpSetData, path)
	if err != nil {
		return Stat{}, err
	}
	cl.data, cl.version = data, version
	return c.doStat(ctx, cl)
}

func (c *Client) doStat(ctx context.Context, cl *call) (Stat, error) {
	if err := c.do(ctx, cl); err != nil {
		return Stat{}, err
	}
	stat := cl.stat
	cl.release()
	return stat, nil
}

// doEmpty runs an operation whose reply has no body.
func (c *Client) doEmpty(ctx context.Context, cl *call) error {
	err := c.do(ctx, cl)
	if err == nil {
		cl.release()
	}
	return err
}

// Delete deletes a znode without children if its version is the expected one. Errors: ErrNoNode, ErrBadVersion,
// ErrNotEmpty, ErrNoAuth.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	cl, err := c.pathCall(proto.OpDelete, path)
	if err != nil {
		return err
	}
	cl.version = version
	return c.doEmpty(ctx, cl)
}

// GetACL returns the ACL of a znode and its Stat. Without PermAdmin the hashes of digests are hidden. Errors:
// ErrNoNode, ErrNoAuth.
func (c *Client) GetACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	cl, err := c.pathCall(proto.OpGetACL, path)
	if err == nil {
		err = c.do(ctx, cl)
	}
	if err != nil {
		return nil, Stat{}, err
	}
	acl, stat := cl.acls, cl.stat
	cl.release()
	return acl, stat, nil
}

// SetACL replaces the ACL of a znode if the version of its ACL (Stat.Aversion) is the expected one. Errors:
// ErrNoNode, ErrBadVersion, ErrNoAuth, ErrInvalidACL.
func (c *Client) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	cl, err := c.pathCall(proto.OpSetACL, path)
	if err != nil {
		return Stat{}, err
	}
	cl.acl, cl.version = acl, version
	return c.doStat(ctx, cl)
}

// Sync waits until the server has applied every write that was committed when Sync was called, so that later
// reads of this session show them. Servers ignore the path; a chroot is allowed.
func (c *Client) Sync(ctx context.Context, path string) error {
	cl, err := c.pathCall(proto.OpSync, path)
	if err != nil {
		return err
	}
	return c.doEmpty(ctx, cl)
}

// Ephemerals returns the ephemerals of this session whose paths begin with a prefix; "/" means all. Servers since
// 3.6.
func (c *Client) Ephemerals(ctx context.Context, prefix string) ([]string, error) {
	cl := c.newCall(proto.OpGetEphemerals, prefix)
	if err := c.do(ctx, cl); err != nil {
		return nil, err
	}
	names := cl.names
	cl.release()
	return names, nil
}

// Identity is one identity of a connection.
type Identity struct{ Scheme, User string }

// WhoAmI returns the identities that this connection has at the server, always including that of scheme ip.
// Servers since 3.7.
func (c *Client) WhoAmI(ctx context.Context) ([]Identity, error) {
	cl := c.newCall(proto.OpWhoAmI, "")
	if err := c.do(ctx, cl); err != nil {
		return nil, err
	}
	var resp proto.WhoAmIResponse
	err := resp.ReadFrom(cl.body)
	cl.release()
	if err != nil {
		return nil, invalid(proto.OpWhoAmI, "", errors.Join(ErrProtocol, err))
	}
	ids := make([]Identity, len(resp.ClientInfo))
	for i, info := range resp.ClientInfo {
		ids[i] = Identity{info.AuthScheme.String(), info.User.String()}
	}
	return ids, nil
}
