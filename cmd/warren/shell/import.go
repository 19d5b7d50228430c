package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto/paths"
)

// The largest multi of an import: so many operations, so many bytes of paths, data and ACLs. The bytes bound every
// multi: servers take 1048575.
const (
	importOps  = 1000
	multiBytes = 900_000
)

// importResult says what was imported.
type importResult struct {
	Path    string `json:"path"`
	File    string `json:"file"`
	Created int    `json:"created"`
	Changed int    `json:"changed"`
	DryRun  bool   `json:"dryRun,omitempty"`
}

func (r importResult) appendText(b []byte, _ colours) []byte {
	verb := "Imported"
	if r.DryRun {
		verb = "Would import"
	}
	return fmt.Appendf(b, "%s %s to %s: %d created, %d changed\n", verb, r.File, r.Path, r.Created, r.Changed)
}

func (importResult) goesToStderr() {}

// importing is one run of import.
type importing struct {
	s       *Shell
	doc     *znodetext.Document
	root    string
	exists  map[string]client.Stat
	isLate  bool // ACLs are set at the end
	noACLs  bool
	result  importResult
	applied int // znodes of batches that were committed
}

// runImport creates the znodes of an export: all in one multi if they fit, so that either all or none of them are
// there. More are created in several, parents first, and a failure says which were.
func runImport(ctx context.Context, s *Shell, a *arguments) error {
	name := a.word(0)
	f, err := os.Open(name)
	if err != nil {
		return wrong("file cannot be read: "+err.Error(), "name a file that `export` has written")
	}
	defer f.Close()
	doc, err := readDocument(f)
	if err != nil {
		return wrong(name+": "+err.Error(), "nothing was changed; import takes what `export` has written")
	}
	if len(doc.Znodes) == 0 {
		return wrong(name+": the export has no znodes", "nothing was changed")
	}
	root := doc.Root
	if len(a.words) > 1 {
		root = a.word(1)
	}
	if err := checkPath(root, false); err != nil {
		return err
	}
	doc.Znodes = slices.DeleteFunc(doc.Znodes, func(z znodetext.DocumentZnode) bool {
		return s.isOfServers(root, absolute(root, z.Path))
	})
	im := &importing{s: s, doc: doc, root: root, isLate: a.has("l"), noACLs: a.has("a"),
		exists: map[string]client.Stat{}, result: importResult{Path: root, File: name, DryRun: a.has("n")}}
	if err := im.look(ctx, a.has("o")); err != nil {
		return err
	}
	if err := im.keepsACLs(ctx); err != nil {
		return err
	}
	if !a.has("n") {
		if err := im.create(ctx); err != nil {
			return err
		}
		if err := im.setACLs(ctx); err != nil {
			return err
		}
	}
	return s.out.emit(im.result)
}

// look finds out which znodes exist. The root of the tree always does and is changed.
func (im *importing) look(ctx context.Context, mayOverwrite bool) error {
	if above := paths.ParentOf(im.root); im.root != "/" {
		_, exists, err := im.s.link.client.Exists(ctx, above)
		if err != nil {
			return err
		}
		if !exists {
			return wrong("Node does not exist: "+above, "create the parent of the import first; nothing was changed")
		}
	}
	for i := range im.doc.Znodes {
		path := absolute(im.root, im.doc.Znodes[i].Path)
		if above := paths.ParentOf(path); i > 0 && path != im.root {
			if _, ok := im.exists[above]; !ok {
				im.result.Created++
				continue // below what does not exist
			}
		}
		stat, exists, err := im.s.link.client.Exists(ctx, path)
		switch {
		case err != nil:
			return err
		case !exists:
			im.result.Created++
			continue
		case !mayOverwrite && path != "/":
			return wrong("Node already exists: "+path,
				"nothing was changed; import elsewhere (import file path), or overwrite with -o")
		}
		im.exists[path] = stat
		im.result.Changed++
	}
	return nil
}

