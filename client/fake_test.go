package client

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// fake is a server of the client protocol on loopback: a tree, sessions that live until expire is called, and
// watches with the semantics of client-protocol 9. It fails on request.
type fake struct {
	listener net.Listener
	running  sync.WaitGroup

	mu         sync.Mutex
	tree       fakeTree
	zxid       proto.Zxid
	nextID     proto.SessionID
	sessions   map[proto.SessionID]bool
	conns      map[*fakeConn]bool
	accepted   int
	isOld      bool // knows no persistent watches
	isReadOnly bool
	secret     string // a path that no client may read
	badScheme  string // of auth that is refused
	auths      int    // packets that came
	// n counts requests of the connection; false cuts it before the answer.
	onRequest func(op proto.OpCode, n int) (ok bool)
	loseReply func(op proto.OpCode) bool // true cuts the connection instead of the answer
	refuse    func(op proto.OpCode) bool // true answers that the server is too busy
	rearms    []proto.OpCode             // setWatches and setWatches2 that came
	relative  proto.Zxid                 // of the last of them
	seen      proto.Zxid                 // what the last client to connect had seen
	removals  []string                   // paths of removeWatches that came
	closed    bool
}

type fakeConn struct {
	f       *fake
	nc      net.Conn
	session proto.SessionID
	n       int
	data    map[string]bool // one-shot in the data table
	child   map[string]bool
	persist map[string]bool
	below   map[string]bool // recursive
}

func newFake(t testing.TB) *fake {
	f := startFake()
	t.Cleanup(f.stop)
	return f
}

// StartFake starts a fake for examples.
func StartFake() (addr string, stop func()) {
	f := startFake()
	return f.addr(), f.stop
}

func startFake() *fake {
	f := &fake{nextID: 0x100, zxid: 1, sessions: map[proto.SessionID]bool{}, conns: map[*fakeConn]bool{}}
	f.tree = newFakeTree()
	f.listen("127.0.0.1:0")
	return f
}

func (f *fake) listen(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	f.listener = l
	f.accept(l)
}

// accept serves what connects to a listener, until that is closed.
func (f *fake) accept(l net.Listener) {
	f.running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			f.running.Go(func() { f.serve(nc) })
		}
	})
}

func (f *fake) addr() string { return f.listener.Addr().String() }

// stop ends the server and waits for its goroutines.
func (f *fake) stop() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cutAll()
	f.running.Wait()
}

// cutAll closes all connections.
func (f *fake) cutAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.nc.Close()
	}
}

// expireAll ends all sessions.
func (f *fake) expireAll() {
	f.mu.Lock()
	for id := range f.sessions {
		f.endSession(id, nil)
	}
	f.mu.Unlock()
	f.cutAll()
}

// endSession deletes a session with its ephemerals and closes its connections but one.
func (f *fake) endSession(id proto.SessionID, except *fakeConn) {
	delete(f.sessions, id)
	f.zxid++
	for c := range f.conns {
		if c.session == id && c != except {
			_ = c.nc.Close()
		}
	}
	for path, n := range f.tree {
		if n.stat.EphemeralOwner == id {
			f.tree.remove(path, f.zxid)
			f.fireDeleted(path)
		}
	}
}

// with runs a change of the fake's settings.
func (f *fake) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:])&0xffffff)
	_, err := io.ReadFull(r, b)
	return b, err
}

func (f *fake) serve(nc net.Conn) {
	c := &fakeConn{f: f, nc: nc, data: map[string]bool{}, child: map[string]bool{}, persist: map[string]bool{},
		below: map[string]bool{}}
	f.mu.Lock()
	f.conns[c] = true
	f.accepted++
	isClosed := f.closed
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
		_ = nc.Close()
	}()
	var first [4]byte
	if _, err := io.ReadFull(nc, first[:]); err != nil || isClosed {
		return
	}
	if string(first[:]) == "isro" {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer := "rw"
		if f.isReadOnly {
			answer = "ro"
		}
		_, _ = io.WriteString(nc, answer)
		return
	}
	hello := make([]byte, binary.BigEndian.Uint32(first[:])&0xffff)
	if _, err := io.ReadFull(nc, hello); err != nil || !c.greet(hello) {
		return
	}
	for {
		frame, err := readFrame(nc)
		if err != nil || !c.handle(frame) {
			return
		}
	}
}

