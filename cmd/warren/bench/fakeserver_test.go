package bench

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// respond answers one request with the body of the reply, which is used before the next one.
type respond func(c *fakeConn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode)

// fakeServer speaks the framing, the handshake and the headers of the client protocol; what a
// request means is up to answer.
type fakeServer struct {
	answer   respond
	listener net.Listener
	nextID   atomic.Int64
	zxid     atomic.Int64
	mu       sync.Mutex
	conns    map[*fakeConn]bool
	refused  atomic.Bool // resuming is answered as expired
	resumed  atomic.Int64
	pings    atomic.Int64
}

// fakeConn is one connection; out is guarded by mu, because events come from other connections.
type fakeConn struct {
	server  *fakeServer
	nc      net.Conn
	session proto.SessionID
	mu      sync.Mutex
	out     []byte
}

func newFakeServer(t testing.TB, answer respond) *fakeServer {
	t.Helper()
	l := must.Listen(t)
	s := serveFake(l, answer)
	t.Cleanup(s.close)
	return s
}

func serveFake(l net.Listener, answer respond) *fakeServer {
	s := &fakeServer{answer: answer, listener: l, conns: map[*fakeConn]bool{}}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(nc)
		}
	}()
	return s
}

func (s *fakeServer) addr() string { return s.listener.Addr().String() }

func (s *fakeServer) close() {
	_ = s.listener.Close()
	s.dropAll()
}

// dropAll closes every connection, as a server that stops does.
func (s *fakeServer) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.nc.Close()
	}
}

// serve answers one connection until it ends. All requests of one read are answered by one write.
func (s *fakeServer) serve(nc net.Conn) {
	defer nc.Close()
	c := &fakeConn{server: s, nc: nc}
	rd := newFrameReader(nc)
	if !s.handshake(c, &rd) {
		return
	}
	rd.reserve(64 << 10)
	s.mu.Lock()
	s.conns[c] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	for {
		frame, ok, err := rd.next()
		if err != nil {
			return
		}
		if ok {
			if !c.reply(frame) {
				return
			}
			continue
		}
		c.flush()
		if rd.fill() != nil {
			return
		}
	}
}

func (s *fakeServer) handshake(c *fakeConn, rd *frameReader) bool {
	frame, err := rd.read()
	if err != nil {
		return false
	}
	var req proto.ConnectRequest
	if req.ReadFrom(frame) != nil {
		return false
	}
	resp := proto.ConnectResponse{TimeOut: req.TimeOut, SessionID: req.SessionID, HasReadOnly: req.HasReadOnly}
	switch {
	case req.SessionID == 0:
		resp.SessionID = proto.SessionID(s.nextID.Add(1))
	case s.refused.Load():
		resp.SessionID, resp.TimeOut = 0, 0
	default:
		s.resumed.Add(1)
	}
	c.session = resp.SessionID
	resp.Password = proto.SessionPassword(resp.SessionID)
	b := resp.AppendTo(beginFrame(nil))
	endFrame(b, 0)
	_, err = c.nc.Write(b)
	return err == nil && resp.TimeOut > 0
}

// reply answers one request; false ends the connection.
func (c *fakeConn) reply(frame []byte) bool {
	if len(frame) < proto.RequestHeaderSize {
		return false
	}
	xid, op := frame[:4], proto.OpCode(binary.BigEndian.Uint32(frame[4:]))
	if op == proto.OpPing {
		c.server.pings.Add(1)
	}
	// answer may send events to any connection, so the lock must not be held.
	body, code := c.server.answer(c, op, frame[proto.RequestHeaderSize:])
	c.mu.Lock()
	defer c.mu.Unlock()
	start := len(c.out)
	b := append(beginFrame(c.out), xid...)
	b = proto.AppendInt64(b, c.server.zxid.Load())
	b = append(proto.AppendInt32(b, int32(code)), body...)
	endFrame(b, start)
	c.out = b
	return true
}

func (c *fakeConn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) > 0 {
		_, _ = c.nc.Write(c.out)
		c.out = c.out[:0]
	}
}

// event sends a notification.
func (c *fakeConn) event(kind proto.EventType, path string) {
	c.mu.Lock()
	start := len(c.out)
	h := proto.ReplyHeader{Xid: proto.XidNotification, Zxid: -1}
	e := proto.WatcherEvent{Type: kind, State: proto.StateSyncConnected, Path: proto.Text(path)}
	b := e.AppendTo(h.AppendTo(beginFrame(c.out)))
	endFrame(b, start)
	c.out = b
	c.mu.Unlock()
	c.flush()
}

// nothing answers what a server with 128-byte znodes would, and does nothing.
func nothing() respond {
	data := (&proto.GetDataResponse{Data: make([]byte, 128)}).AppendTo(nil)
	stat := new(proto.Stat).AppendTo(nil)
	path := (&proto.CreateResponse{Path: proto.Text("/warren-bench-00000000/c00001/n000000001")}).AppendTo(nil)
	return func(_ *fakeConn, op proto.OpCode, _ []byte) ([]byte, proto.ErrCode) {
		switch op {
		case proto.OpGetData:
			return data, proto.OK
		case proto.OpSetData, proto.OpExists:
			return stat, proto.OK
		case proto.OpCreate:
			return path, proto.OK
		case proto.OpGetChildren:
			return proto.AppendInt32(nil, 0), proto.OK
		}
		return nil, proto.OK
	}
}

func newFrameReader(src io.Reader) frameReader { return frameReader{src: src} }
