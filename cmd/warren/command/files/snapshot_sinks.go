package files

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
)

// znodeFinder is a snapshot.Sink that keeps one znode.
type znodeFinder struct {
	path     string
	found    *znodeRecord
	children int
	acls     map[int64][]string
}

func newZnodeFinder(path string) *znodeFinder {
	if path == "/" {
		path = ""
	}
	return &znodeFinder{path: path, acls: map[int64][]string{-1: {"world:anyone:cdrwa"}}}
}

func (f *znodeFinder) Session(proto.SessionID, int32) error { return nil }

func (f *znodeFinder) ACL(key int64, list []proto.ACL) error {
	f.acls[key] = aclTexts(list)
	return nil
}

func (f *znodeFinder) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	if string(path) == f.path {
		f.found = newZnodeRecord(path, bytes.Clone(data), aclKey, st)
		f.found.ACL, f.found.NumChildren = f.acls[aclKey], &f.children
	} else if i := bytes.LastIndexByte(path, '/'); i >= 0 && string(path[:i]) == f.path {
		f.children++
	}
	return nil
}

// share is what lies at and below one top-level path.
type share struct {
	Path       string `json:"path"`
	Znodes     int    `json:"znodes"`
	Bytes      int64  `json:"bytes"` // of paths and data
	DataBytes  int64  `json:"dataBytes"`
	Ephemerals int    `json:"ephemerals"`
	Largest    int    `json:"largestData"`
}

// summary is a snapshot.Sink that adds up.
type summary struct {
	sessions, acls int
	shares         map[string]*share
}

func newSummary() *summary { return &summary{shares: map[string]*share{}} }

func (s *summary) Session(proto.SessionID, int32) error { s.sessions++; return nil }

func (s *summary) ACL(int64, []proto.ACL) error { s.acls++; return nil }

func (s *summary) Node(path, data []byte, _ int64, st *proto.StatPersisted) error {
	top := path
	if len(path) > 0 {
		if i := bytes.IndexByte(path[1:], '/'); i >= 0 {
			top = path[:1+i]
		}
	}
	sh := s.shares[string(top)]
	if sh == nil {
		sh = &share{Path: cmp.Or(string(top), "/")}
		s.shares[string(top)] = sh
	}
	sh.add(share{Znodes: 1, Bytes: int64(len(path) + len(data)), DataBytes: int64(len(data)), Largest: len(data)})
	if proto.IsSessionOwner(st.EphemeralOwner) {
		sh.Ephemerals++
	}
	return nil
}

func (s *share) add(o share) {
	s.Znodes += o.Znodes
	s.Bytes += o.Bytes
	s.DataBytes += o.DataBytes
	s.Ephemerals += o.Ephemerals
	s.Largest = max(s.Largest, o.Largest)
}

// print prints the shares, the largest first, and the total.
func (s *summary) print(w io.Writer, output string) error {
	shares := slices.SortedFunc(maps.Values(s.shares), func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	total := share{Path: "total"}
	for _, sh := range shares {
		total.add(*sh)
	}
	if output == "json" {
		return json.NewEncoder(w).Encode(map[string]any{
			"sessions": s.sessions, "acls": s.acls, "total": total, "paths": shares})
	}
	fmt.Fprintf(w, "%s, %s, %s, %s of paths and data\n", wording.Count(s.sessions, "session"),
		wording.Count(s.acls, "ACL"), wording.Count(total.Znodes, "znode"), wording.Count(total.Bytes, "byte"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "znodes\tbytes\tdata\tephemerals\tlargest\t path")
	for _, sh := range append(shares, &total) {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t %s\n", sh.Znodes, sh.Bytes, sh.DataBytes, sh.Ephemerals, sh.Largest,
			cli.Printable(sh.Path))
	}
	return t.Flush()
}
