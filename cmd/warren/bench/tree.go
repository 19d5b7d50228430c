package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/seed94657493/warren/proto"
)

// perDir is how many shared znodes a directory holds; children lists one directory.
const perDir = 100

// tree is where a load keeps its znodes:
//
//	/warren-bench-1a2b3c4d            the root of one run
//	/warren-bench-1a2b3c4d/d007/00742 shared znode 742, in directory 7
//	/warren-bench-1a2b3c4d/c00003/... what connection 3 creates
//
// All shared paths have one length and lie in one array.
type tree struct {
	root   string
	n      int
	stride int
	paths  []byte // path i is paths[i*stride:][:stride]
	dirLen int    // bytes of a directory's path
}

// newTree lays out n shared znodes; a pathLength of 0 makes their paths as short as possible.
func newTree(root string, n, pathLength int) (*tree, error) {
	dirs := (n + perDir - 1) / perDir
	dirWidth, nameWidth := digits(dirs-1), digits(n-1)
	t := &tree{root: root, n: n, dirLen: len(root) + 2 + dirWidth}
	shortest := t.dirLen + 1 + nameWidth
	pathLength = cmp.Or(pathLength, shortest)
	if pathLength < shortest {
		return nil, fmt.Errorf("bench: --path-length is %d, %d znodes need at least %d", pathLength, n, shortest)
	}
	nameWidth += pathLength - shortest
	t.stride = pathLength
	t.paths = make([]byte, 0, n*t.stride)
	for i := range n {
		t.paths = append(append(t.paths, root...), "/d"...)
		t.paths = appendDigits(t.paths, i/perDir, dirWidth)
		t.paths = appendDigits(append(t.paths, '/'), i, nameWidth)
	}
	return t, nil
}

// newRoot returns a name no other run has.
func newRoot() string { return fmt.Sprintf("/warren-bench-%08x", rand.Uint32()) }

// dirs returns how many directories there are.
func (t *tree) dirs() int { return (t.n + perDir - 1) / perDir }

// path returns the path of shared znode i.
func (t *tree) path(i int) []byte { return t.paths[i*t.stride : (i+1)*t.stride] }

// dir returns the path of directory i.
func (t *tree) dir(i int) []byte { return t.path(i * perDir)[:t.dirLen] }

// home returns the path of the parent of what connection lane creates.
func (t *tree) home(lane int) []byte {
	return appendDigits(append([]byte(t.root), "/c"...), lane, 6)
}

func digits(n int) int { return len(strconv.Itoa(max(n, 0))) }

// appendDigits appends n with at least width digits.
func appendDigits(b []byte, n, width int) []byte {
	at := len(b)
	for range width {
		b = append(b, '0')
	}
	for i := len(b) - 1; i >= at && n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// openACL is the encoding of the ACL world:anyone with all permissions.
var openACL = func() []byte {
	acl := proto.ACL{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}
	return acl.AppendTo(proto.AppendInt32(nil, 1))
}()

func appendCreate(b, path, data []byte, mode proto.CreateMode) []byte {
	b = proto.AppendBuffer(b, path)
	b = proto.AppendBuffer(b, data)
	b = append(b, openACL...)
	return proto.AppendInt32(b, int32(mode))
}

// appendSet appends the body of a setData of any version.
func appendSet(b, path, data []byte) []byte {
	b = proto.AppendBuffer(b, path)
	b = proto.AppendBuffer(b, data)
	return proto.AppendInt32(b, -1)
}

// appendDelete appends the body of a delete of any version.
func appendDelete(b, path []byte) []byte {
	return proto.AppendInt32(proto.AppendBuffer(b, path), -1)
}

// appendPathWatch appends the body of exists, getData, getChildren or getChildren2.
func appendPathWatch(b, path []byte, watch bool) []byte {
	return proto.AppendBool(proto.AppendBuffer(b, path), watch)
}
