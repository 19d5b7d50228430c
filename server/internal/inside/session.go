package inside

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Errors that are no codes of the protocol.
var (
	// errRefused means that the server gave no session: it does not serve, or a limit is reached. Nothing happened.
	errRefused = refusal(http.StatusServiceUnavailable, "the server gives no session now")
	// errUnknown means that the connection ended before the answer: the request may have taken effect.
	errUnknown = refusal(http.StatusServiceUnavailable,
		"the connection ended before the answer: the request may have taken effect")
	// errFollowed means that a session that followed changes has lost its connection, as in an election.
	errFollowed = refusal(http.StatusServiceUnavailable,
		"the server has closed the connection, as it does when it loses the leader: changes may have been missed")
)

// sessionTimeout is the timeout of a session that is opened for a change or a stream; patience is how long the server
// may take for it, or for the change.
const (
	sessionTimeout = 30 * time.Second
	patience       = 20 * time.Second
)

// frameBytesMax bounds a frame from the server. Replies to the operations of this package are far smaller.
const frameBytesMax = 64 << 20

// session is a session of the server in the same process. Owned by the goroutine that has opened it.
type session struct {
	nc      net.Conn
	timeout time.Duration // of the session, as the server has negotiated it
	xid     int32
}

// open begins a session with the identities of a visitor.
func (n *Changes) open(a visible.Actor) (*session, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	nc, err := n.front.Connect(a.Remote, a.IDs)
	if err != nil {
		return nil, errRefused
	}
	return open(nc, sessionTimeout, patience)
}

// open begins a session on a connection, which it closes when it fails. patience bounds the wait for the session, and
// later for each answer. A server that has lost its ensemble may give a session, too: it refuses changes by itself.
func open(nc net.Conn, timeout, patience time.Duration) (*session, error) {
	s := &session{nc: nc}
	req := proto.ConnectRequest{TimeOut: int32(timeout.Milliseconds()), Password: make([]byte, proto.PasswordSize),
		ReadOnly: true, HasReadOnly: true}
	frame, err := s.exchange(req.AppendTo(make([]byte, 4, 64)), patience)
	if err != nil {
		_ = nc.Close()
		return nil, errRefused
	}
	var resp proto.ConnectResponse
	if err := resp.ReadFrom(frame); err != nil || resp.SessionID == 0 {
		_ = nc.Close()
		return nil, errRefused
	}
	s.timeout = time.Duration(resp.TimeOut) * time.Millisecond
	return s, nil
}

// exchange sends a frame, whose first 4 bytes are room for its length, and reads the next one.
func (s *session) exchange(frame []byte, patience time.Duration) ([]byte, error) {
	_ = s.nc.SetReadDeadline(time.Now().Add(patience))
	if err := s.send(frame, patience); err != nil {
		return nil, err
	}
	return s.read()
}

// send sends a frame, whose first 4 bytes are room for its length.
func (s *session) send(frame []byte, patience time.Duration) error {
	_ = s.nc.SetWriteDeadline(time.Now().Add(patience))
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err := s.nc.Write(frame)
	return err
}

func (s *session) read() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(s.nc, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > frameBytesMax {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(s.nc, frame)
	return frame, err
}

// record is a request of the protocol.
type record interface{ AppendTo(b []byte) []byte }

// Do sends a request and returns the body of its reply. The error is a proto.ErrCode, or errUnknown. It must not be
// called once Follow was.
func (s *session) Do(op proto.OpCode, req record, patience time.Duration) ([]byte, error) {
	s.xid++
	reply, err := s.exchange(req.AppendTo(s.header(s.xid, op)), patience)
	if err != nil {
		return nil, errUnknown
	}
	var h proto.ReplyHeader
	if err := h.ReadFrom(reply); err != nil || h.Xid != s.xid {
		return nil, errUnknown
	}
	if h.Err != proto.OK {
		return nil, h.Err
	}
	return reply[proto.ReplyHeaderSize:], nil
}

// header begins a frame: room for its length, and the header of a request.
func (s *session) header(xid int32, op proto.OpCode) []byte {
	h := proto.RequestHeader{Xid: xid, Type: op}
	return h.AppendTo(make([]byte, 4, 256))
}

// event is a change of a znode that the session watches. Zxid is 0 if the server does not tell it.
type event struct {
	Type proto.EventType
	Path string
	Zxid proto.Zxid
}

// Follow watches path and all znodes below it, and calls yield for every change, until yield returns false, ctx is
// done or the session ends. It begins with an event without a type: from then on no change is missed. Changes of
// znodes that the session may not read are not told. The session is closed afterwards.
func (s *session) Follow(ctx context.Context, path string, yield func(event) bool) error {
	defer s.Close() // also ends the goroutine that receives
	watch := proto.AddWatchRequest{Path: proto.Text(path), Mode: proto.AddWatchPersistentRecursive}
	if _, err := s.Do(proto.OpAddWatch, &watch, s.timeout); err != nil {
		return err
	}
	if !yield(event{}) {
		return nil
	}
	frames, ended := make(chan []byte), make(chan struct{})
	defer close(ended)
	go s.receive(frames, ended)
	pings := time.NewTicker(s.timeout / 3)
	defer pings.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case frame, open := <-frames:
			if !open {
				return errFollowed
			}
			if e, ok := eventOf(frame); ok && !yield(e) {
				return nil
			}
		case <-pings.C:
			if err := s.send(s.header(proto.XidPing, proto.OpPing), s.timeout); err != nil {
				return errFollowed
			}
		}
	}
}

// receive reads frames until the connection ends or ended is closed. The answers to pings keep it alive.
func (s *session) receive(frames chan<- []byte, ended <-chan struct{}) {
	defer close(frames)
	for {
		_ = s.nc.SetReadDeadline(time.Now().Add(s.timeout))
		frame, err := s.read()
		if err != nil {
			return
		}
		select {
		case frames <- frame:
		case <-ended:
			return
		}
	}
}

// eventOf decodes a notification. ok is false for other frames.
func eventOf(frame []byte) (e event, ok bool) {
	var h proto.ReplyHeader
	var w proto.WatcherEvent
	if h.ReadFrom(frame) != nil || h.Xid != proto.XidNotification || w.ReadFrom(frame[proto.ReplyHeaderSize:]) != nil {
		return e, false
	}
	return event{Type: w.Type, Path: w.Path.String(), Zxid: max(h.Zxid, 0)}, true
}

// Close ends the session at the server, without waiting for the answer, and closes the connection.
func (s *session) Close() {
	s.xid++
	_ = s.send(s.header(s.xid, proto.OpCloseSession), closePatience) // or it expires
	_ = s.nc.Close()
}

// closePatience bounds the wait until the server takes the request to close a session.
const closePatience = time.Second
