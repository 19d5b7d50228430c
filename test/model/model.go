package model

import (
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Config switches what servers may differ in. The names are datatree's.
type Config struct {
	SkipACL                 bool
	EnforceQuota            bool
	ExtendedTypes           bool
	ReconfigEnabled         bool
	MaxContainerNeverUsedMs int64
}

// Identity is what a connection has proved to be.
type Identity struct{ Scheme, ID string }

// Request is a request of a client, or of the server itself (createSession, closeSession,
// deleteContainer).
type Request struct {
	Conn       int // whose watches reads register, and which is asked about
	Session    proto.SessionID
	Op         proto.OpCode
	Body       []byte
	Identities []Identity
	Zxid       proto.Zxid // of a write
	TimeMs     int64      // of a write

	// Local says that only one server knows the session: it may write, but own no ephemerals.
	Local bool

	// CloseOrder is the order in which closeSession deletes: it is the server's to choose.
	CloseOrder []string
	// NewConfig is what the znode of the configuration holds after a reconfig: it is the ensemble's to choose. It is
	// nil at a server without an ensemble.
	NewConfig []byte
}

// Result is the answer to a Request.
type Result struct {
	Err    proto.ErrCode
	Body   []byte  // what follows the ReplyHeader; nil after an error
	Txn    bool    // a txn was made, so that the zxid is used
	Events []Event // in the order in which each connection must hear them
}

// Event is a watch event on its way to a connection.
type Event struct {
	Conn int
	Type proto.EventType
	Path string
	Zxid proto.Zxid // of the txn; -1 for what setWatches catches up
}

// String returns e in a form for failures.
func (e Event) String() string { return fmt.Sprintf("%d: %v %s %v", e.Conn, e.Type, e.Path, e.Zxid) }

// Model is the state machine. It is not safe for concurrent use.
type Model struct {
	cfg      Config
	tree     tree
	sessions map[proto.SessionID]int32 // to timeout in ms
	conns    map[int][]Identity        // identities now
	data     watchTable
	child    watchTable
	last     proto.Zxid

	// The request that is being executed.
	req     Request
	quotas  tree // as they were before the request: what quotas are checked against
	changes []change
	events  []Event
}

// New returns the state of an ensemble in which nothing has happened.
// Source: storage 8.1, client-protocol 7.1.
func New(cfg Config) *Model {
	open := []proto.ACL{entry(proto.PermAll, "world", "anyone")}
	m := &Model{
		cfg:      cfg,
		sessions: map[proto.SessionID]int32{},
		conns:    map[int][]Identity{},
		data:     watchTable{},
		child:    watchTable{},
		tree: tree{
			"/":                 {data: []byte{}, acl: open},
			"/zookeeper":        {data: []byte{}, acl: open},
			"/zookeeper/quota":  {data: []byte{}, acl: open},
			"/zookeeper/config": {data: []byte{}, acl: []proto.ACL{entry(proto.PermRead, "world", "anyone")}},
		},
	}
	m.tree["/zookeeper/config"].stat.Aversion = -1
	return m
}

func entry(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

// Put adds a znode as a snapshot would, for tests that begin elsewhere than with nothing.
func (m *Model) Put(path string, data []byte, acl []proto.ACL, stat proto.StatPersisted) {
	m.tree[path] = &znode{data: slices.Clone(data), acl: cloneACL(acl), stat: stat}
}

// Connect begins a connection with the identities it has from the start.
func (m *Model) Connect(conn int, ids []Identity) { m.conns[conn] = ids }

// Authenticate adds an identity to a connection.
func (m *Model) Authenticate(conn int, id Identity) {
	if !slices.Contains(m.conns[conn], id) {
		m.conns[conn] = append(slices.Clone(m.conns[conn]), id)
	}
}

// Disconnect ends a connection: its watches go.
func (m *Model) Disconnect(conn int) {
	m.data.forget(conn)
	m.child.forget(conn)
	delete(m.conns, conn)
}

// Last returns the zxid of the last txn.
func (m *Model) Last() proto.Zxid { return m.last }

// Sessions returns the session table.
func (m *Model) Sessions() map[proto.SessionID]int32 { return m.sessions }

// Do executes a request.
func (m *Model) Do(r Request) Result {
	m.req, m.changes, m.events, m.quotas = r, nil, nil, m.tree
	res := m.execute()
	for _, c := range m.changes {
		m.tell(c)
	}
	if res.Err != proto.OK {
		res.Body = nil
	}
	if res.Txn {
		m.last = r.Zxid
	}
	res.Events = m.events
	return res
}

func (m *Model) execute() Result {
	switch m.req.Op {
	case proto.OpExists, proto.OpGetData, proto.OpGetACL, proto.OpGetChildren, proto.OpGetChildren2,
		proto.OpGetAllChildrenNumber, proto.OpGetEphemerals, proto.OpMultiRead:
		body, err := m.read()
		return Result{Err: err, Body: body}
	case proto.OpAddWatch, proto.OpCheckWatches, proto.OpRemoveWatches, proto.OpSetWatches, proto.OpSetWatches2:
		body, err := m.watch()
		return Result{Err: err, Body: body}
	case proto.OpMulti:
		return m.multi()
	}
	do := m.decode(m.req.Op, m.req.Body)
	if do == nil {
		return Result{Err: proto.ErrMarshallingError}
	}
	body, err := do()
	return Result{Err: err, Body: body, Txn: true}
}

// decode returns the execution of a write other than multi, nil if the body cannot be decoded.
func (m *Model) decode(op proto.OpCode, body []byte) func() ([]byte, proto.ErrCode) {
	r := proto.NewReader(body)
	do := m.decodeFrom(op, &r)
	if r.Err() != nil {
		return nil
	}
	return do
}

func (m *Model) decodeFrom(op proto.OpCode, r *proto.Reader) func() ([]byte, proto.ErrCode) {
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer:
		var q proto.CreateRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) {
			return m.create(op, proto.CreateTTLRequest{Path: q.Path, Data: q.Data, Acl: q.Acl, Flags: q.Flags})
		}
	case proto.OpCreateTTL:
		var q proto.CreateTTLRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) { return m.create(op, q) }
	case proto.OpDelete:
		var q proto.DeleteRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) { return nil, m.delete(q) }
	case proto.OpSetData:
		var q proto.SetDataRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) { return m.setData(q) }
	case proto.OpSetACL:
		var q proto.SetACLRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) { return m.setACL(q) }
	case proto.OpCheck:
		var q proto.CheckVersionRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) { return nil, m.check(q) }
	case proto.OpReconfig:
		var q proto.ReconfigRequest
		q.Decode(r)
		return m.reconfig
	case proto.OpDeleteContainer:
		var q proto.PathRequest
		q.Decode(r)
		return func() ([]byte, proto.ErrCode) { return nil, m.deleteContainer(q.Path) }
	case proto.OpCreateSession:
		timeoutMs := r.Int32()
		return func() ([]byte, proto.ErrCode) {
			m.sessions[m.req.Session] = timeoutMs
			return nil, proto.OK
		}
	case proto.OpCloseSession:
		return func() ([]byte, proto.ErrCode) { return nil, m.closeSession() }
	}
	panic(fmt.Sprintf("model: no such operation: %v", op))
}
