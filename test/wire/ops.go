package wire

import (
	"github.com/seed94657493/warren/proto"
)

// The typed operations: each sends one request, waits, and returns the error of the server as a
// proto.ErrCode or the failure of the connection.

func do[T any](c *Conn, req Request) (T, error) {
	var zero T
	reply, err := c.Do(req)
	if err != nil {
		return zero, err
	}
	if err := reply.Err(); err != nil {
		return zero, err
	}
	v, ok := reply.Value.(T)
	if !ok {
		return zero, violationf("%v: reply of type %T", req.Op, reply.Value)
	}
	return v, nil
}

func (c *Conn) run(req Request) error {
	reply, err := c.Do(req)
	if err != nil {
		return err
	}
	return reply.Err()
}

func stat(v *proto.StatResponse, err error) (proto.Stat, error) {
	if err != nil {
		return proto.Stat{}, err
	}
	return v.Stat, nil
}

// Create creates a znode that every client may use and returns its path.
func (c *Conn) Create(path string, data []byte, mode proto.CreateMode) (string, error) {
	v, err := do[*proto.CreateResponse](c, Create(path, data, OpenACL, mode))
	if err != nil {
		return "", err
	}
	return v.Path.String(), nil
}

// Create2 is Create with the Stat.
func (c *Conn) Create2(path string, data []byte, mode proto.CreateMode) (string, proto.Stat, error) {
	return c.create2(Create2(path, data, OpenACL, mode))
}

// CreateContainer creates a container.
func (c *Conn) CreateContainer(path string, data []byte) (string, proto.Stat, error) {
	return c.create2(CreateContainer(path, data, OpenACL))
}

// CreateTTL creates a znode that expires ttl ms after its last change.
func (c *Conn) CreateTTL(path string, data []byte, mode proto.CreateMode, ttl int64) (string, proto.Stat, error) {
	return c.create2(CreateTTL(path, data, OpenACL, mode, ttl))
}

func (c *Conn) create2(req Request) (string, proto.Stat, error) {
	v, err := do[*proto.Create2Response](c, req)
	if err != nil {
		return "", proto.Stat{}, err
	}
	return v.Path.String(), v.Stat, nil
}

// Delete deletes a znode.
func (c *Conn) Delete(path string, version int32) error { return c.run(Delete(path, version)) }

// SetData replaces data.
func (c *Conn) SetData(path string, data []byte, version int32) (proto.Stat, error) {
	return stat(do[*proto.StatResponse](c, SetData(path, data, version)))
}

// Exists returns the Stat.
func (c *Conn) Exists(path string, watch bool) (proto.Stat, error) {
	return stat(do[*proto.StatResponse](c, Exists(path, watch)))
}

// GetData returns data and Stat.
func (c *Conn) GetData(path string, watch bool) ([]byte, proto.Stat, error) {
	v, err := do[*proto.GetDataResponse](c, GetData(path, watch))
	if err != nil {
		return nil, proto.Stat{}, err
	}
	return v.Data, v.Stat, nil
}

// GetACL returns ACL and Stat.
func (c *Conn) GetACL(path string) ([]proto.ACL, proto.Stat, error) {
	v, err := do[*proto.GetACLResponse](c, GetACL(path))
	if err != nil {
		return nil, proto.Stat{}, err
	}
	return v.Acl, v.Stat, nil
}

// SetACL replaces the ACL.
func (c *Conn) SetACL(path string, acl []proto.ACL, version int32) (proto.Stat, error) {
	return stat(do[*proto.StatResponse](c, SetACL(path, acl, version)))
}

// Children returns the names of the children, as op 8 does.
func (c *Conn) Children(path string, watch bool) ([]string, error) {
	v, err := do[*proto.GetChildrenResponse](c, GetChildren(path, watch))
	if err != nil {
		return nil, err
	}
	return names(v.Children), nil
}

// Children2 returns the names of the children and the Stat, as op 12 does.
func (c *Conn) Children2(path string, watch bool) ([]string, proto.Stat, error) {
	v, err := do[*proto.GetChildren2Response](c, GetChildren2(path, watch))
	if err != nil {
		return nil, proto.Stat{}, err
	}
	return names(v.Children), v.Stat, nil
}

func names(list []proto.Text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.String()
	}
	return out
}

// Sync waits until the server has seen what was committed.
func (c *Conn) Sync(path string) error { return c.run(Sync(path)) }

// Ping keeps the session alive.
func (c *Conn) Ping() error { return c.run(Ping()) }

// Multi runs writes and checks, all or none, and returns every slot.
func (c *Conn) Multi(ops ...Request) ([]Slot, error) { return do[[]Slot](c, Multi(ops...)) }

// MultiRead runs reads and returns every slot.
func (c *Conn) MultiRead(ops ...Request) ([]Slot, error) { return do[[]Slot](c, MultiRead(ops...)) }

// Ephemerals returns the session's ephemerals below a prefix.
func (c *Conn) Ephemerals(prefix string) ([]string, error) {
	v, err := do[*proto.GetEphemeralsResponse](c, GetEphemerals(prefix))
	if err != nil {
		return nil, err
	}
	return names(v.Ephemerals), nil
}

// AllChildrenNumber counts descendants.
func (c *Conn) AllChildrenNumber(path string) (int32, error) {
	v, err := do[*proto.GetAllChildrenNumberResponse](c, GetAllChildrenNumber(path))
	if err != nil {
		return 0, err
	}
	return v.TotalNumber, nil
}

// Auth adds an identity.
func (c *Conn) Auth(scheme, auth string) error { return c.run(Auth(scheme, []byte(auth))) }

// AddWatch registers a persistent watch.
func (c *Conn) AddWatch(path string, mode int32) error { return c.run(AddWatch(path, mode)) }

// SetWatches registers one-shot watches again.
func (c *Conn) SetWatches(relative proto.Zxid, data, exist, child []string) error {
	return c.run(SetWatches(relative, data, exist, child))
}

// CloseSession ends the session, waits for the reply and for the server's close.
func (c *Conn) CloseSession() error {
	if err := c.run(CloseSession()); err != nil {
		return err
	}
	err := c.WaitClosed()
	c.nc.Close()
	return err
}
