package visible

import (
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
)

// MayAdmin reports whether the actor could change the permissions of a znode with this ACL.
func (a Actor) MayAdmin(acl []znodetext.ACL) bool {
	return auth.IsSuper(a.IDs) || slices.ContainsFunc(acl, func(e znodetext.ACL) bool {
		perms, _ := znodetext.ParsePerms(e.Perms)
		one := proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(e.Scheme), Id: proto.Text(e.ID)}}
		isOwn := e.Scheme == auth.SchemeAuth && len(a.IDs) > 0 // the server puts the actor's identities in its place
		return perms&proto.PermAdmin != 0 && (isOwn || auth.EntryAllows(&one, proto.PermAdmin, a.IDs))
	})
}

// MayRead reports whether ids may read a znode. REQUIRES: Store.Mu, at least for reading.
func (n *Shown) MayRead(id datatree.NodeID, ids []auth.Identity) bool {
	return n.Allows(n.Store.State.Node(id).ACL, proto.PermRead, ids)
}

// Readable returns a znode that ids may read. REQUIRES: Store.Mu, at least for reading.
func (n *Shown) Readable(path string, ids []auth.Identity) (datatree.NodeID, error) {
	id := n.Store.State.Lookup([]byte(path))
	switch {
	case id == 0:
		return 0, proto.ErrNoNode
	case !n.MayRead(id, ids):
		return 0, proto.ErrNoAuth
	}
	return id, nil
}

// maySee returns an error if a visitor may not list the children of a znode.
func (n *Shown) maySee(ids []auth.Identity, path string) error {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	id := n.Store.State.Lookup([]byte(path))
	if id == 0 {
		return proto.ErrNoNode
	}
	for ; id != 0; id = n.Store.State.Parent(id) {
		if !n.MayRead(id, ids) {
			return proto.ErrNoAuth
		}
	}
	return nil
}
