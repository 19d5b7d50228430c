package sasl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/seed94657493/warren/kerberos"
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
	errPacketToken = errors.New("sasl: packet has a token that is too long")
	errRounds      = errors.New("sasl: exchange does not end")
	// errSilent is returned by QuorumAcceptor.Accept for a peer that must authenticate and does not try to.
	errSilent = errors.New("sasl: peer does not authenticate, and must")
)

// QuorumAcceptor is the accepting side of connections between servers: on the election port after the handshake,
// on the quorum and observer master ports before anything else. It may be used by many goroutines.
type QuorumAcceptor struct {
	// Mechanism is how servers authenticate, and which may connect.
	Mechanism *Acceptor
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
	pushed := &BegunConn{Conn: c, Head: head[:]}
	if binary.BigEndian.Uint64(head[:]) != quorumMagic {
		if a.Required {
			return Admission{}, errSilent
		}
		return Admission{Conn: pushed}, nil
	}
	user, err := a.exchange(pushed)
	if err == nil {
		return Admission{Conn: c, User: user}, nil
	}
	if sendErr := writePacket(c, statusError, nil); sendErr != nil || a.Required || !errors.Is(err, ErrAuth) {
		return Admission{}, err
	}
	return Admission{Conn: c, Failure: err}, nil
}

func (a *QuorumAcceptor) exchange(c net.Conn) (user string, err error) {
	server := a.Mechanism.Begin(nil)
	for range roundsMax {
		_, token, err := readPacket(c, a.Mechanism.tokenMax)
		if err != nil {
			return "", err
		}
		reply, err := server.Step(token)
		if errors.Is(err, digestmd5.ErrAuth) {
			err = fmt.Errorf("%w: %w", ErrAuth, err)
		}
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

// ClientExchange is the connecting side of one exchange. A client.Exchange is one.
type ClientExchange interface {
	// Next returns the token that answers a challenge, which is nil at first. isLast means that the other side has
	// only to accept the token, or with a nil token that the exchange is over.
	Next(challenge []byte) (token []byte, isLast bool, err error)
}

// QuorumInitiator is the connecting side: it begins an exchange with the server that the configuration calls host. It
// may block until ctx ends, and may be used by many goroutines.
type QuorumInitiator func(ctx context.Context, host string) (ClientExchange, error)

// NewDigestInitiator returns the connecting side that proves a password, and wants it proved by the other side.
func NewDigestInitiator(user, password string) QuorumInitiator {
	return func(context.Context, string) (ClientExchange, error) {
		return &digestExchange{client: digestmd5.NewClient(digestmd5.QuorumRealm, user, password, NewNonce())}, nil
	}
}

// NewKerberosInitiator returns the connecting side that shows a ticket for service, in which _HOST stands for the
// host of the other side.
func NewKerberosInitiator(login *kerberos.Login, service kerberos.Principal) QuorumInitiator {
	return func(ctx context.Context, host string) (ClientExchange, error) {
		of := service.At(host).String()
		if err := login.Prepare(ctx, of); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAuth, err)
		}
		return login.Initiate(of), nil
	}
}

// digestExchange is a digestmd5.Client as a ClientExchange.
type digestExchange struct {
	client *digestmd5.Client
	began  bool
}

// Next implements ClientExchange.
func (d *digestExchange) Next(challenge []byte) (token []byte, isLast bool, err error) {
	if !d.began {
		d.began = true
		return []byte{}, false, nil
	}
	token, err = d.client.Step(challenge)
	return token, d.client.Done(), err
}

// Connect authenticates to the server at the other end, which the configuration calls host, and makes sure that it is
// that server. On an error the caller closes the connection. It blocks; the caller sets a deadline, that of ctx, and
// removes it.
func (q QuorumInitiator) Connect(ctx context.Context, c net.Conn, host string) error {
	client, err := q(ctx, host)
	if err != nil {
		return err
	}
	status, challenge, isLast := statusProgress, []byte(nil), false
	for range roundsMax {
		var token []byte
		if token, isLast, err = client.Next(challenge); err != nil {
			return fmt.Errorf("%w: %w", ErrAuth, err)
		}
		if token == nil && isLast {
			break
		}
		if status != statusProgress {
			return fmt.Errorf("%w: the server ends the exchange too early", ErrAuth)
		}
		if err := writePacket(c, statusProgress, token); err != nil {
			return err
		}
		if status, challenge, err = readPacket(c, kerberos.TokenMax); err != nil {
			return err
		}
		if status == statusError {
			return fmt.Errorf("%w: refused by the server", ErrAuth)
		}
		if isLast {
			break
		}
	}
	if !isLast || status != statusSuccess {
		return fmt.Errorf("%w: the server does not end the exchange in time", ErrAuth)
	}
	return nil
}

// readPacket reads one packet, with a token of at most max bytes. A null token is nil.
func readPacket(r io.Reader, max int) (quorumStatus, []byte, error) {
	var head [packetHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, fmt.Errorf("sasl: packet: %w", err)
	}
	if binary.BigEndian.Uint64(head[:]) != quorumMagic {
		return 0, nil, errPacketMagic
	}
	status, n := quorumStatus(binary.BigEndian.Uint32(head[8:])), int32(binary.BigEndian.Uint32(head[12:]))
	switch {
	case n == -1:
		return status, nil, nil
	case n < 0 || int(n) > max:
		return 0, nil, errPacketToken
	}
	var token bytes.Buffer // it grows with the bytes that arrive
	if _, err := io.CopyN(&token, r, int64(n)); err != nil {
		return 0, nil, fmt.Errorf("sasl: token: %w", err)
	}
	return status, append([]byte{}, token.Bytes()...), nil
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

// BegunConn is a connection whose first bytes have been read already.
type BegunConn struct {
	net.Conn
	Head []byte // bytes that were not read again yet
}

// Read implements net.Conn.
func (c *BegunConn) Read(b []byte) (int, error) {
	if len(c.Head) > 0 {
		n := copy(b, c.Head)
		c.Head = c.Head[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// CloseWrite ends the sending direction, if the connection can.
func (c *BegunConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
