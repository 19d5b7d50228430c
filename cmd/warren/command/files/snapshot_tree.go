package files

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// treeZnode is a znode of a snapshot that is held as a tree.
type treeZnode struct {
	Path     string
	Bytes    int // of data
	sum      uint64
	isNull   bool
	stat     proto.StatPersisted
	acl      string
	children []*treeZnode

	total       int64 // bytes of this and all below
	descendants int
}

// name is the last part of the path.
func (z *treeZnode) name() string { return paths.NameOf(z.Path) }

// snapshotTree is a snapshot.Sink that keeps the shape of the tree, but not the data: of that, a checksum.
type snapshotTree struct {
	root   *treeZnode
	znodes map[string]*treeZnode // by path, the root by ""
	acls   map[int64]string
}

// LoadTree reads the snapshot file.
func LoadTree(file string) (*snapshotTree, error) {
	t := &snapshotTree{znodes: map[string]*treeZnode{}, acls: map[int64]string{-1: "world:anyone:cdrwa"}}
	if _, err := load(file, t); err != nil {
		return nil, err
	}
	if t.root == nil {
		return nil, fmt.Errorf("%s: no znodes", file)
	}
	t.root.addUp()
	return t, nil
}

func (*snapshotTree) Session(proto.SessionID, int32) error { return nil }

func (t *snapshotTree) ACL(key int64, list []proto.ACL) error {
	t.acls[key] = strings.Join(aclTexts(list), ",")
	return nil
}

var crcTable = crc64.MakeTable(crc64.ECMA)

func (t *snapshotTree) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	z := &treeZnode{Path: string(path), Bytes: len(data), sum: crc64.Checksum(data, crcTable), isNull: data == nil,
		stat: *st, acl: t.acls[aclKey]}
	t.znodes[z.Path] = z
	if z.Path == "" {
		t.root = z
		return nil
	}
	parent := t.znodes[z.Path[:strings.LastIndexByte(z.Path, '/')]]
	if parent == nil {
		return errors.New("it comes before its parent, or has none: the file is damaged")
	}
	parent.children = append(parent.children, z)
	return nil
}

func (z *treeZnode) addUp() {
	z.total, z.descendants = int64(z.Bytes), 0
	for _, c := range z.children {
		c.addUp()
		z.total += c.total
		z.descendants += c.descendants + 1
	}
}

// levels returns the znodes of each depth, sorted by path.
func (t *snapshotTree) levels() [][]*treeZnode {
	var all [][]*treeZnode
	for level := []*treeZnode{t.root}; len(level) > 0; {
		slices.SortFunc(level, func(a, b *treeZnode) int { return cmp.Compare(a.Path, b.Path) })
		all = append(all, level)
		var next []*treeZnode
		for _, z := range level {
			next = append(next, z.children...)
		}
		level = next
	}
	return all
}

// PrintRecursive prints descendants and bytes of every znode at and below path, as zkSnapshotRecursiveSummaryToolkit
// does. Source: operations 6.6.
func (t *snapshotTree) PrintRecursive(w io.Writer, path string, depth int) error {
	z := t.znodes[strings.TrimSuffix(path, "/")]
	if z == nil {
		return fmt.Errorf("no znode %s", path)
	}
	out := bufio.NewWriter(w)
	z.printRecursive(out, 0, depth)
	return out.Flush()
}

func (z *treeZnode) printRecursive(w *bufio.Writer, level, depth int) {
	dashes := strings.Repeat("--", level)
	fmt.Fprintf(w, "%s %s\n%s   children: %d\n%s   data: %d\n", dashes, cmp.Or(z.Path, "/"), dashes,
		z.descendants, dashes, z.total)
	if level == depth {
		return
	}
	for _, c := range z.sorted() {
		c.printRecursive(w, level+1, depth)
	}
}

// sorted returns the children, sorted by path; nil has none.
func (z *treeZnode) sorted() []*treeZnode {
	if z == nil {
		return nil
	}
	slices.SortFunc(z.children, func(a, b *treeZnode) int { return cmp.Compare(a.Path, b.Path) })
	return z.children
}

// printNcdu prints the tree as zkSnapShotToolkit -json does, which ncdu -f reads.
func (t *snapshotTree) printNcdu(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(out, `[1,0,{"progname":"SnapshotFormatter.java","progver":"0.01","timestamp":%d},`,
		time.Now().UnixMilli())
	ino := 1000
	if err := t.root.printNcdu(out, &ino); err != nil {
		return err
	}
	out.WriteString("]")
	return out.Flush()
}

func (z *treeZnode) printNcdu(w *bufio.Writer, ino *int) error {
	name, err := json.Marshal(cmp.Or(z.name(), "/"))
	if err != nil {
		return err
	}
	*ino++
	if len(z.children) > 0 {
		w.WriteByte('[')
	}
	fmt.Fprintf(w, `{"name":%s,"asize":%d,"dsize":%d,"dev":0,"ino":%d}`, name, z.Bytes, z.Bytes, *ino)
	for _, c := range z.children {
		w.WriteByte(',')
		if err := c.printNcdu(w, ino); err != nil {
			return err
		}
	}
	if len(z.children) > 0 {
		w.WriteByte(']')
	}
	return nil
}
