package embed

import (
	"io"
	"net"
	"sync"
	"time"
)

// conn is a net.Conn: one end of a connection between two servers.
type conn struct {
	in, out       *stream
	local, remote net.Addr
	closed        func()
	once          sync.Once
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	return n, c.wrap("read", err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	return n, c.wrap("write", err)
}

// wrap names the connection in an error, except io.EOF.
func (c *conn) wrap(op string, err error) error {
	if err == nil || op == "read" && err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close implements net.Conn: bytes that were written still arrive.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.out.seal()
		c.in.leave()
		c.closed()
	})
	return nil
}

// CloseWrite ends the sending direction, as on a TCP connection.
func (c *conn) CloseWrite() error {
	c.out.seal()
	return nil
}

func (c *conn) LocalAddr() net.Addr { return c.local }

func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	c.in.readBy(t)
	c.out.writeBy(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.readBy(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.writeBy(t)
	return nil
}
