package znodetext

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// DocumentVersion is the version of the format of exports. Readers refuse others.
const DocumentVersion = 1

// The kinds of znodes.
const (
	Persistent = "persistent"
	Ephemeral  = "ephemeral"
	Container  = "container"
	TTL        = "ttl"
)

// Document is an export of a subtree:
//
//	{"warrenExport":1,"root":"/app","znodes":[
//	{"path":"","data":"text","acl":[{"scheme":"world","id":"anyone","perms":"r"}]},
//	{"path":"/a","base64":"/w=="},
//	{"path":"/b","kind":"ttl","ttl":60000}
//	]}
type Document struct {
	Version int             `json:"warrenExport" doc:"1"`
	Root    string          `json:"root" doc:"path of the first znode"`
	Znodes  []DocumentZnode `json:"znodes" doc:"parents before their children"`
}

// DocumentZnode is one znode of an export.
type DocumentZnode struct {
	Path   string  `json:"path" doc:"below the root; empty for the root"`
	Data   *string `json:"data,omitempty" doc:"if it is UTF-8"`
	Base64 *string `json:"base64,omitempty" doc:"data that is not; without both it is null"`
	Kind   string  `json:"kind,omitempty" doc:"container or ttl; empty for persistent"`
	TTL    int64   `json:"ttl,omitempty" doc:"ms"`
	ACL    []ACL   `json:"acl,omitempty" doc:"without it world:anyone:cdrwa"`
}

// Text writes data, which is nil for null: as text, or as base64 if it is not UTF-8.
func Text(data []byte) (text, encoded *string) {
	switch {
	case data == nil:
		return nil, nil
	case utf8.Valid(data):
		return new(string(data)), nil
	}
	return nil, new(base64.StdEncoding.EncodeToString(data))
}

// SetContent sets the data.
func (z *DocumentZnode) SetContent(data []byte) { z.Data, z.Base64 = Text(data) }

// Content returns the data, nil for null.
func (z *DocumentZnode) Content() ([]byte, error) {
	switch {
	case z.Data != nil && z.Base64 != nil:
		return nil, errors.New("both data and base64")
	case z.Data != nil:
		return []byte(*z.Data), nil
	case z.Base64 != nil:
		data, err := base64.StdEncoding.AppendDecode([]byte{}, []byte(*z.Base64))
		if err != nil {
			return nil, fmt.Errorf("base64: %w", err)
		}
		return data, nil
	}
	return nil, nil
}

// Check refuses a document that cannot be created as it stands. It does not look at the root: znodes may be created
// elsewhere.
func (d *Document) Check() error {
	if d.Version != DocumentVersion {
		return fmt.Errorf("export of version %d: only %d can be read", d.Version, DocumentVersion)
	}
	seen := make(map[string]bool, len(d.Znodes))
	for i := range d.Znodes {
		z := &d.Znodes[i]
		if err := z.check(seen); err != nil {
			return fmt.Errorf("znode %d of the export, %q: %w", i, z.Path, err)
		}
		seen[z.Path] = true
	}
	return nil
}

// check refuses a znode that cannot be created after those that were seen.
func (z *DocumentZnode) check(seen map[string]bool) error {
	switch above := z.Path[:max(strings.LastIndexByte(z.Path, '/'), 0)]; {
	case z.Path == "/":
		return errors.New(`the root is written ""`)
	case z.Path != "" && paths.FaultAt([]byte(z.Path), false) >= 0:
		return errors.New("its path is malformed")
	case seen[z.Path] || (z.Path == "") != (len(seen) == 0):
		return errors.New("it is there twice, or the root is not first")
	case z.Path != "" && !seen[above]:
		return errors.New("its parent does not come before it")
	}
	for _, e := range z.ACL {
		if _, bad := ParsePerms(e.Perms); bad != "" {
			return fmt.Errorf("unknown permission %q", bad)
		}
	}
	switch {
	case z.Kind == TTL && (z.TTL < 1 || z.TTL > proto.MaxTTL):
		return fmt.Errorf("ttl %d is not between 1 and %d ms", z.TTL, proto.MaxTTL)
	case z.Kind != TTL && z.TTL != 0:
		return errors.New("a ttl without the kind ttl")
	case z.Kind != "" && z.Kind != Persistent && z.Kind != Container && z.Kind != TTL:
		return fmt.Errorf("unknown kind %q", z.Kind)
	}
	_, err := z.Content()
	return err
}
