package facts

import (
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// ownsRoot reports whether ids may fetch and replace the whole tree, with the znodes that they may not read. A super
// user may, and identities to which entries of the root's ACL together give every permission. Entries for the world
// do not count, since the root of a new server is open to the world.
func (f *Facts) ownsRoot(ids []auth.Identity) bool {
	if auth.IsSuper(ids) {
		return true
	}
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	list := f.Store.State.ACLs().List(f.Store.State.Node(datatree.Root).ACL)
	for _, perm := range everyPerm {
		if !slices.ContainsFunc(list, func(e proto.ACL) bool {
			return e.Id.Scheme.String() != auth.SchemeWorld && auth.EntryAllows(&e, perm, ids)
		}) {
			return false
		}
	}
	return true
}

// everyPerm holds every permission.
var everyPerm = []int32{proto.PermRead, proto.PermWrite, proto.PermCreate, proto.PermDelete, proto.PermAdmin}

// listsPerLock is how many ACL lists are searched under one hold of the lock.
const listsPerLock = 1000

// isNamed reports whether an ACL names one of ids. ZooKeeper takes every user with every password, because an identity
// without an ACL opens nothing; here that is taken for a wrong password.
func (f *Facts) isNamed(ids []auth.Identity) (found bool) {
	for from := 0; !found; {
		f.Store.Mu.RLock()
		found, from = f.Store.State.ACLs().Mentions(ids, from, listsPerLock)
		f.Store.Mu.RUnlock()
		if from == 0 {
			break
		}
	}
	return found
}
