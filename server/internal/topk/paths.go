package topk

import "github.com/seed94657493/warren/proto"

// PathsOf appends the paths of a client's request, up to the capacity of b: of a multi those of its operations. They
// are parts of body. A malformed request has those before the fault. Source: client-protocol 5 and 6.
func PathsOf(b [][]byte, op proto.OpCode, body []byte) [][]byte {
	r := proto.NewReader(body)
	switch op {
	case proto.OpMulti, proto.OpMultiRead:
		m := proto.NewMultiReader(body)
		for len(b) < cap(b) {
			h, ok := m.Next()
			if !ok {
				return b
			}
			path := pathOf(h.Type, &m.R)
			if m.R.Err() != nil {
				return b
			}
			b = appendPath(b, path)
		}
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete, proto.OpExists,
		proto.OpGetData, proto.OpSetData, proto.OpGetACL, proto.OpSetACL, proto.OpGetChildren, proto.OpGetChildren2,
		proto.OpSync, proto.OpCheckWatches, proto.OpRemoveWatches, proto.OpGetAllChildrenNumber, proto.OpAddWatch:
		// Each of these requests begins with its path.
		var req proto.PathRequest
		req.Decode(&r)
		if r.Err() == nil {
			b = appendPath(b, req.Path)
		}
	}
	return b
}

func appendPath(b [][]byte, path []byte) [][]byte {
	if len(path) == 0 || len(b) == cap(b) {
		return b
	}
	return append(b, path)
}

// pathOf reads one operation of a multi to its end, and returns its path, with which each begins. The operation after
// one that cannot be in a multi is not found.
func pathOf(op proto.OpCode, r *proto.Reader) []byte {
	var path proto.PathRequest
	begin := *r
	path.Decode(&begin)
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer:
		new(proto.CreateRequest).Decode(r)
	case proto.OpCreateTTL:
		new(proto.CreateTTLRequest).Decode(r)
	case proto.OpDelete:
		new(proto.DeleteRequest).Decode(r)
	case proto.OpSetData:
		new(proto.SetDataRequest).Decode(r)
	case proto.OpCheck:
		new(proto.CheckVersionRequest).Decode(r)
	case proto.OpGetData, proto.OpGetChildren:
		new(proto.PathWatchRequest).Decode(r)
	default:
		return nil
	}
	return path.Path
}
