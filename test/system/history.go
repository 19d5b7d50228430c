package system

import (
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
)

// What the clients have done and received. The clients write it, and the checks read it.

// session is a session as its client knows it.
type session struct {
	id       proto.SessionID
	password []byte
	timeout  time.Duration
	client   *client
	seen     proto.Zxid // the newest that the client has heard of
	auth     []string   // credentials that the client proves on each of its connections
	watches  watches
	closing  *request   // closeSession, if it was sent
	known    proto.Zxid // the newest in the replies to its requests, and of grants
	lost     []*request // of earlier connections, that were not answered and of which the client still asks
	expired  bool       // a server has said so
	answers  []answer   // of requests, in their order

	connections []*connection
}

// answer is when a request was sent, and when its reply came.
type answer struct {
	sent, came time.Duration
	// late says that the server may have answered when it accepted no clients: its lease had ended, and that of the
	// session had not.
	late bool
}

// connection is one connection of a session.
type connection struct {
	number   int
	session  *session
	server   int
	life     int  // of the server
	readOnly bool // the server has no quorum
	// files is the configuration in the files of the server, if its meta.db has lost the one that was agreed on.
	files    string
	address  model.Identity
	proved   []model.Identity // by replies to auth
	requests []*request
	pending  []*request // not answered yet
	items    []*item    // received, in their order
	isOpen   bool       // at the end of the run
	granted  bool       // the client may ask what has become of its requests
	// forgets says that the client counts its requests from 1 again, and cannot ask for those of this connection.
	forgets bool
	stream  *stream // from the server
}

// request is a request of a client.
type request struct {
	conn  *connection
	op    proto.OpCode
	xid   int32
	body  []byte
	path  string // of the watch that it leaves or removes
	watch watchKind
	ids   []model.Identity
	sent  time.Duration
	floor proto.Zxid // the newest that any client had heard of before
	reply *item
	known proto.Zxid     // session.known when it was sent
	told  *proto.Outcome // a server has said that it was executed
	never bool           // a server has said that it was not, and never will be
}

// item is what a client receives: a reply or an event.
type item struct {
	came    time.Duration
	zxid    proto.Zxid
	err     proto.ErrCode
	body    []byte
	request *request // nil for an event
	event   model.Event
}

// txn is a txn that a server has applied.
type txn struct {
	zxid    proto.Zxid
	payload []byte
	digest  int64
	known   bool          // whether digest is
	at      time.Duration // when the first server has applied it
	by      int           // the server
}

// isWrite reports whether a request becomes a txn.
func isWrite(op proto.OpCode) bool {
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete, proto.OpSetData,
		proto.OpSetACL, proto.OpMulti, proto.OpCloseSession, proto.OpReconfig, proto.OpCheck:
		return true
	}
	return false
}
