package admin

import (
	"net"
	"sync"
	"time"
)

// Bounds for one client, and for all of them together.
const (
	// connectionsMax is how many connections are open; others wait to be accepted.
	connectionsMax = 256
	// commandsMax is how many commands gather their answer at once; others wait.
	commandsMax = 4
	// headerBytesMax bounds the header of a request. net/http adds 4 KiB.
	headerBytesMax = 16 << 10
	// bodyBytesMax bounds the body of a request that no command reads.
	bodyBytesMax = 64 << 10
	// requestTimeout is how long a client may take to send a request.
	requestTimeout = 5 * time.Second
	// answerTimeout is how long a client may take for an answer, or for one piece of a snapshot.
	answerTimeout = 30 * time.Second
	// pieceBytes is the size of such a piece.
	pieceBytes = 256 << 10
)

// limited is a listener that has no more than cap(tokens) connections open.
type limited struct {
	net.Listener
	tokens chan struct{} // one for each open connection
	closed chan struct{} // closed by Close
	once   sync.Once
}

func limit(ln net.Listener, most int) *limited {
	return &limited{Listener: ln, tokens: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits until there is room for a connection, and then for the connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.tokens <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	nc, err := l.Listener.Accept()
	if err != nil {
		<-l.tokens
		return nil, err
	}
	return &limitedConn{Conn: nc, of: l}, nil
}

// Close ends Accept, even while it waits for room.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	of   *limited
	once sync.Once
}

// Close closes the connection. It may be called again.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.of.tokens })
	return err
}
