package sasl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/seed94657493/warren/proto/digestmd5"
)

// The packets between two servers are, without a frame: magic (8 bytes), status (4), length of the token (4) and
// the token. Source: quorum-protocol 13.1.
const (
	quorumMagic  = 0x5f2435013501edcc
	packetHeader = 16
	// roundsMax is how many tokens a peer may send.
	roundsMax = 5
)

type quorumStatus int32

const (
	statusProgress quorumStatus = 0
	statusSuccess  quorumStatus = 1
	statusError    quorumStatus = -1
)

var (
	errPacketMagic = errors.New("sasl: packet does not begin with the magic number")
	errPacketToken = errors.New("sasl: packet has a token that is null or too long")
	errRounds      = errors.New("sasl: exchange does not come to an end")
	// ErrSilent is returned by QuorumAcceptor.Accept for a peer that must authenticate and does not try to.
	ErrSilent = errors.New("sasl: peer does not authenticate, and must")
)

// QuorumAcceptor is the accepting side of connections between servers: on the election port after the handshake,
// on the quorum and observer master ports before anything else. It may be used by many goroutines.
type QuorumAcceptor struct {
	// Users are the users that may connect.
	Users *Users
	// Required refuses peers that do not authenticate or fail to. Key quorum.auth.serverRequireSasl.
	Required bool
}

// Admission is a peer that is let in.
type Admission struct {
	// Conn is the connection to go on with: it begins with the bytes that were read to find out whether the peer
	// authenticates.
	Conn net.Conn
	// User is the name that the peer has authenticated as; "" if it has not, and need not.
	User string
	// Failure is the error of a peer that need not authenticate, and tried and failed; nil if it has not tried.
	// It is for the log.
	Failure error
}

// Accept lets a peer authenticate. A peer that has closed its sending side instead is admitted if it need not
// authenticate. On an error Accept has sent the refusal, and the caller closes the connection. Accept blocks
// until the peer has sent something; the caller sets a deadline and removes it.
func (a *QuorumAcceptor) Accept(c net.Conn) (Admission, error) {
	var head [8]byte
	n, err := io.ReadFull(c, head[:])
	switch {
	case err == nil:
	case n == 0 && !a.Required && !errors.Is(err, os.ErrDeadlineExceeded):
		// A peer that sends nothing: on the election port it has asked to be called back.
		return Admission{Conn: c}, nil
	default:
		return Admission{}, fmt.Errorf("sasl: first packet: %w", err)
	}
	pushed := &pushedConn{Conn: c, pushed: head[:]}
	if binary.BigEndian.Uint64(head[:]) != quorumMagic {
		if a.Required {
			return Admission{}, ErrSilent
		}
		return Admission{Conn: pushed}, nil
	}
	user, err := a.exchange(pushed)
	if err == nil {
		return Admission{Conn: c, User: user}, nil
	}
	if sendErr := writePacket(c, statusError, nil); sendErr != nil || a.Required || !errors.Is(err, digestmd5.ErrAuth) {
		return Admission{}, err
	}
	return Admission{Conn: c, Failure: err}, nil
}

func (a *QuorumAcceptor) exchange(c net.Conn) (user string, err error) {
	server := digestmd5.NewServer(digestmd5.QuorumRealm, a.Users.Password, NewNonce())
	for range roundsMax {
		_, token, err := readPacket(c)
		if err != nil {
			return "", err
		}
		reply, err := server.Step(token)
		if err != nil {
			return "", err
		}
		if server.Done() {
			return server.User(), writePacket(c, statusSuccess, reply)
		}
		if err := writePacket(c, statusProgress, reply); err != nil {
			return "", err
		}
	}
	return "", errRounds
}

// QuorumInitiator is the connecting side. It may be used by many goroutines.
type QuorumInitiator struct {
	// User and Password are the credentials that this side proves to know.
	User, Password string
}

// Connect authenticates to the server at the other end, and makes sure that this server knows the password, too.
// On an error the caller closes the connection. It blocks; the caller sets a deadline and removes it.
func (q *QuorumInitiator) Connect(c net.Conn) error {
	client := digestmd5.NewClient(digestmd5.QuorumRealm, q.User, q.Password, NewNonce())
	if err := writePacket(c, statusProgress, nil); err != nil {
		return err
	}
	for range roundsMax {
		status, token, err := readPacket(c)
		if err != nil {
			return err
		}
		if status == statusError {
			return fmt.Errorf("%w: refused by the server", digestmd5.ErrAuth)
		}
		reply, err := client.Step(token)
		if err != nil {
			return err
		}
		switch {
		case status == statusSuccess && client.Done():
			return nil
		case status == statusSuccess || client.Done():
			return fmt.Errorf("%w: the server ends the exchange too early or too late", digestmd5.ErrAuth)
		}
		if err := writePacket(c, statusProgress, reply); err != nil {
			return err
		}
	}
	return errRounds
}

// readPacket reads one packet; the token is at most digestmd5.TokenMax long.
func readPacket(r io.Reader) (quorumStatus, []byte, error) {
	var head [packetHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, fmt.Errorf("sasl: packet: %w", err)
	}
	if binary.BigEndian.Uint64(head[:]) != quorumMagic {
		return 0, nil, errPacketMagic
	}
	n := binary.BigEndian.Uint32(head[12:])
	if n > digestmd5.TokenMax {
		return 0, nil, errPacketToken
	}
	token := make([]byte, n)
	if _, err := io.ReadFull(r, token); err != nil {
		return 0, nil, fmt.Errorf("sasl: token: %w", err)
	}
	return quorumStatus(binary.BigEndian.Uint32(head[8:])), token, nil
}

func writePacket(w io.Writer, status quorumStatus, token []byte) error {
	b := binary.BigEndian.AppendUint64(nil, quorumMagic)
	b = binary.BigEndian.AppendUint32(b, uint32(status))
	b = binary.BigEndian.AppendUint32(b, uint32(len(token)))
	if _, err := w.Write(append(b, token...)); err != nil {
		return fmt.Errorf("sasl: packet: %w", err)
	}
	return nil
}

// pushedConn is a connection whose first bytes have been read already.
type pushedConn struct {
	net.Conn
	pushed []byte
}

// Read implements net.Conn.
func (c *pushedConn) Read(b []byte) (int, error) {
	if len(c.pushed) > 0 {
		n := copy(b, c.pushed)
		c.pushed = c.pushed[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// CloseWrite ends the sending direction, if the connection can.
func (c *pushedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
