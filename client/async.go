package client

import (
	"context"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Async starts operations without waiting for their answers, so that thousands may be outstanding from one
// goroutine. They are sent and answered in the order of the calls. A call blocks only while there is no
// connection or no room (WithMaxOutstanding). Its context bounds that wait, not the wait for the answer. Data and
// ACLs may be changed once the call has returned.
type Async struct{ c *Client }

// Async returns the operations of c in their asynchronous form.
func (c *Client) Async() Async { return Async{c} }

// Future is the outcome of a started operation. Its methods may be called concurrently and any number of times; every
// Wait returns the same slices.
type Future[T any] struct {
	cl   *call
	err  error // set if the operation was not started
	read func(*call) (T, error)
}

var closedDone = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// Done returns a channel that is closed when the answer has arrived.
func (f Future[T]) Done() <-chan struct{} {
	if f.err != nil {
		return closedDone
	}
	return f.cl.done
}

// Wait waits for the answer. If ctx ends first the operation goes on, and Wait may be called again.
func (f Future[T]) Wait(ctx context.Context) (result T, err error) {
	if f.err != nil {
		return result, f.err
	}
	select {
	case <-f.cl.done:
	case <-ctx.Done():
		select {
		case <-f.cl.done:
		default:
			return result, &Error{Op: f.cl.op.String(), Path: f.cl.path, MayHaveApplied: f.cl.op.IsWrite(),
				Err: ctx.Err()}
		}
	}
	if f.cl.err != nil {
		return result, &Error{Op: f.cl.op.String(), Path: f.cl.path, MayHaveApplied: f.cl.mayHave, Err: f.cl.err}
	}
	return f.read(f.cl)
}

// start pushes a call whose results are kept.
func start[T any](ctx context.Context, c *Client, cl *call, err error, read func(*call) (T, error)) Future[T] {
	if err != nil {
		return Future[T]{err: err}
	}
	kept := &call{request: cl.request, refusal: cl.refusal, kept: true, done: make(chan struct{})}
	cl.release()
	h := &c.cfg.hooks
	if h.Start != nil {
		ctx = h.Start(ctx, kept.op.String(), kept.path)
	}
	var began time.Time
	if h.End != nil {
		began = time.Now()
		kept.after = func() {
			r := OpResult{Op: kept.op.String(), Path: kept.path, Took: time.Since(began), Zxid: kept.zxid,
				xid: kept.xid, on: kept.on}
			switch {
			case kept.err != nil:
				r.Err = &Error{Op: r.Op, Path: r.Path, MayHaveApplied: kept.mayHave, Err: kept.err}
			case kept.refusal != nil:
				r.Err = kept.refusal(kept.body)
			}
			h.End(ctx, r)
		}
	}
	if err := c.send(ctx, kept); err != nil {
		if h.End != nil {
			h.End(ctx, OpResult{Op: kept.op.String(), Path: kept.path, Took: time.Since(began), Err: err})
		}
		return Future[T]{err: err}
	}
	return Future[T]{cl: kept, read: read}
}

// NodeData is the result of Get.
type NodeData struct {
	Data []byte
	Stat Stat
}

// NodeChildren is the result of Children.
type NodeChildren struct {
	Names []string
	Stat  Stat
}

// Created is the result of CreateStat.
type Created struct {
	Path string
	Stat Stat
}

func readData(cl *call) (NodeData, error)         { return NodeData{cl.body, cl.stat}, nil }
func readChildren(cl *call) (NodeChildren, error) { return NodeChildren{cl.names, cl.stat}, nil }
func readCreated(cl *call) (Created, error)       { return Created{cl.created, cl.stat}, nil }
func readStat(cl *call) (Stat, error)             { return cl.stat, nil }
func readNothing(*call) (struct{}, error)         { return struct{}{}, nil }

// await runs a call to its end, unless err says why there is none, and returns what read finds in the reply.
func await[T any](
	ctx context.Context, c *Client, cl *call, err error, read func(*call) (T, error),
) (result T, _ error) {
	if err == nil {
		err = c.do(ctx, cl)
	}
	if err != nil {
		return result, err
	}
	result, err = read(cl)
	cl.release()
	return result, err
}

// Get is Client.Get.
func (a Async) Get(ctx context.Context, path string) Future[NodeData] {
	cl, err := a.c.pathCall(proto.OpGetData, path)
	return start(ctx, a.c, cl, err, readData)
}

// Exists is Client.Exists; an absent znode is the error ErrNoNode.
func (a Async) Exists(ctx context.Context, path string) Future[Stat] {
	cl, err := a.c.pathCall(proto.OpExists, path)
	return start(ctx, a.c, cl, err, readStat)
}

// Children is Client.Children.
func (a Async) Children(ctx context.Context, path string) Future[NodeChildren] {
	cl, err := a.c.pathCall(proto.OpGetChildren2, path)
	return start(ctx, a.c, cl, err, readChildren)
}

// Create is Client.CreateStat.
func (a Async) Create(
	ctx context.Context, path string, data []byte, mode Mode, options ...CreateOption,
) Future[Created] {
	cl, err := a.c.createCall(path, data, mode, options)
	return start(ctx, a.c, cl, err, readCreated)
}

// Set is Client.Set.
func (a Async) Set(ctx context.Context, path string, data []byte, version int32) Future[Stat] {
	cl, err := a.c.setCall(path, data, version)
	return start(ctx, a.c, cl, err, readStat)
}

// Delete is Client.Delete.
func (a Async) Delete(ctx context.Context, path string, version int32) Future[struct{}] {
	cl, err := a.c.versionCall(proto.OpDelete, path, version)
	return start(ctx, a.c, cl, err, readNothing)
}

// Sync is Client.Sync.
func (a Async) Sync(ctx context.Context, path string) Future[struct{}] {
	cl, err := a.c.pathCall(proto.OpSync, path)
	return start(ctx, a.c, cl, err, readNothing)
}

// Commit is Client.Commit. The Txn must not be changed before the answer.
func (a Async) Commit(ctx context.Context, t *Txn) Future[[]TxnResult] {
	cl, err := a.c.txnCall(t)
	return start(ctx, a.c, cl, err, func(cl *call) ([]TxnResult, error) { return a.c.readTxn(t, cl.body) })
}
