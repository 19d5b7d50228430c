package inside

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Document is an export, in the format of warren shell.
type Document struct {
	Version int             `json:"warrenExport" doc:"1"`
	Root    string          `json:"root" doc:"path of the first znode"`
	Znodes  []DocumentZnode `json:"znodes" doc:"parents before their children"`
}

// DocumentZnode is one znode of an export.
type DocumentZnode struct {
	Path   string        `json:"path" doc:"below the root; empty for the root"`
	Data   *string       `json:"data,omitempty" doc:"if it is UTF-8"`
	Base64 *string       `json:"base64,omitempty" doc:"data that is not; without both it is null"`
	Kind   string        `json:"kind,omitempty" doc:"container or ttl; empty for persistent"`
	TTL    int64         `json:"ttl,omitempty" doc:"ms"`
	ACL    []visible.ACL `json:"acl,omitempty" doc:"without it world:anyone:cdrwa"`
}

// setContent sets the data.
func (z *DocumentZnode) setContent(data []byte) {
	text := string(data)
	switch {
	case data == nil:
	case utf8.ValidString(text):
		z.Data = &text
	default:
		text = base64.StdEncoding.EncodeToString(data)
		z.Base64 = &text
	}
}

// Content returns the data, nil for null.
func (z *DocumentZnode) Content() ([]byte, error) {
	switch {
	case z.Data != nil && z.Base64 != nil:
		return nil, refusal(http.StatusBadRequest, "a znode of the document has both data and base64")
	case z.Data != nil:
		return []byte(*z.Data), nil
	case z.Base64 != nil:
		return visible.Decode("base64", *z.Base64)
	}
	return nil, nil
}

// Check refuses a document that cannot be created as it stands, or has more than most znodes. It does not know which
// paths are valid.
func (d *Document) Check(most int) error {
	wrong := func(why string) error { return refusal(http.StatusBadRequest, "the document cannot be imported: "+why) }
	switch {
	case d == nil || d.Version != 1 || len(d.Znodes) == 0:
		return wrong("it is no export of version 1, or is empty")
	case len(d.Znodes) > most:
		return refusal(http.StatusRequestEntityTooLarge, "the document has too many znodes: use warren shell")
	}
	seen := make(map[string]bool, len(d.Znodes))
	for i := range d.Znodes {
		z := &d.Znodes[i]
		slash := strings.LastIndexByte(z.Path, '/')
		switch {
		case seen[z.Path] || (i == 0) != (z.Path == ""):
			return wrong("its root is not first, or a znode is there twice")
		case i > 0 && (slash < 0 || !seen[z.Path[:slash]]):
			return wrong("a znode comes before its parent")
		case z.Kind == "ttl" && (z.TTL < 1 || z.TTL > proto.MaxTTL), z.Kind != "ttl" && z.TTL != 0:
			return wrong("a ttl is 1 to 1099511627775 ms, of a znode of kind ttl")
		case z.Kind != "" && z.Kind != "persistent" && z.Kind != "container" && z.Kind != "ttl":
			return wrong("a znode has a kind that is not known")
		}
		if _, err := z.Content(); err != nil {
			return err
		}
		seen[z.Path] = true
	}
	return nil
}

func (n *Changes) planImport(a visible.Actor, p *planned, w *Work) error {
	d := w.Document
	if err := d.Check(visible.SubtreeMax); err != nil {
		return err
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
		case "container":
			owner = proto.OwnerContainer
		case "ttl":
			owner = proto.TTLOwner(z.TTL)
		}
		p.create(path, data, acl, owner)
		fmt.Fprintf(&p.seal, "%x %q\n", sha256.Sum256(data), z.ACL)
	}
	return nil
}

// Export returns the znodes at and below a path. A znode with an ACL that the visitor may not see whole is left out
// with what is below it, as the shell refuses it.
func (n *Changes) Export(a visible.Actor, path string) (*Document, error) {
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
	d := &Document{Version: 1, Root: path, Znodes: []DocumentZnode{}}
	for i := range all {
		it := &all[i]
		if proto.IsSessionOwner(it.Node.Owner) {
			continue
		}
		if !it.Readable || !it.MayAdmin && !visible.IsOpenACL(it.ACL) {
			return nil, refusal(http.StatusForbidden,
				"the ACL of a znode of the subtree does not allow to export it: "+it.Path)
		}
		z := DocumentZnode{Path: it.Path[len(strings.TrimSuffix(path, "/")):]}
		if it.Path == "/" {
			z.Path = ""
		}
		z.setContent(it.Data)
		ttl, isTTL := proto.TTLOf(it.Node.Owner)
		switch {
		case isTTL:
			z.Kind, z.TTL = "ttl", ttl
		case it.Node.Owner == proto.OwnerContainer:
			z.Kind = "container"
		}
		if !visible.IsOpenACL(it.ACL) {
			z.ACL = visible.ShownACL(it.ACL)
		}
		d.Znodes = append(d.Znodes, z)
	}
	return d, nil
}
