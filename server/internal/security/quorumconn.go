package security

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/seed94657493/warren/internal/sasl"
)

// TLSRecord is the first byte of a TLS handshake.
const TLSRecord = 0x16

// helloHead is how many bytes of a connection show whether it begins with TLS: the header of its first record.
const helloHead = 5

// begin reads the first bytes of a connection. They are fewer if the timeout ends before, or if the other side
// has closed its sending side: on the election port a server does that to be called back. ctx has the deadline of
// the connection.
func begin(ctx context.Context, nc net.Conn, timeout time.Duration) (*sasl.BegunConn, error) {
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
	return &sasl.BegunConn{Conn: nc, Head: head[:n]}, nc.SetReadDeadline(deadline)
}

// isHello reports whether the first bytes of a connection are those of TLS. No other traffic on the two ports begins
// so: a packet has a small type, a greeting a version near zero, and SASL its magic number.
func isHello(head []byte) bool { return len(head) == helloHead && head[0] == TLSRecord && head[1] == 3 }

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
