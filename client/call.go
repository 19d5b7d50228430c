package client

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/proto"
)

// The states of a call. The goroutine that moves a call away from waiting decides which goroutine releases it:
// the one that completes the call after abandoned, the caller after completed.
const (
	callWaiting int32 = iota
	callCompleted
	callAbandoned
	callSending // again, on another connection: its arguments are read
)

// request holds the arguments of an operation.
type request struct {
	op         proto.OpCode
	version    int32 // expected version, type of a watcher, or mode of addWatch
	chroot     string
	path       string
	data       []byte // read until the call is answered
	mode       Mode
	ttlMs      int64
	acl        []ACL
	protection string // of CreateProtected
}

// call is one request and its reply. The caller fills the first part and owns the call until it is pushed; then
// the connection owns it until done is signalled.
type call struct {
	request
	watch *Watch // registered in the watchSet, set if the reply allows it
	pool  *sync.Pool
	after func() // hook of a Future, called when the reply has arrived
	// refusal says whether the reply to a multi is that to a transaction that was refused; for hooks, nil without.
	refusal func(body []byte) error

	xid   int32
	on    *conn // to which the call was pushed first
	floor Zxid  // of a txn that the session had heard of before the call was pushed
	sent  bool  // it may have been written to a socket
	state atomic.Int32
	done  chan struct{} // capacity 1: one token for a pooled call; closed for a Future's
	kept  bool          // by a Future: never pooled, done is closed

	// The reply.
	err     error // cause of the failure, not yet an Error
	mayHave bool  // see Error.MayHaveApplied
	zxid    Zxid
	stat    Stat
	body    []byte // data of the znode, or the raw body of a multi
	created string
	names   []string
	acls    []ACL
	count   int32
}

// newCall takes a call from the pool. The pool belongs to the client, because channels must not move between
// synctest bubbles.
func (c *Client) newCall(op proto.OpCode, path string) *call {
	cl, ok := c.calls.Get().(*call)
	if !ok {
		cl = &call{done: make(chan struct{}, 1), pool: &c.calls}
	}
	cl.op, cl.path, cl.chroot = op, path, c.chroot
	return cl
}

// release returns a call whose results have been read to the pool.
func (cl *call) release() {
	if cl.kept {
		return
	}
	done, pool := cl.done, cl.pool
	*cl = call{done: done, pool: pool}
	pool.Put(cl)
}

// finish signals the waiting goroutine.
func (cl *call) finish() {
	if cl.kept {
		if cl.after != nil {
			cl.after()
		}
		close(cl.done)
		return
	}
	cl.done <- struct{}{}
}

// appendTo appends the frame of the request, whose length endFrame fills in.
func (cl *call) appendTo(b []byte, xid int32) []byte {
	b = cl.request.appendTo(beginRequest(b, xid, cl.op))
	switch cl.op {
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren2:
		b = proto.AppendBool(b, cl.watch != nil)
	}
	return b
}

// appendTo appends the record of the request, which depends on the operation. Source: client-protocol 5.2.
func (r *request) appendTo(b []byte) []byte {
	switch r.op {
	case proto.OpMulti, proto.OpMultiRead, proto.OpReconfig:
		return append(b, r.data...)
	case proto.OpWhoAmI, proto.OpCloseSession:
		return b
	}
	if r.path == "/" && r.chroot != "" && r.mode.IsSequential() {
		b = proto.AppendString(b, r.chroot+"/") // the number is a name below the chroot, not the end of its own
	} else {
		b = appendPath(b, r.chroot, r.path)
	}
	switch r.op {
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		b = proto.AppendBuffer(b, r.data)
		b = appendACL(b, r.acl)
		b = proto.AppendInt32(b, int32(r.mode))
		if r.op == proto.OpCreateTTL {
			b = proto.AppendInt64(b, r.ttlMs)
		}
	case proto.OpSetData:
		b = proto.AppendBuffer(b, r.data)
		b = proto.AppendInt32(b, r.version)
	case proto.OpSetACL:
		b = appendACL(b, r.acl)
		b = proto.AppendInt32(b, r.version)
	case proto.OpDelete, proto.OpCheck, proto.OpCheckWatches, proto.OpRemoveWatches, proto.OpAddWatch:
		b = proto.AppendInt32(b, r.version)
	}
	return b
}

// decode reads the body of a successful reply. The result does not alias b. Source: client-protocol 5.3.
func (cl *call) decode(b []byte) error {
	r := proto.NewReader(b)
	switch cl.op {
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		cl.created = cl.createdPath(r.Text())
		cl.stat.Decode(&r)
	case proto.OpExists, proto.OpSetData, proto.OpSetACL:
		cl.stat.Decode(&r)
	case proto.OpGetData, proto.OpReconfig:
		cl.body = bytes.Clone(r.Buffer())
		cl.stat.Decode(&r)
	case proto.OpGetChildren2:
		cl.names = readNames(&r)
		cl.stat.Decode(&r)
	case proto.OpGetEphemerals:
		cl.names = belowChroot(cl.chroot, readNames(&r))
	case proto.OpGetACL:
		cl.acls = readACL(&r)
		cl.stat.Decode(&r)
	case proto.OpGetAllChildrenNumber:
		cl.count = r.Int32()
	case proto.OpMulti, proto.OpMultiRead, proto.OpWhoAmI:
		cl.body = bytes.Clone(b)
	}
	return r.Err()
}

// createdPath returns the path of the reply without the chroot. It does not allocate if that is the requested
// path.
func (cl *call) createdPath(t proto.Text) string {
	if cl.chroot == "" && string(t) == cl.path {
		return cl.path
	}
	return stripChroot(cl.chroot, string(t))
}

// readNames decodes a vector of strings into two allocations: the strings share one.
func readNames(r *proto.Reader) []string {
	n := r.Count(4)
	if n <= 0 {
		return nil
	}
	scan := *r
	size := 0
	for range n {
		size += len(scan.Text())
	}
	if scan.Err() != nil {
		*r = scan
		return nil
	}
	all := make([]byte, 0, size)
	names := make([]string, n)
	ends := *r
	for range n {
		all = append(all, r.Text()...)
	}
	shared := string(all)
	for i := range names {
		k := len(ends.Text())
		names[i], shared = shared[:k], shared[k:]
	}
	return names
}

func appendACL(b []byte, acl []ACL) []byte {
	b = proto.AppendInt32(b, int32(len(acl)))
	for i := range acl {
		b = proto.AppendInt32(b, acl[i].Perms)
		b = proto.AppendString(b, acl[i].Scheme)
		b = proto.AppendString(b, acl[i].ID)
	}
	return b
}

func readACL(r *proto.Reader) []ACL {
	n := r.Count(12)
	if n <= 0 {
		return nil
	}
	acl := make([]ACL, n)
	for i := range acl {
		acl[i] = ACL{Perms: r.Int32(), Scheme: r.Text().String(), ID: r.Text().String()}
	}
	return acl
}
