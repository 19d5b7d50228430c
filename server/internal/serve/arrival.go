package serve

import (
	"encoding/binary"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

// arrival is a setWatches, read path by path from an input that may have only a part of it yet. Owned by the goroutine
// that executes it.
type arrival struct {
	xid       int32
	op        proto.OpCode
	unread    int          // bytes of the frame that are not handled yet
	begun     bool         // relative was read
	relative  proto.Zxid   // last zxid that the client has seen
	lists     []watch.Kind // lists that have not begun
	kind      watch.Kind   // of the list that has begun
	paths     int          // how many paths of this list follow
	wanted    int          // paths that the connection watches, and will watch
	malformed bool         // the rest of the frame is dropped
}

// newArrival begins to read a body of size bytes.
func newArrival(q *request, size int) *arrival {
	return &arrival{xid: q.xid, op: q.op, unread: size, lists: watchLists(q.op)}
}

// watchLists are the kinds of the lists in the body, in their order.
func watchLists(op proto.OpCode) []watch.Kind {
	kinds := []watch.Kind{watch.Data, watch.Exist, watch.Child, watch.Persistent, watch.Recursive}
	if op == proto.OpSetWatches {
		return kinds[:3]
	}
	return kinds
}

// over reports whether the rest of the frame does not matter.
func (a *arrival) over() bool { return a.malformed || a.begun && a.paths == 0 && len(a.lists) == 0 }

// next reads the next path, which is valid until the input changes. It returns false if there is none, if it has not
// arrived, or if it is malformed. A null path is malformed, and so is one longer than most bytes: no other request
// could have watched it.
func (a *arrival) next(in *input, most int) (path []byte, ok bool) {
	for a.paths == 0 {
		if a.over() || !a.head(in) {
			return nil, false
		}
	}
	return a.path(in, most)
}

// head reads what precedes the paths of the next list. It returns false if that has not arrived or is malformed.
func (a *arrival) head(in *input) bool {
	if !a.begun {
		b, ok := a.consume(in, 8)
		if ok {
			a.relative, a.begun = proto.Zxid(binary.BigEndian.Uint64(b)), true
		}
		return ok
	}
	b, ok := a.consume(in, 4)
	if !ok {
		return false
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n == -1 || n > a.unread/4 {
		a.malformed = true
		return false
	}
	a.kind, a.lists = a.lists[0], a.lists[1:]
	a.paths = max(n, 0)
	a.wanted += a.paths
	return true
}

// path is next within a list.
func (a *arrival) path(in *input, most int) (path []byte, ok bool) {
	b := in.bytes()
	if a.unread < 4 {
		a.malformed = true
		return nil, false
	}
	if len(b) < 4 {
		return nil, false
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < 0 || n > a.unread-4 || n > most {
		a.malformed = true
		return nil, false
	}
	if b, ok = a.consume(in, 4+n); !ok {
		return nil, false
	}
	a.paths--
	return b[4:], true
}

// consume returns n bytes of the frame and drops them from the input. It returns false if they have not arrived, or
// the frame has fewer.
func (a *arrival) consume(in *input, n int) ([]byte, bool) {
	b := in.bytes()
	if n > a.unread {
		a.malformed = true
		return nil, false
	}
	if n > len(b) {
		return nil, false
	}
	in.skip(n)
	a.unread -= n
	return b[:n], true
}
