package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Reads collects reads that are sent in one request. They are not a snapshot: each sees the state at the moment of its
// execution. The zero value is empty; methods return it, so that calls can be chained. Servers since 3.6.
type Reads struct {
	ops []request
}

// Get adds the data and Stat of a znode.
func (r *Reads) Get(path string) *Reads {
	r.ops = append(r.ops, request{op: proto.OpGetData, path: path})
	return r
}

// Children adds the names of a znode's children.
func (r *Reads) Children(path string) *Reads {
	r.ops = append(r.ops, request{op: proto.OpGetChildren, path: path})
	return r
}

// ReadResult is the outcome of one read.
type ReadResult struct {
	Data     []byte   // of Get
	Stat     Stat     // of Get
	Children []string // of Children
	Err      error    // *Error if this read was refused; the other reads are not affected
}

// Read sends the reads and returns a result for each, in their order. The error concerns all of them.
func (c *Client) Read(ctx context.Context, r *Reads) ([]ReadResult, error) {
	var b []byte
	for i := range r.ops {
		op := &r.ops[i]
		if err := checkPath(op.path, false); err != nil {
			return nil, invalid(proto.OpMultiRead, op.path, err)
		}
		b = proto.AppendMultiOp(b, op.op)
		b = appendPath(b, c.chroot, op.path)
		b = proto.AppendBool(b, false)
	}
	cl := c.newCall(proto.OpMultiRead, "")
	if len(r.ops) > 0 {
		cl.path = r.ops[0].path
	}
	cl.data = proto.AppendMultiEnd(b)
	return await(ctx, c, cl, nil, func(cl *call) ([]ReadResult, error) {
		results, err := readReads(r, cl.body)
		if err != nil {
			return nil, invalid(proto.OpMultiRead, "", err)
		}
		return results, nil
	})
}

func readReads(r *Reads, body []byte) ([]ReadResult, error) {
	results := make([]ReadResult, len(r.ops))
	m := proto.NewMultiReader(body)
	for i := 0; ; i++ {
		h, ok := m.Next()
		if !ok {
			if m.R.Err() != nil || i != len(r.ops) {
				return nil, errors.Join(ErrProtocol, m.R.Err())
			}
			return results, nil
		}
		if i >= len(r.ops) {
			return nil, fmt.Errorf("%w: more results than reads", ErrProtocol)
		}
		switch h.Type {
		case proto.OpGetData:
			results[i].Data = bytes.Clone(m.R.Buffer())
			results[i].Stat.Decode(&m.R)
		case proto.OpGetChildren:
			results[i].Children = readNames(&m.R)
		case proto.OpError:
			results[i].Err = invalid(r.ops[i].op, r.ops[i].path, proto.ErrCode(m.R.Int32()))
		default:
			return nil, fmt.Errorf("%w: result of type %v", ErrProtocol, h.Type)
		}
	}
}
