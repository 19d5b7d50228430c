package inside

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/visible"
)

func (n *Changes) planImport(a visible.Actor, p *planned, w *Work) error {
	d := w.Document
	switch {
	case d == nil || len(d.Znodes) == 0:
		return refusal(http.StatusBadRequest, "the document is no export, or is empty")
	case len(d.Znodes) > visible.SubtreeMax:
		return refusal(http.StatusRequestEntityTooLarge, "the document has too many znodes: use warren shell")
	}
	if err := d.Check(); err != nil {
		return refusal(http.StatusBadRequest, "the document cannot be imported: "+err.Error())
	}
	if err := n.checkPlace(a, p, w.Path); err != nil {
		return err
	}
	for i := range d.Znodes {
		z := &d.Znodes[i]
		path := w.Path + z.Path
		if !paths.Valid([]byte(path)) {
			return proto.ErrBadArguments
		}
		data, err := z.Content()
		if err != nil {
			return err
		}
		acl, err := aclOf(&Change{Kind: ChangeCreate, ACL: z.ACL})
		if err != nil {
			return err
		}
		owner := proto.SessionID(0)
		switch z.Kind {
		case znodetext.Container:
			owner = proto.OwnerContainer
		case znodetext.TTL:
			owner = proto.TTLOwner(z.TTL)
		}
		p.create(path, data, acl, owner)
		fmt.Fprintf(&p.seal, "%x %q\n", sha256.Sum256(data), z.ACL)
	}
	return nil
}

// Export returns the znodes at and below a path. It is refused if the visitor may not read one of them, or see its ACL
// whole: a part that looks like the whole would be imported as such.
func (n *Changes) Export(a visible.Actor, path string) (*znodetext.Document, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	all, err := n.Subtree(a, path, true)
	if err != nil {
		return nil, err
	}
	if !all[0].Readable {
		return nil, proto.ErrNoAuth
	}
	d := &znodetext.Document{Version: znodetext.DocumentVersion, Root: path, Znodes: []znodetext.DocumentZnode{}}
	for i := range all {
		it := &all[i]
		if proto.IsSessionOwner(it.Node.Owner) {
			continue
		}
		if !it.Readable || !it.MayAdmin && !visible.IsOpenACL(it.ACL) {
			return nil, refusal(http.StatusForbidden,
				"the ACL of a znode of the subtree does not allow to export it: "+it.Path)
		}
		z := znodetext.DocumentZnode{Path: it.Path[len(strings.TrimSuffix(path, "/")):]}
		if it.Path == "/" {
			z.Path = ""
		}
		z.SetContent(it.Data)
		ttl, isTTL := proto.TTLOf(it.Node.Owner)
		switch {
		case isTTL:
			z.Kind, z.TTL = znodetext.TTL, ttl
		case it.Node.Owner == proto.OwnerContainer:
			z.Kind = znodetext.Container
		}
		if !visible.IsOpenACL(it.ACL) {
			z.ACL = znodetext.ACLs(it.ACL)
		}
		d.Znodes = append(d.Znodes, z)
	}
	return d, nil
}
