package zk

import (
	"strings"

	"github.com/seed94657493/warren/client"
)

// Set replaces the data of a znode that has the version, -1 for any, and returns its new Stat.
func (c *Conn) Set(path string, data []byte, version int32) (*Stat, error) {
	if err := checkPath(path, false); err != nil {
		return nil, err
	}
	return outcome(c.client.Set(c.wait(), path, data, version))
}

// SetACL replaces the ACL of a znode whose ACL has the version, -1 for any, and returns its new Stat.
func (c *Conn) SetACL(path string, acl []ACL, version int32) (*Stat, error) {
	if err := checkPath(path, false); err != nil {
		return nil, err
	}
	return outcome(c.client.SetACL(c.wait(), path, acl, version))
}

// Delete deletes a znode without children that has the version, -1 for any.
func (c *Conn) Delete(path string, version int32) error {
	if err := checkPath(path, false); err != nil {
		return err
	}
	return failure(c.client.Delete(c.wait(), path, version))
}

// IncrementalReconfig adds and removes servers if the configuration has the version, -1 for any, and returns the
// Stat of the znode of the configuration. Joining servers are given as in the configuration file, leaving ones by
// id.
func (c *Conn) IncrementalReconfig(joining, leaving []string, version int64) (*Stat, error) {
	return c.reconfig(client.Reconfig{Join: strings.Join(joining, ","), Leave: strings.Join(leaving, ","),
		FromVersion: version})
}

// Reconfig replaces the servers of the ensemble if the configuration has the version, -1 for any, and returns the
// Stat of the znode of the configuration.
func (c *Conn) Reconfig(members []string, version int64) (*Stat, error) {
	return c.reconfig(client.Reconfig{Members: strings.Join(members, ","), FromVersion: version})
}

func (c *Conn) reconfig(r client.Reconfig) (*Stat, error) {
	_, stat, err := c.client.Reconfig(c.wait(), r)
	if err != nil {
		return new(Stat), failure(err)
	}
	return statOf(&stat), nil
}
