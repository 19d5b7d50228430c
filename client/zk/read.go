package zk

import "github.com/seed94657493/warren/client"

// outcome returns the Stat and the error of an operation.
func outcome(stat client.Stat, err error) (*Stat, error) {
	switch err = failure(err); err {
	case nil:
		return statOf(&stat), nil
	case ErrConnectionClosed:
		return nil, err
	}
	return new(Stat), err
}

// Get returns the data and the Stat of a znode.
func (c *Conn) Get(path string) ([]byte, *Stat, error) {
	if err := checkPath(path, false); err != nil {
		return nil, nil, err
	}
	data, found, err := c.client.Get(c.wait(), path)
	stat, err := outcome(found, err)
	return data, stat, err
}

// GetW is Get that also sets a watch on the data, whose one event comes through the channel.
func (c *Conn) GetW(path string) ([]byte, *Stat, <-chan Event, error) {
	if err := checkPath(path, false); err != nil {
		return nil, nil, nil, err
	}
	ch := make(watchChannel, 1)
	data, stat, _, err := c.client.GetW(c.wait(), path, ch)
	if err != nil {
		return nil, nil, nil, failure(err)
	}
	return data, statOf(&stat), ch, nil
}

// Exists reports whether there is a znode, and its Stat, which is zero if there is none.
func (c *Conn) Exists(path string) (bool, *Stat, error) {
	if err := checkPath(path, false); err != nil {
		return false, nil, err
	}
	found, exists, err := c.client.Exists(c.wait(), path)
	stat, err := outcome(found, err)
	return exists, stat, err
}

// ExistsW is Exists that also sets a watch, on the znode or on its creation, whose one event comes through the
// channel.
func (c *Conn) ExistsW(path string) (bool, *Stat, <-chan Event, error) {
	if err := checkPath(path, false); err != nil {
		return false, nil, nil, err
	}
	ch := make(watchChannel, 1)
	stat, exists, _, err := c.client.ExistsW(c.wait(), path, ch)
	if err != nil {
		return false, nil, nil, failure(err)
	}
	return exists, statOf(&stat), ch, nil
}

// Children returns the names of a znode's children and its Stat.
func (c *Conn) Children(path string) ([]string, *Stat, error) {
	if err := checkPath(path, false); err != nil {
		return nil, nil, err
	}
	children, found, err := c.client.Children(c.wait(), path)
	stat, err := outcome(found, err)
	return listed(children, err), stat, err
}

// ChildrenW is Children that also sets a watch on the list, whose one event comes through the channel.
func (c *Conn) ChildrenW(path string) ([]string, *Stat, <-chan Event, error) {
	if err := checkPath(path, false); err != nil {
		return nil, nil, nil, err
	}
	ch := make(watchChannel, 1)
	children, stat, _, err := c.client.ChildrenW(c.wait(), path, ch)
	if err != nil {
		return nil, nil, nil, failure(err)
	}
	return listed(children, nil), statOf(&stat), ch, nil
}

// listed turns a nil list into an empty one, unless there is an error.
func listed[T any](list []T, err error) []T {
	if list == nil && err == nil {
		return []T{}
	}
	return list
}

// GetACL returns the ACL of a znode and its Stat.
func (c *Conn) GetACL(path string) ([]ACL, *Stat, error) {
	if err := checkPath(path, false); err != nil {
		return nil, nil, err
	}
	acl, found, err := c.client.GetACL(c.wait(), path)
	stat, err := outcome(found, err)
	return listed(acl, err), stat, err
}

// Sync waits until the server has applied every write that was committed when Sync was called. It returns the path.
func (c *Conn) Sync(path string) (string, error) {
	if err := checkPath(path, false); err != nil {
		return "", err
	}
	if err := c.client.Sync(c.wait(), path); err != nil {
		return "", failure(err)
	}
	return path, nil
}
