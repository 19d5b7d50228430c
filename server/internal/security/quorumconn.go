package security

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// TLSRecord is the first byte of a TLS handshake.
const TLSRecord = 0x16

// helloHead is how many bytes of a connection show whether it begins with TLS: the header of its first record.
const helloHead = 5

// begunConn is a connection whose first bytes have been read already.
type begunConn struct {
	net.Conn
	head []byte // bytes that were not read again yet
}

// begin reads the first bytes of a connection. They are fewer if the timeout ends before, or if the other side
// has closed its sending side: on the election port a server does that to be called back. ctx has the deadline of
// the connection.
func begin(ctx context.Context, nc net.Conn, timeout time.Duration) (*begunConn, error) {
	deadline, _ := ctx.Deadline()
	if early := time.Now().Add(timeout); early.Before(deadline) {
		_ = nc.SetReadDeadline(early)
	}
	head := make([]byte, helloHead)
	n, err := io.ReadFull(nc, head)
	late := errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(deadline)
	if err != nil && !late && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return &begunConn{nc, head[:n]}, nc.SetReadDeadline(deadline)
}

// hello reports whether TLS begins here. No other traffic on the two ports begins so: a packet has a small type,
// a greeting a version near zero, and SASL its magic number.
func (c *begunConn) hello() bool {
	return len(c.head) == helloHead && c.head[0] == TLSRecord && c.head[1] == 3
}

// Read implements net.Conn.
func (c *begunConn) Read(b []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(b, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// CloseWrite ends the sending direction, if the connection can.
func (c *begunConn) CloseWrite() error { return closeWrite(c.Conn) }

// safeConn is a connection between two servers over TLS. Its handshake is done.
type safeConn struct {
	*tls.Conn
	below net.Conn
}

// Close ends the connection at once, without an alert: the caller may hold a lock, and the other side may not
// read.
func (c *safeConn) Close() error { return c.below.Close() }

// CloseWrite ends the sending direction, by TLS and then by TCP. It may wait for the other side.
func (c *safeConn) CloseWrite() error {
	if err := c.Conn.CloseWrite(); err != nil {
		return err
	}
	return closeWrite(c.below)
}

func closeWrite(nc net.Conn) error {
	if w, ok := nc.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
