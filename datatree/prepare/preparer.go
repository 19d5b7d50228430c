package prepare

import (
	"cmp"
	"fmt"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Request is one write as it enters the pipeline. The Preparer keeps nothing of it.
type Request struct {
	Session    proto.SessionID // of the client; 0 for the server's own requests
	Cxid       int32           // the session's xid
	Op         proto.OpCode    // a write, or createSession, closeSession or deleteContainer from the server itself
	Body       []byte          // the body of the request, without its header
	Identities []auth.Identity // of the connection when the request was received

	// LocalSession says that the session is local to one server and will not become global: it may write, but not
	// create ephemerals. Source: server-semantics 7.6.
	LocalSession bool
}

// Preparer is the first stage of the pipeline: it validates each write against the tree as it will be
// when every txn prepared before has been applied, and turns it into a txn in which nothing is left to
// decide. One goroutine owns it. Its caller holds the lock of State for reading.
//
// Invariants: zxids only grow; the overlay holds exactly the paths that prepared txns beyond
// State.LastZxid change, but for ephemerals that only the end of their session changes; digest is the digest of State
// after all of them.
type Preparer struct {
	state   *datatree.State
	cfg     Config
	overlay overlay
	finder  datatree.Finder // in the applied tree
	opened  sessions

	last   proto.Zxid // newest txn prepared, 0 for none
	digest int64      // of the tree after it

	// The txn that is being prepared.
	req   *Request
	zxid  proto.Zxid
	nowMs int64
	start int // where its payload begins
	// behind is how much operations behind the present one, of a multi, add to it at most, without identities.
	behind int

	create2 []int32 // operations of a multi that were create2; see Create2

	// Scratch of one operation, kept so that nothing is allocated.
	fixup        fixup
	path         []byte
	digestIn     datatree.DigestScratch
	createReq    proto.CreateRequest
	createTTLReq proto.CreateTTLRequest
	setACLReq    proto.SetACLRequest
}

// New returns a Preparer for s without outstanding changes.
func New(s *datatree.State, cfg Config) *Preparer {
	cfg.MaxTxnBytes = cmp.Or(cfg.MaxTxnBytes, DefaultMaxTxnBytes)
	return &Preparer{state: s, cfg: cfg, overlay: newOverlay(), opened: newSessions(), digest: s.Digest()}
}

// Reset forgets every outstanding change: a new leader starts from what has been applied.
func (p *Preparer) Reset() {
	p.overlay = newOverlay()
	p.opened = newSessions()
	p.last, p.digest = 0, p.state.Digest()
}

// Prepare appends the txn of a request to b: TxnHeader, body and digest. zxid is the txn's, larger than any
// before; nowMs is the wall clock in ms since 1970, and becomes the txn's time.
//
// If ok, the payload is in out and must become part of the log. If err is not OK it is an error txn of 36 bytes.
// A multi that fails is no error txn: err is OK, and its slots have the errors. If not ok, the request cannot
// become a txn, because its body is malformed (ErrMarshallingError) or it is no write (ErrUnimplemented); out is
// b, and nothing has changed.
//
// Errors are those of client-protocol 11.2, in its order.
func (p *Preparer) Prepare(
	b []byte, req *Request, zxid proto.Zxid, nowMs int64,
) (out []byte, err proto.ErrCode, ok bool) {
	p.catchUp()
	if zxid <= p.last || zxid <= p.state.LastZxid() {
		panic(fmt.Sprintf("prepare: prepare of zxid %v after %v, applied %v", zxid, p.last, p.state.LastZxid()))
	}
	p.req, p.zxid, p.nowMs, p.start, p.behind = req, zxid, nowMs, len(b), 0
	p.create2 = p.create2[:0]
	header := proto.TxnHeader{ClientID: req.Session, Cxid: req.Cxid, Zxid: zxid, Time: nowMs, Type: req.Op}
	out = header.AppendTo(b)
	out, err, ok = p.appendBody(out)
	if !ok {
		return b[:p.start], err, false
	}
	p.last = zxid
	if err != proto.OK {
		header.Type = proto.OpError
		out = header.AppendTo(out[:p.start])
		return proto.AppendInt32(out, int32(err)), err, true
	}
	// ZooKeeper 3.6 would read a digest after an empty closeSession as its list.
	if p.cfg.Digest && len(out) > p.start+proto.TxnHeaderSize {
		digest := proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: p.digest}
		out = digest.AppendTo(out)
	}
	return out, proto.OK, true
}

// catchUp drops from the overlay the txns that State has applied since the last request.
func (p *Preparer) catchUp() {
	applied := p.state.LastZxid()
	p.overlay.drop(applied)
	p.opened.drop(applied)
	if p.last <= applied {
		p.digest = p.state.Digest()
	}
}

// appendBody decodes the request and appends the body of its txn. If err is not OK the appended bytes are
// meaningless.
func (p *Preparer) appendBody(b []byte) (out []byte, err proto.ErrCode, ok bool) {
	r := proto.NewReader(p.req.Body)
	switch p.req.Op {
	case proto.OpMulti:
		return p.multi(b)
	case proto.OpCreateSession:
		if timeoutMs := r.Int32(); r.Err() == nil {
			out = p.createSession(b, timeoutMs)
		}
	case proto.OpCloseSession:
		out = p.closeSession(b)
	case proto.OpDeleteContainer:
		var path proto.PathRequest
		if path.Decode(&r); r.Err() == nil {
			out, err = p.deleteContainer(b, path.Path)
		}
	case proto.OpReconfig:
		var reconfig proto.ReconfigRequest
		if reconfig.Decode(&r); r.Err() == nil {
			out, err = p.reconfig(b, &reconfig)
		}
	case proto.OpSetACL:
		if p.setACLReq.Decode(&r); r.Err() == nil {
			out, err = p.setACL(b, &p.setACLReq)
		}
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		if c := p.decodeCreate(&r, p.req.Op); r.Err() == nil {
			out, err = p.create(b, &c)
		}
	case proto.OpDelete:
		var del proto.DeleteRequest
		if del.Decode(&r); r.Err() == nil {
			out, err = p.delete(b, &del)
		}
	case proto.OpSetData:
		var set proto.SetDataRequest
		if set.Decode(&r); r.Err() == nil {
			out, err = p.setData(b, &set)
		}
	default:
		return b, proto.ErrUnimplemented, false
	}
	if r.Err() != nil {
		return b, proto.ErrMarshallingError, false
	}
	return out, err, true
}
