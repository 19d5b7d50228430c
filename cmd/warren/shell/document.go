package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/internal/znodetext"
)

// documentBytes bounds the file of an import.
const documentBytes = 1 << 30

// readDocument reads and checks an export of at most documentBytes. Kinds other than persistent are never exported,
// because servers do not show them, but may be written by hand.
func readDocument(r io.Reader) (*znodetext.Document, error) {
	in := &io.LimitedReader{R: r, N: documentBytes + 1}
	d := &znodetext.Document{}
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
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("shell: %w", err)
	}
	if err := checkPath(d.Root, false); err != nil {
		return nil, fmt.Errorf("shell: root of the export: %w", err)
	}
	return d, nil
}

// aclOf returns the ACL of a znode of an export, the open one if there is none.
func aclOf(z *znodetext.DocumentZnode) []client.ACL {
	if len(z.ACL) == 0 {
		return client.OpenACL()
	}
	acl := make([]client.ACL, len(z.ACL))
	for i, e := range z.ACL {
		perms, _ := znodetext.ParsePerms(e.Perms) // checked
		acl[i] = client.ACL{Perms: perms, Scheme: e.Scheme, ID: e.ID}
	}
	return acl
}
