package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/znodetext"
)

// exportResult says what was exported.
type exportResult struct {
	Path       string `json:"path"`
	File       string `json:"file"`
	Znodes     int    `json:"znodes"`
	Ephemerals int    `json:"ephemeralsLeftOut"`
}

func (r exportResult) appendText(b []byte, _ colours) []byte {
	b = fmt.Appendf(b, "Exported %s of %s to %s", wording.Count(r.Znodes, "znode"), r.Path, r.File)
	if r.Ephemerals > 0 {
		b = fmt.Appendf(b, ", without %s", wording.Count(r.Ephemerals, "ephemeral"))
	}
	return append(b, '\n')
}

func (exportResult) goesToStderr() {}

// runExport writes a subtree. The znodes are read one after another, so the file is not the state of one moment if
// others write meanwhile.
func runExport(ctx context.Context, s *Shell, a *arguments) error {
	root := a.word(0)
	if err := checkPath(root, false); err != nil {
		return err
	}
	name := a.word(1)
	if name == "" || name == "-" {
		r := exportResult{Path: root, File: "standard output"}
		s.out.mu.Lock()
		defer s.out.mu.Unlock()
		s.out.drainLocked()
		return s.exportTo(ctx, s.out.out, &r, !a.has("a"))
	}
	r := exportResult{Path: root, File: name}
	if err := s.exportFile(ctx, name, &r, !a.has("a")); err != nil {
		return err
	}
	return s.out.emit(r)
}

// exportFile writes beside the file and renames, so that a file that was there stays whole if the export fails.
func (s *Shell) exportFile(ctx context.Context, name string, r *exportResult, withACLs bool) error {
	name, ok := Replaceable(name)
	if !ok {
		return s.exportInto(ctx, name, r, withACLs)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".warren-export-*")
	if err != nil {
		return wrong("file cannot be written: "+err.Error(),
			"choose a file in a directory that exists and may be written")
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := s.exportTo(ctx, f, r, withACLs); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("shell: sync %s: %w", f.Name(), err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("shell: close %s: %w", f.Name(), err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return wrong("file cannot be written: "+err.Error(), "")
	}
	return nil
}

// exportInto writes to what is not to be replaced, such as /dev/stdout.
func (s *Shell) exportInto(ctx context.Context, name string, r *exportResult, withACLs bool) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return wrong("file cannot be written: "+err.Error(), "")
	}
	err = s.exportTo(ctx, f, r, withACLs)
	return errors.Join(err, f.Close())
}

// exportTo writes the document, a znode a line, so that two exports can be compared by line.
func (s *Shell) exportTo(ctx context.Context, w io.Writer, r *exportResult, withACLs bool) error {
	b := bufio.NewWriter(w)
	root, err := json.Marshal(r.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, `{"warrenExport":%d,"root":%s,"znodes":[`, znodetext.DocumentVersion, root)
	separator := "\n"
	err = s.walk(ctx, r.Path, func(n walked) error {
		if s.isOfServers(r.Path, n.path) {
			return errPrune
		}
		z, err := s.exported(ctx, n, r.Path, withACLs)
		switch {
		case isGone(err) && n.depth > 0:
			return errPrune
		case err != nil:
			return err
		case z == nil:
			r.Ephemerals++
			return nil
		}
		line, err := json.Marshal(z)
		if err != nil {
			return err
		}
		b.WriteString(separator)
		b.Write(wording.SafeJSON(line)) // it may go to a terminal
		separator = ",\n"
		r.Znodes++
		return nil
	})
	if err != nil {
		return err
	}
	b.WriteString("\n]}\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("shell: write the export: %w", err)
	}
	return nil
}

// exported returns a znode as the document has it, nil for an ephemeral.
func (s *Shell) exported(ctx context.Context, n walked, root string, withACLs bool) (*znodetext.DocumentZnode, error) {
	z := &znodetext.DocumentZnode{Path: relative(root, n.path)}
	if kindOf(&n.stat) == znodetext.Ephemeral {
		return nil, nil
	}
	data, _, err := s.link.client.Get(ctx, n.path)
	if err != nil {
		return nil, err
	}
	z.SetContent(data)
	if !withACLs {
		return z, nil
	}
	acl, _, err := s.link.client.GetACL(ctx, n.path)
	if err != nil {
		return nil, err
	}
	for _, e := range acl {
		if e.Scheme == "digest" && strings.HasSuffix(e.ID, ":x") {
			return nil, wrong("Insufficient permission : "+n.path,
				"the server hides the hashes of its ACL from who may not change it: "+
					"`addauth` first, or export without ACLs (-a)")
		}
	}
	if !isOpen(acl) {
		z.ACL = newACLEntries(acl)
	}
	return z, nil
}

// isOfServers reports whether a znode of a subtree is one that every tree has for its servers, or is below it: the
// configuration of the ensemble, and quotas with what is used of them. They are the subject only of who names them.
func (s *Shell) isOfServers(root, path string) bool {
	return root == "/" && isWithin("/zookeeper", path) && !hasChroot(s.link.servers)
}

func isOpen(acl []client.ACL) bool { return len(acl) == 1 && acl[0] == client.OpenACL()[0] }

// relative returns a path below root without root: "" for root itself.
func relative(root, path string) string {
	if root == "/" {
		return strings.TrimSuffix(path, "/")
	}
	return path[len(root):]
}

// absolute is the inverse of relative.
func absolute(root, path string) string {
	switch {
	case path == "":
		return root
	case root == "/":
		return path
	}
	return root + path
}
