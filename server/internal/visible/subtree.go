package visible

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// Item is a znode of a subtree, as a visitor may know it.
type Item struct {
	Path      string
	Node      datatree.Node
	Data      []byte      // nil unless it was asked for
	ACL       []proto.ACL // nil unless the data was asked for
	Readable  bool
	MayAdmin  bool // the ACL may be copied as it is
	Deletable bool // the parent lets the visitor delete it
}

// Bounds of a subtree that is read as a whole.
const (
	SubtreeMax      = 10_000   // znodes
	subtreeBytesMax = 16 << 20 // bytes of data and paths
	itemsPerLock    = 256      // znodes under one hold of Store.Mu
)

var errTooMany = refusal(http.StatusRequestEntityTooLarge, fmt.Sprintf(
	"the subtree has more than %d znodes, or more than %d MiB: use warren shell", SubtreeMax, subtreeBytesMax>>20))

// Subtree lists the znodes at and below a path, parents first. It leaves out the children of a znode that the actor
// may not read.
func (n *Shown) Subtree(a Actor, root string, withData bool) (all []Item, err error) {
	names, size := []string{root}, 0
	for len(names) > 0 {
		part := names[:min(len(names), itemsPerLock)]
		names = names[len(part):]
		if err := func() error {
			n.Store.Mu.RLock()
			defer n.Store.Mu.RUnlock()
			state := n.Store.State
			for _, path := range part {
				id := state.Lookup([]byte(path))
				if id == 0 && len(all) == 0 {
					return proto.ErrNoNode
				}
				if id == 0 {
					continue // gone since its parent was read
				}
				it := n.item(a.IDs, id, path, withData)
				all, size = append(all, it), size+len(path)+len(it.Data)
				if it.Readable {
					state.EachChild(id, func(child datatree.NodeID) bool {
						names = append(names, paths.ChildOf(path, string(state.Name(child))))
						return len(names)+len(all) <= SubtreeMax
					})
				}
				if len(names)+len(all) > SubtreeMax || size > subtreeBytesMax {
					return errTooMany
				}
			}
			return nil
		}(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// item describes a znode. REQUIRES: Store.Mu, at least for reading.
func (n *Shown) item(ids []auth.Identity, id datatree.NodeID, path string, withData bool) Item {
	state := n.Store.State
	it := Item{Path: path, Node: state.Node(id)}
	it.Readable = n.MayRead(id, ids)
	it.MayAdmin = n.Allows(it.Node.ACL, proto.PermAdmin, ids)
	if up := state.Parent(id); up != 0 {
		it.Deletable = n.Allows(state.Node(up).ACL, proto.PermDelete, ids)
	}
	if it.Readable && withData {
		it.ACL = slices.Clone(state.ACLs().List(it.Node.ACL))
		if data := state.Data(id); data != nil {
			it.Data = append([]byte{}, data...)
		}
	}
	return it
}

// IsOpenACL reports whether an ACL is the one that clients take if they name none.
func IsOpenACL(list []proto.ACL) bool {
	return len(list) == 1 && list[0].Perms == proto.PermAll && list[0].Id.Scheme.String() == auth.SchemeWorld
}