// keepsACLs refuses to open znodes that have an ACL because none was exported: `export -a` leaves ACLs out, and an
// open one has no entry either.
func (im *importing) keepsACLs(ctx context.Context) error {
	hasACL := func(z znodetext.DocumentZnode) bool { return len(z.ACL) > 0 }
	if im.noACLs || slices.ContainsFunc(im.doc.Znodes, hasACL) {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(im.exists)) {
		acl, _, err := im.s.link.client.GetACL(ctx, path)
		if err != nil && !isGone(err) {
			return err
		}
		if err == nil && !isOpen(acl) {
			return wrong("the export has no ACLs, and "+path+" has one", "nothing was changed; keep the ACLs that "+
				"are there with -a, or open them first: `setAcl -R "+im.root+" world:anyone:cdrwa`")
		}
	}
	return nil
}

// create sends the multis.
func (im *importing) create(ctx context.Context) error {
	txn, size, n := &client.Txn{}, 0, 0
	commit := func() error {
		if txn.Len() == 0 {
			return nil
		}
		if _, err := im.s.link.client.Commit(ctx, txn); err != nil {
			return im.stopped(ctx, err)
		}
		im.applied += n
		txn, size, n = &client.Txn{}, 0, 0
		return nil
	}
	for i := range im.doc.Znodes {
		z := &im.doc.Znodes[i]
		data, err := z.Content()
		if err != nil {
			return err
		}
		acl := client.OpenACL()
		if !im.isLate && !im.noACLs {
			acl = aclOf(z)
		}
		path := absolute(im.root, z.Path)
		bytes := len(path) + len(data) + 100
		for _, e := range acl {
			bytes += len(e.Scheme) + len(e.ID) + 12
		}
		if txn.Len() == importOps || size+bytes > multiBytes {
			if err := commit(); err != nil {
				return err
			}
		}
		if stat, ok := im.exists[path]; ok {
			txn.Set(path, data, stat.Version)
		} else {
			options := []client.CreateOption{client.WithACL(acl...)}
			mode := client.Persistent
			switch z.Kind {
			case znodetext.Container:
				mode = client.Container
			case znodetext.TTL:
				mode = client.PersistentTTL
				options = append(options, client.WithTTL(time.Duration(z.TTL)*time.Millisecond))
			}
			txn.Create(path, data, mode, options...)
		}
		size += bytes
		n++
	}
	return commit()
}

// stopped says how far the import has come.
func (im *importing) stopped(ctx context.Context, err error) error {
	f := im.s.describe(err, context.Cause(ctx))
	total := len(im.doc.Znodes)
	switch {
	case client.MayHaveApplied(err):
	case im.applied == 0:
		f.hint = "nothing was changed; " + f.hint
	default:
		f.hint = fmt.Sprintf("%d of %s imported, up to %s; repeat with -o to go on; %s", im.applied,
			wording.Count(total, "znode"),
			absolute(im.root, im.doc.Znodes[im.applied-1].Path), f.hint)
	}
	if errors.Is(err, client.ErrNoAuth) {
		f.hint += "; if an ACL of the import itself is in the way, -l sets ACLs last"
	}
	f.isOwn = true
	return f
}

// setACLs sets what creating has not: the ACLs of znodes that existed, and with -l all, children before their
// parents.
func (im *importing) setACLs(ctx context.Context) error {
	if im.noACLs {
		return nil
	}
	for i := len(im.doc.Znodes) - 1; i >= 0; i-- {
		z := &im.doc.Znodes[i]
		path := absolute(im.root, z.Path)
		_, existed := im.exists[path]
		if !existed && (!im.isLate || len(z.ACL) == 0) {
			continue
		}
		if err := im.setACL(ctx, path, aclOf(z)); err != nil {
			f := im.s.describe(err, context.Cause(ctx))
			f.hint = "all znodes were imported, but ACLs from this one up to the root of the import were not set; " +
				f.hint
			f.isOwn = true
			return f
		}
	}
	return nil
}

// setACL sets an ACL that is not set already.
func (im *importing) setACL(ctx context.Context, path string, acl []client.ACL) error {
	now, _, err := im.s.link.client.GetACL(ctx, path)
	if err == nil && slices.Equal(now, acl) {
		return nil
	}
	_, err = im.s.link.client.SetACL(ctx, path, acl, client.AnyVersion)
	return err
}
