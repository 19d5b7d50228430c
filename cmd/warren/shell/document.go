package shell

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// documentVersion is the version of the format of exports. Readers refuse others.
const documentVersion = 1

// documentBytes bounds the file of an import.
const documentBytes = 1 << 30

// documentHead is what stands before the znodes of an export:
//
//	{"warrenExport":1,"root":"/app","znodes":[
//	{"path":"","data":"text","acl":[{"scheme":"world","id":"anyone","perms":"r"}]},
//	{"path":"/a","base64":"/w=="},
//	{"path":"/b","kind":"ttl","ttl":60000}
//	]}
//
// Paths are relative to the root, parents come before their children. Data is text, or base64 if it is not UTF-8;
// both are absent for null. An ACL that is absent allows every client everything. Kinds other than persistent are
// never exported, because servers do not show them, but may be written by hand.
type documentHead struct {
	Version int    `json:"warrenExport"`
	Root    string `json:"root"`
}

// documentZnode is one znode of an export.
type documentZnode struct {
	Path   string     `json:"path"`
	Data   *string    `json:"data,omitempty"`
	Base64 *string    `json:"base64,omitempty"`
	Kind   string     `json:"kind,omitempty"`
	TTL    int64      `json:"ttl,omitempty"` // ms
	ACL    []aclEntry `json:"acl,omitempty"`
}

func (z *documentZnode) setData(data []byte) {
	if data == nil {
		return
	}
	text := string(data)
	if utf8.ValidString(text) {
		z.Data = &text
		return
	}
	text = base64.StdEncoding.EncodeToString(data)
	z.Base64 = &text
}

// document is a whole export, checked.
type document struct {
	documentHead
	Znodes []documentZnode `json:"znodes"`
}

// readDocument reads and checks an export of at most documentBytes.
func readDocument(r io.Reader) (*document, error) {
	in := &io.LimitedReader{R: r, N: documentBytes + 1}
	d := &document{}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(d)
	if in.N <= 0 {
		return nil, fmt.Errorf("shell: an export may have at most %d bytes", documentBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("shell: not an export: offset %d: %w", decoder.InputOffset(), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("shell: not an export: offset %d: something follows its end", decoder.InputOffset())
	}
	return d, d.check()
}

// check refuses an export that cannot be created as it stands.
func (d *document) check() error {
	if d.Version != documentVersion {
		return fmt.Errorf("shell: export of version %d: only %d can be read", d.Version, documentVersion)
	}
	if err := checkPath(d.Root, false); err != nil {
		return fmt.Errorf("shell: root of the export: %w", err)
	}
	seen := make(map[string]bool, len(d.Znodes))
	for i := range d.Znodes {
		z := &d.Znodes[i]
		if err := z.check(seen); err != nil {
			return fmt.Errorf("shell: znode %d of the export, %q: %w", i, z.Path, err)
		}
		seen[z.Path] = true
	}
	return nil
}

func (z *documentZnode) check(seen map[string]bool) error {
	if z.Path != "" {
		if err := checkPath(z.Path, false); err != nil {
			return err
		}
		if z.Path == "/" {
			return errors.New("the root is written \"\"")
		}
		if above := strings.TrimSuffix(z.Path, "/"+paths.NameOf(z.Path)); !seen[above] && len(seen) > 0 {
			return errors.New("its parent does not come before it")
		}
	}
	if seen[z.Path] || z.Path != "" && len(seen) == 0 {
		return errors.New("it is there twice, or the root is not first")
	}
	if z.Data != nil && z.Base64 != nil {
		return errors.New("both data and base64")
	}
	if _, err := z.content(); err != nil {
		return fmt.Errorf("base64: %w", err)
	}
	if _, err := z.acl(); err != nil {
		return err
	}
	switch z.Kind {
	case "", kindPersistent, kindContainer:
		if z.TTL != 0 {
			return errors.New("a ttl without the kind ttl")
		}
	case kindTTL:
		if z.TTL < 1 || z.TTL > proto.MaxTTL {
			return fmt.Errorf("ttl %d is not between 1 and %d ms", z.TTL, proto.MaxTTL)
		}
	default:
		return fmt.Errorf("unknown kind %q", z.Kind)
	}
	return nil
}

// content returns the data, nil for null.
func (z *documentZnode) content() ([]byte, error) {
	switch {
	case z.Data != nil:
		return append([]byte{}, *z.Data...), nil
	case z.Base64 != nil:
		return base64.StdEncoding.AppendDecode([]byte{}, []byte(*z.Base64))
	}
	return nil, nil
}

// acl returns the ACL, the open one if there is none.
func (z *documentZnode) acl() ([]client.ACL, error) {
	if len(z.ACL) == 0 {
		return client.OpenACL(), nil
	}
	acl := make([]client.ACL, 0, len(z.ACL))
	for _, e := range z.ACL {
		perms, bad := parsePerms(e.Perms)
		if bad != "" {
			return nil, fmt.Errorf("unknown permission %q", bad)
		}
		acl = append(acl, client.ACL{Perms: perms, Scheme: e.Scheme, ID: e.ID})
	}
	return acl, nil
}
