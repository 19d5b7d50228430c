package client

import (
	"context"

	"github.com/seed94657493/warren/proto"
)

// ConfigPath is the znode that holds the configuration of the ensemble. It is not subject to a chroot.
const ConfigPath = "/zookeeper/config"

// AnyConfig as Reconfig.FromVersion accepts any current configuration.
const AnyConfig int64 = -1

// Reconfig describes a change of the ensemble: either Members, the whole new list, or Join and Leave.
type Reconfig struct {
	Join        string // "server.5=host:2888:3888;2181,...", as in the dynamic configuration file
	Leave       string // ids, "3,4"
	Members     string // all servers, in the form of Join
	FromVersion int64  // configuration that must be current, AnyConfig for any
}

// Config returns the configuration of the ensemble in the form of its file, and the znode's Stat.
func (c *Client) Config(ctx context.Context) ([]byte, Stat, error) {
	cl := c.newCall(proto.OpGetData, ConfigPath)
	cl.chroot = ""
	got, err := await(ctx, c, cl, nil, readData)
	return got.Data, got.Stat, err
}

// Reconfig changes the ensemble and returns the new configuration. Errors: ErrReconfigDisabled,
// ErrReconfigInProgress, ErrNewConfigNoQuorum, ErrBadVersion, ErrBadArguments, ErrNoAuth, ErrUnimplemented (a
// standalone server).
func (c *Client) Reconfig(ctx context.Context, r Reconfig) ([]byte, Stat, error) {
	req := proto.ReconfigRequest{JoiningServers: orNull(r.Join), LeavingServers: orNull(r.Leave),
		NewMembers: orNull(r.Members), CurConfigID: r.FromVersion}
	cl := c.newCall(proto.OpReconfig, "")
	cl.data = req.AppendTo(nil)
	got, err := await(ctx, c, cl, nil, readData)
	return got.Data, got.Stat, err
}

func orNull(s string) proto.Text {
	if s == "" {
		return nil
	}
	return proto.Text(s)
}