func (c *fakeConn) greet(hello []byte) bool {
	var req proto.ConnectRequest
	if req.ReadFrom(hello) != nil {
		return false
	}
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = req.LastZxidSeen
	if req.LastZxidSeen > f.zxid || f.isReadOnly && !req.ReadOnly {
		return false
	}
	resp := proto.ConnectResponse{HasReadOnly: req.HasReadOnly, ReadOnly: f.isReadOnly}
	switch {
	case req.SessionID == 0:
		f.nextID++
		f.zxid++
		f.sessions[f.nextID] = true
		resp.SessionID, resp.TimeOut = f.nextID, req.TimeOut
	case f.sessions[req.SessionID]:
		resp.SessionID, resp.TimeOut = req.SessionID, req.TimeOut
	}
	if resp.SessionID != 0 {
		resp.Password = proto.SessionPassword(resp.SessionID)
	}
	c.session = resp.SessionID
	_, err := c.nc.Write(endFrame(resp.AppendTo(beginFrame(nil)), 0))
	return err == nil && resp.SessionID != 0
}

func (c *fakeConn) send(h proto.ReplyHeader, body []byte) {
	b := h.AppendTo(beginFrame(nil))
	_, _ = c.nc.Write(endFrame(append(b, body...), 0))
}

func (c *fakeConn) notify(t proto.EventType, path string, zxid proto.Zxid) {
	e := proto.WatcherEvent{Type: t, State: proto.StateSyncConnected, Path: proto.Text(path)}
	c.send(proto.ReplyHeader{Xid: proto.XidNotification, Zxid: zxid}, e.AppendTo(nil))
}

// handle answers one request; false closes the connection.
func (c *fakeConn) handle(frame []byte) bool {
	var h proto.RequestHeader
	if h.ReadFrom(frame) != nil {
		return false
	}
	body := frame[proto.RequestHeaderSize:]
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	c.n++
	if f.onRequest != nil && !f.onRequest(h.Type, c.n) {
		return false
	}
	switch h.Type {
	case proto.OpPing:
		c.send(proto.ReplyHeader{Xid: proto.XidPing, Zxid: f.zxid}, nil)
		return true
	case proto.OpAuth:
		var a proto.AuthPacket
		_ = a.ReadFrom(body)
		f.auths++
		if string(a.Scheme) == f.badScheme {
			c.send(proto.ReplyHeader{Xid: h.Xid, Err: proto.ErrAuthFailed}, nil)
			return false
		}
		c.send(proto.ReplyHeader{Xid: h.Xid}, nil)
		return true
	case proto.OpCloseSession:
		f.endSession(c.session, c)
		c.send(proto.ReplyHeader{Xid: h.Xid, Zxid: f.zxid}, nil)
		return false
	}
	if f.refuse != nil && f.refuse(h.Type) {
		c.send(proto.ReplyHeader{Xid: h.Xid, Zxid: f.zxid, Err: proto.ErrThrottledOp}, nil)
		return true
	}
	before := f.zxid
	reply, code := c.execute(h.Type, body)
	if f.isReadOnly && h.Type.IsWrite() {
		f.zxid, code = before, proto.ErrNotReadOnly
	}
	if f.loseReply != nil && f.loseReply(h.Type) {
		return false
	}
	if code != proto.OK {
		reply = nil
	}
	c.send(proto.ReplyHeader{Xid: h.Xid, Zxid: f.zxid, Err: code}, reply)
	return code != proto.ErrUnimplemented
}

// fireOn sends an event to every connection that watches by the given rule.
func (f *fake) fireOn(t proto.EventType, path string, isWatched func(*fakeConn) bool) {
	for c := range f.conns {
		if isWatched(c) {
			c.notify(t, path, f.zxid)
		}
	}
}

func take(m map[string]bool, path string) bool {
	had := m[path]
	delete(m, path)
	return had
}

func (c *fakeConn) isBelow(path string) bool {
	for p := path; ; p = paths.ParentOf(p) {
		if c.below[p] {
			return true
		}
		if p == "/" {
			return false
		}
	}
}

func (f *fake) fireData(t proto.EventType, path string) {
	f.fireOn(t, path, func(c *fakeConn) bool {
		had := take(c.data, path)
		return had || c.persist[path] || c.isBelow(path)
	})
}

func (f *fake) fireChildren(path string) {
	f.fireOn(proto.EventNodeChildrenChanged, path, func(c *fakeConn) bool {
		had := take(c.child, path)
		return had || c.persist[path]
	})
}

func (f *fake) fireDeleted(path string) {
	f.fireOn(proto.EventNodeDeleted, path, func(c *fakeConn) bool {
		data, child := take(c.data, path), take(c.child, path)
		return data || child || c.persist[path] || c.isBelow(path)
	})
	f.fireChildren(paths.ParentOf(path))
}
