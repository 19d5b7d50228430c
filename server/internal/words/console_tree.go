package words

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/api"
)

// What the console shows of the tree. Store.Mu is held for reading for a page, or a step of a search, at a time.

// Znode implements api.Server. Errors are those of getData and getACL.
func (n shown) Znode(a api.Actor, path string, most int) (*api.Znode, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	var body, acl []byte
	var err proto.ErrCode
	n.Store.Mu.RLock()
	if body, err = n.Store.State.ReadData(nil, []byte(path), a.IDs); err == proto.OK {
		acl, err = n.Store.State.ReadACL(nil, []byte(path), a.IDs)
	}
	n.Store.Mu.RUnlock()
	if err != proto.OK {
		return nil, err
	}
	var data proto.GetDataResponse
	var list proto.GetACLResponse
	if data.ReadFrom(body) != nil || list.ReadFrom(acl) != nil {
		return nil, proto.ErrMarshallingError // cannot happen: both were just written
	}
	z := &api.Znode{Path: path, Stat: n.stat(&data.Stat), Raw: data.Data, Whole: true, ACL: []api.ACL{}}
	if len(z.Raw) > most {
		z.Raw, z.Whole = z.Raw[:most], false
	}
	for _, e := range list.Acl {
		z.ACL = append(z.ACL,
			api.ACL{Scheme: e.Id.Scheme.String(), ID: e.Id.Id.String(), Perms: api.PermText(e.Perms)})
	}
	return z, nil
}

func (n shown) stat(st *proto.Stat) api.Stat {
	return api.Stat{Czxid: st.Czxid.String(), Mzxid: st.Mzxid.String(), Pzxid: st.Pzxid.String(), Created: st.Ctime,
		Modified: st.Mtime, Version: st.Version, Cversion: st.Cversion, Aversion: st.Aversion, Owner: n.owner(st),
		DataLength: st.DataLength, NumChildren: st.NumChildren}
}

// owner names the session of an ephemeral znode.
func (n shown) owner(st *proto.Stat) string {
	if st.EphemeralOwner == 0 {
		return ""
	}
	return n.front.Label(st.EphemeralOwner)
}

// allows reports whether ids may read a znode. REQUIRES: Store.Mu, at least for reading.
func (n shown) allows(id datatree.NodeID, ids []auth.Identity) bool {
	return n.Allows(n.Store.State.Node(id).ACL, proto.PermRead, ids)
}

// Children implements api.Server. The children of a znode with few of them are in the order of their names. Those of
// a wide one are in the order of their creation, so that a page costs the same however many there are.
func (n shown) Children(a api.Actor, path, after string, limit int) (*api.Children, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	parent := state.Lookup([]byte(path))
	switch {
	case parent == 0:
		return nil, proto.ErrNoNode
	case !n.allows(parent, a.IDs):
		return nil, proto.ErrNoAuth
	}
	page := &api.Children{Path: path, Total: state.Node(parent).NumChildren, Order: "name", Children: []api.Child{}}
	var ids []datatree.NodeID
	if page.Total < datatree.WideChildren {
		ids = n.namedAfter(parent, after)
	} else {
		page.Order = "creation"
		first := state.FirstChild(parent)
		if after != "" {
			last := state.Child(parent, []byte(after))
			if last == 0 {
				return nil, api.ErrGone
			}
			first = state.NextSibling(last)
		}
		for id := first; id != 0 && len(ids) <= limit; id = state.NextSibling(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > limit {
		ids = ids[:limit]
		page.After = string(state.Name(ids[limit-1]))
	}
	for _, id := range ids {
		page.Children = append(page.Children, n.child(id, a.IDs))
	}
	return page, nil
}

// namedAfter returns the children of a znode whose names are greater, in their order. REQUIRES: Store.Mu, and a znode
// that is not wide.
func (n shown) namedAfter(parent datatree.NodeID, after string) (ids []datatree.NodeID) {
	state := n.Store.State
	state.EachChild(parent, func(id datatree.NodeID) bool {
		if string(state.Name(id)) > after {
			ids = append(ids, id)
		}
		return true
	})
	slices.SortFunc(ids, func(a, b datatree.NodeID) int { return bytes.Compare(state.Name(a), state.Name(b)) })
	return ids
}

// child describes a child. REQUIRES: Store.Mu, at least for reading.
func (n shown) child(id datatree.NodeID, ids []auth.Identity) api.Child {
	c := api.Child{Name: string(n.Store.State.Name(id))}
	if c.Readable = n.allows(id, ids); c.Readable {
		st := n.Store.State.Stat(id)
		c.Children, c.Bytes, c.Modified, c.Version, c.Owner = st.NumChildren, st.DataLength, st.Mtime,
			st.Version, n.owner(&st)
	}
	return c
}

// ephemerals returns how many ephemerals a session has, and the first of those that a visitor could find by reading
// from the root on. REQUIRES: Store.Mu, at least for reading.
func (n shown) ephemerals(session proto.SessionID, ids []auth.Identity) (count int, paths []string) {
	state := n.Store.State
	paths = []string{}
	count = state.FirstEphemerals(session, pathsShown, func(id datatree.NodeID) {
		for up := state.Parent(id); up != 0; up = state.Parent(up) {
			if !n.allows(up, ids) {
				return
			}
		}
		paths = append(paths, string(state.AppendPath(nil, id)))
	})
	return count, paths
}

// Search implements api.Server.
func (n shown) Search(a api.Actor, q api.Query) (*api.Found, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	found := &api.Found{Paths: []string{}}
	w := newWalk(n, a.IDs, q.Under, q.After)
	w.full = func() bool { return len(found.Paths) >= q.Limit }
	w.see = func(id datatree.NodeID) {
		state := n.Store.State
		if q.Prefix != "" {
			if bytes.HasPrefix(state.Name(id), []byte(q.Prefix)) {
				found.Paths = append(found.Paths, string(state.AppendPath(nil, id)))
			}
			return
		}
		if path := state.AppendPath(nil, id); strings.Contains(string(path[w.base:]), q.Contains) {
			found.Paths = append(found.Paths, string(path))
		}
	}
	err := w.run()
	found.Visited, found.After, found.Missed = w.visited, w.after, w.missed
	return found, err
}
