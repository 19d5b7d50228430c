package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// txnOpBytes is about the size of an operation in a request without its path and data; a create has an ACL.
const txnOpBytes = 64

// Txn collects writes of which either all or none are applied, each of which sees the effects of those before it.
// The zero value is an empty Txn; its methods return it, so that calls can be chained. It may be committed again.
// Not for concurrent use.
type Txn struct {
	ops []request
}

// Check requires that a znode exists and has the version.
func (t *Txn) Check(path string, version int32) *Txn {
	return t.add(request{op: proto.OpCheck, path: path, version: version})
}

// Create adds a create.
func (t *Txn) Create(path string, data []byte, mode Mode, options ...CreateOption) *Txn {
	t.add(request{op: proto.OpCreate2, path: path, data: data, mode: mode, acl: openACL})
	for _, o := range options {
		o(&t.ops[len(t.ops)-1])
	}
	return t
}

// Set adds a Set.
func (t *Txn) Set(path string, data []byte, version int32) *Txn {
	return t.add(request{op: proto.OpSetData, path: path, data: data, version: version})
}

// Delete adds a Delete.
func (t *Txn) Delete(path string, version int32) *Txn {
	return t.add(request{op: proto.OpDelete, path: path, version: version})
}

// Len returns how many operations there are.
func (t *Txn) Len() int { return len(t.ops) }

func (t *Txn) add(r request) *Txn {
	if t.ops == nil {
		t.ops = make([]request, 0, 4)
	}
	t.ops = append(t.ops, r)
	return t
}

// TxnResult is the result of one operation of a committed Txn.
type TxnResult struct {
	Path string // of a create: with its suffix
	Stat Stat   // after a create or a set
}

// TxnError says which operation of a Txn was refused. No operation was applied.
type TxnError struct {
	Index int    // of the operation
	Op    string // its name
	Path  string
	Err   error // why
}

// Error returns the index, operation, path and cause.
func (e *TxnError) Error() string {
	return fmt.Sprintf("operation %d, %s %s: %v", e.Index, e.Op, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *TxnError) Unwrap() error { return e.Err }

// Commit sends a Txn. If an operation is refused, none is applied, and the error holds a *TxnError and, for errors.Is,
// its cause.
func (c *Client) Commit(ctx context.Context, t *Txn) ([]TxnResult, error) {
	cl, err := c.txnCall(t)
	return await(ctx, c, cl, err, func(cl *call) ([]TxnResult, error) { return c.readTxn(t, cl.body) })
}

// Fits returns ErrTooLarge if Commit would refuse a Txn because of its size (WithMaxRequest), without sending it.
func (c *Client) Fits(t *Txn) error {
	cl, err := c.txnCall(t)
	if err != nil {
		return err
	}
	if err = c.cfg.fits(proto.RequestHeaderSize + len(cl.data)); err != nil {
		err = invalid(proto.OpMulti, cl.path, err)
	}
	cl.release()
	return err
}

func (c *Client) txnCall(t *Txn) (*call, error) {
	size := 0
	for i := range t.ops {
		size += txnOpBytes + len(c.chroot) + len(t.ops[i].path) + len(t.ops[i].data)
	}
	b := make([]byte, 0, size)
	for i := range t.ops {
		op := &t.ops[i]
		op.chroot = c.chroot
		var err error
		if op.op == proto.OpCreate2 || op.op == proto.OpCreateContainer || op.op == proto.OpCreateTTL {
			err = checkCreate(op)
		} else {
			err = checkPath(op.path, false)
		}
		if err != nil {
			return nil, &Error{Op: proto.OpMulti.String(), Path: op.path,
				Err: &TxnError{i, op.op.String(), op.path, err}}
		}
		b = proto.AppendMultiOp(b, op.op)
		b = op.appendTo(b)
	}
	cl := c.newCall(proto.OpMulti, "")
	if len(t.ops) > 0 {
		cl.path = t.ops[0].path
	}
	cl.data = proto.AppendMultiEnd(b)
	if c.cfg.hooks.End != nil {
		sent := &Txn{slices.Clone(t.ops)} // t need not outlive the call
		cl.refusal = func(body []byte) error {
			_, err := c.readTxn(sent, body)
			return err
		}
	}
	return cl, nil
}

// readTxn decodes the reply to a Txn. Source: client-protocol 6.3 and 6.4.
func (c *Client) readTxn(t *Txn, body []byte) ([]TxnResult, error) {
	results := make([]TxnResult, len(t.ops))
	fail := func(path string, mayHave bool, err error) ([]TxnResult, error) {
		return nil, &Error{Op: proto.OpMulti.String(), Path: path, MayHaveApplied: mayHave, Err: err}
	}
	m := proto.NewMultiReader(body)
	var refused *TxnError
	for i := 0; ; i++ {
		h, ok := m.Next()
		if !ok {
			if m.R.Err() != nil || i != len(t.ops) {
				return fail("", true, errors.Join(ErrProtocol, m.R.Err()))
			}
			break
		}
		if i >= len(t.ops) {
			return fail("", true, fmt.Errorf("%w: more results than operations", ErrProtocol))
		}
		op := &t.ops[i]
		switch h.Type {
		case proto.OpCreate:
			results[i].Path = stripChroot(c.chroot, m.R.Text().String())
		case proto.OpCreate2:
			results[i].Path = stripChroot(c.chroot, m.R.Text().String())
			results[i].Stat.Decode(&m.R)
		case proto.OpSetData:
			results[i].Path = op.path
			results[i].Stat.Decode(&m.R)
		case proto.OpDelete, proto.OpCheck:
			results[i].Path = op.path
		case proto.OpError:
			if code := proto.ErrCode(m.R.Int32()); code != proto.OK && refused == nil {
				refused = &TxnError{i, op.op.String(), op.path, code}
			}
		default:
			return fail(op.path, true, fmt.Errorf("%w: result of type %v", ErrProtocol, h.Type))
		}
	}
	if refused != nil {
		return fail(refused.Path, false, refused)
	}
	return results, nil
}
