package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/seed94657493/warren/proto"
)

// errExpired is returned when a server does not know the session any more.
var errExpired = errors.New("bench: session expired")

// connectTimeout bounds one attempt to reach a server and to begin or resume a session.
const connectTimeout = 30 * time.Second

// perSource is how many connections share a source address: Linux offers about 28,000 local
// ports towards one address and port.
const perSource = 25_000

// session is what a connection needs to resume.
type session struct {
	id        proto.SessionID
	password  [proto.PasswordSize]byte
	lastZxid  proto.Zxid
	timeoutMs int32 // negotiated
}

// dialer opens connections and sessions, spread over servers and source addresses in turn.
type dialer struct {
	servers   []string
	sources   []net.IP // nil chooses by target
	timeoutMs int32
	// dial replaces the network, for tests.
	dial func(ctx context.Context, server string, local net.Addr) (net.Conn, error)
}

// open opens connection number i, its attempt-th attempt, and begins a session, or resumes s if
// it has an id. It updates s. errExpired means that s is gone; ask again with an empty one.
func (d *dialer) open(ctx context.Context, i, attempt int, s *session) (net.Conn, error) {
	server := d.servers[(i+attempt)%len(d.servers)]
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	nc, err := d.dial(ctx, server, d.local(server, i/len(d.servers)))
	if err != nil {
		return nil, fmt.Errorf("bench: cannot connect: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	err = d.handshake(nc, s)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("bench: session at %s: %w", server, err)
	}
	return nc, nil
}

// handshake exchanges ConnectRequest and ConnectResponse. Source: client-protocol 3.
func (d *dialer) handshake(nc net.Conn, s *session) error {
	req := proto.ConnectRequest{LastZxidSeen: s.lastZxid, TimeOut: d.timeoutMs, SessionID: s.id,
		Password: s.password[:], HasReadOnly: true}
	b := req.AppendTo(beginFrame(nil))
	endFrame(b, 0)
	if _, err := nc.Write(b); err != nil {
		return err
	}
	// Nothing but the response may be consumed, so no buffering reader.
	var head [4]byte
	if _, err := io.ReadFull(nc, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 36 || n > 37 {
		return fmt.Errorf("this is no ZooKeeper server: its first answer has %d bytes, not 36 or 37", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(nc, body); err != nil {
		return err
	}
	var resp proto.ConnectResponse
	if err := resp.ReadFrom(body); err != nil {
		return err
	}
	if resp.TimeOut <= 0 {
		return errExpired
	}
	s.id, s.password, s.timeoutMs = resp.SessionID, resp.Password, resp.TimeOut
	return nil
}

// local returns the source address for the nth connection to server; nil lets the kernel choose.
func (d *dialer) local(server string, n int) net.Addr {
	if len(d.sources) > 0 {
		return &net.TCPAddr{IP: d.sources[n%len(d.sources)]}
	}
	if n < perSource {
		return nil
	}
	host, _, err := net.SplitHostPort(server)
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.To4() == nil || !ip.IsLoopback() {
		return nil
	}
	k := n / perSource
	return &net.TCPAddr{IP: net.IPv4(127, 1, byte(k>>8), byte(k))}
}

// dialTCP is the network. A connection with an address of its own gets its port when it connects, so that the port may
// be used again for another server.
func dialTCP(ctx context.Context, server string, local net.Addr) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: local, KeepAlive: -1}
	if local != nil {
		dialer.Control = func(_, _ string, c syscall.RawConn) error {
			return c.Control(choosePortLate)
		}
	}
	return dialer.DialContext(ctx, "tcp", server)
}
