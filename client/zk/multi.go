package zk

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
)

// PathVersionRequest names a znode and the version that it must have, -1 for any.
type PathVersionRequest struct {
	Path    string
	Version int32
}

// CheckVersionRequest is an operation of Multi that requires a version.
type CheckVersionRequest PathVersionRequest

// DeleteRequest is an operation of Multi that deletes a znode.
type DeleteRequest PathVersionRequest

// SetDataRequest is an operation of Multi that replaces the data of a znode.
type SetDataRequest struct {
	Path    string
	Data    []byte
	Version int32
}

// CreateRequest is an operation of Multi that makes a znode.
type CreateRequest struct {
	Path  string
	Data  []byte
	Acl   []ACL
	Flags int32
}

// CreateTTLRequest is an operation of Multi that makes a znode with a time to live. (With go-zookeeper it is no
// operation of Multi.)
type CreateTTLRequest struct {
	Path  string
	Data  []byte
	Acl   []ACL
	Flags int32
	Ttl   int64 // in milliseconds
}

// MultiResponse is the result of one operation of Multi.
type MultiResponse struct {
	Stat   *Stat  // after a SetDataRequest
	String string // after a create: the path of the znode
	Error  error
}

// Multi applies all operations or none. They are *CreateRequest, *CreateTTLRequest, *SetDataRequest,
// *DeleteRequest or *CheckVersionRequest. If one is refused, its error is returned, and also in its
// MultiResponse; those of the operations after it say that they were not tried.
func (c *Conn) Multi(ops ...interface{}) ([]MultiResponse, error) {
	var t client.Txn
	for _, op := range ops {
		switch op := op.(type) {
		case *CreateRequest:
			t.Create(op.Path, op.Data, client.Mode(op.Flags), client.WithACL(op.Acl...))
		case *CreateTTLRequest:
			ttl := time.Duration(op.Ttl) * time.Millisecond
			t.Create(op.Path, op.Data, client.Mode(op.Flags), client.WithACL(op.Acl...), client.WithTTL(ttl))
		case *SetDataRequest:
			t.Set(op.Path, op.Data, op.Version)
		case *DeleteRequest:
			t.Delete(op.Path, op.Version)
		case *CheckVersionRequest:
			t.Check(op.Path, op.Version)
		default:
			return nil, fmt.Errorf("zk: %T is not an operation of Multi", op)
		}
	}
	results, err := c.client.Commit(c.wait(), &t)
	if err != nil {
		return refusals(len(ops), err), failure(err)
	}
	responses := make([]MultiResponse, len(results))
	for i := range results {
		switch ops[i].(type) {
		case *CreateRequest, *CreateTTLRequest:
			responses[i].String = results[i].Path
		case *SetDataRequest:
			responses[i].Stat = statOf(&results[i].Stat)
		}
	}
	return responses, nil
}

// refusals returns the answer of a server that refused a Multi: the operations before the failed one have no
// error, and those after it were not tried.
func refusals(n int, err error) []MultiResponse {
	var refused *client.TxnError
	switch {
	case errors.As(err, &refused):
	case failure(err) == ErrConnectionClosed:
		return nil
	default:
		return []MultiResponse{}
	}
	responses := make([]MultiResponse, n)
	responses[refused.Index].Error = failure(err)
	for i := refused.Index + 1; i < n; i++ {
		responses[i].Error = errorOf(proto.ErrRuntimeInconsistency)
	}
	return responses
}
