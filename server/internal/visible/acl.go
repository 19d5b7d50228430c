package visible

import (
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// ACL is one entry of an ACL.
type ACL struct {
	Scheme string `json:"scheme" doc:"world, auth, digest, ip, sasl or x509"`
	ID     string `json:"id" doc:"identity within the scheme; a hash is shown to visitors with the permission admin only"`
	Perms  string `json:"perms" doc:"letters of create, delete, read, write, admin: cdrwa"`
}

// letters are the permissions in the order in which clients write them.
var letters = []struct {
	letter byte
	perm   int32
}{{'c', proto.PermCreate}, {'d', proto.PermDelete}, {'r', proto.PermRead}, {'w', proto.PermWrite},
	{'a', proto.PermAdmin}}

// permText spells permissions as clients do, such as cdrwa.
func permText(perms int32) string {
	var b strings.Builder
	for _, l := range letters {
		if perms&l.perm != 0 {
			b.WriteByte(l.letter)
		}
	}
	return b.String()
}

// Perms reads permissions that permText has written. ok is false for another letter, or a letter twice.
func Perms(text string) (perms int32, ok bool) {
	for i := range len(text) {
		found := false
		for _, l := range letters {
			if l.letter == text[i] && perms&l.perm == 0 {
				perms |= l.perm
				found = true
			}
		}
		if !found {
			return 0, false
		}
	}
	return perms, true
}

// MayAdmin reports whether the actor could change the permissions of a znode with this ACL.
func (a Actor) MayAdmin(acl []ACL) bool {
	return auth.IsSuper(a.IDs) || slices.ContainsFunc(acl, func(e ACL) bool {
		perms, ok := Perms(e.Perms)
		one := proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(e.Scheme), Id: proto.Text(e.ID)}}
		isOwn := e.Scheme == auth.SchemeAuth && len(a.IDs) > 0 // the server puts the actor's identities in its place
		return ok && perms&proto.PermAdmin != 0 && (isOwn || auth.EntryAllows(&one, proto.PermAdmin, a.IDs))
	})
}

// ShownACL is an ACL as visitors see it.
func ShownACL(list []proto.ACL) []ACL {
	shown := make([]ACL, 0, len(list))
	for _, e := range list {
		shown = append(shown, ACL{Scheme: e.Id.Scheme.String(), ID: e.Id.Id.String(), Perms: permText(e.Perms)})
	}
	return shown
}

// MayRead reports whether ids may read a znode. REQUIRES: Store.Mu, at least for reading.
func (n *Shown) MayRead(id datatree.NodeID, ids []auth.Identity) bool {
	return n.Allows(n.Store.State.Node(id).ACL, proto.PermRead, ids)
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
