package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/hostport"
)

// errRejected is the answer of a server that does not know the session (any more).
var errRejected = errors.New("client: session is unknown to the server")

// Resume identifies a session, so that another client can take it over. It is a secret.
type Resume struct {
	SessionID SessionID
	Password  [proto.PasswordSize]byte
	Zxid      Zxid // newest zxid that the session has seen
}

// greeted is a connection whose server has accepted the session.
type greeted struct {
	nc   net.Conn
	in   frames
	addr string
	resp proto.ConnectResponse
	// knows says that outcomes are those of all calls of the session that have one.
	knows    bool
	outcomes proto.OutcomesResponse
	// began is just before the session was offered: the server has heard of the session since.
	began time.Time
}

// greet dials one address, offers the session and authenticates by SASL. It returns errRejected if the session
// has expired.
func (s *session) greet(ctx context.Context, e endpoint) (*greeted, error) {
	ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	if e.open != nil {
		go e.open.abandon(ctx, e.addr, cancel)
	}
	nc, err := s.cfg.dial(ctx, "tcp", e.addr)
	if err != nil {
		return nil, fmt.Errorf("client: dial %s: %w", e.addr, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	g, err := s.hello(ctx, nc, e)
	if !stop() && err == nil {
		err = fmt.Errorf("client: greet %s: %w", e.addr, ctx.Err())
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return g, nc.SetDeadline(time.Time{})
}

func (s *session) hello(ctx context.Context, nc net.Conn, e endpoint) (*greeted, error) {
	if s.cfg.tls != nil {
		secure, err := secured(ctx, nc, s.cfg.tls, e.host)
		if err != nil {
			return nil, fmt.Errorf("client: tls with %s: %w", e.addr, err)
		}
		nc = secure
	}
	g := &greeted{nc: nc, addr: e.addr, began: time.Now(), in: newFrames(nc, s.cfg.replyMax)}
	asked := s.id
	req := proto.ConnectRequest{LastZxidSeen: s.lastZxid(), TimeOut: int32(s.cfg.sessionTimeout.Milliseconds()),
		SessionID: asked, Password: s.password[:], ReadOnly: s.cfg.readOnly, HasReadOnly: true,
		Extensions: s.cfg.extensions}
	if _, err := nc.Write(endFrame(req.AppendTo(beginFrame(nil)), 0)); err != nil {
		return nil, fmt.Errorf("client: greet %s: %w", e.addr, err)
	}
	frame, err := g.in.next()
	if err != nil {
		return nil, fmt.Errorf("client: greet %s: %w", e.addr, err)
	}
	if err := g.resp.ReadFrom(frame); err != nil {
		return nil, fmt.Errorf("client: greet %s: %w: %w", e.addr, ErrProtocol, err)
	}
	switch r := &g.resp; {
	case (r.TimeOut <= 0 || r.SessionID == 0) && asked != 0:
		return nil, errRejected
	case r.TimeOut <= 0 || r.SessionID == 0:
		return nil, fmt.Errorf("client: greet %s: %w: no session was made", e.addr, ErrProtocol)
	case asked != 0 && r.SessionID != asked:
		return nil, fmt.Errorf("client: greet %s: %w: session %v instead of %v", e.addr, ErrProtocol,
			r.SessionID, asked)
	}
	if s.cfg.sasl != nil {
		if err := s.authenticate(g, e); err != nil {
			return nil, err
		}
	}
	err = s.ask(g)
	if err != nil && time.Since(s.asked) >= time.Duration(g.resp.TimeOut)*time.Millisecond {
		s.giveUp(ErrConnectionLoss)
	}
	return g, err
}

// secured puts TLS on a connection to host.
func secured(ctx context.Context, nc net.Conn, conf *tls.Config, host string) (net.Conn, error) {
	conf = conf.Clone()
	conf.ServerName = cmp.Or(conf.ServerName, hostport.WithoutZone(host))
	secure := tls.Client(nc, conf)
	return secure, secure.HandshakeContext(ctx)
}

// authenticate runs the SASL exchange. The connection carries nothing else before it is over. Source:
// client-protocol 14.1.
func (s *session) authenticate(g *greeted, e endpoint) error {
	exchange := s.cfg.sasl(e.host)
	var challenge []byte
	for xid := int32(1); xid <= 16; xid++ {
		token, isLast, err := exchange.Next(challenge)
		if err != nil {
			err = fmt.Errorf("client: sasl with %s: %w", g.addr, err)
			if isTemporary(err) {
				return err
			}
			return &authError{err}
		}
		if token == nil && isLast {
			return nil
		}
		req := proto.GetSASLRequest{Token: token}
		b := req.AppendTo(beginRequest(nil, xid, proto.OpSasl))
		if _, err := g.nc.Write(endFrame(b, 0)); err != nil {
			return fmt.Errorf("client: sasl with %s: %w", g.addr, err)
		}
		frame, err := g.in.next()
		if err != nil {
			return fmt.Errorf("client: sasl with %s: %w", g.addr, err)
		}
		var h proto.ReplyHeader
		if err := h.ReadFrom(frame); err != nil || h.Xid != xid {
			return fmt.Errorf("client: sasl with %s: %w: not the reply to a token", g.addr, ErrProtocol)
		}
		if h.Err != proto.OK {
			return &authError{fmt.Errorf("client: sasl with %s: %w", g.addr, h.Err)}
		}
		var resp proto.SetSASLResponse
		if err := resp.ReadFrom(frame[proto.ReplyHeaderSize:]); err != nil {
			return fmt.Errorf("client: sasl with %s: %w: %w", g.addr, ErrProtocol, err)
		}
		if isLast && resp.Token == nil {
			return nil
		}
		if resp.Token == nil {
			return &authError{fmt.Errorf("client: sasl with %s: the server has no sasl configured: %w",
				g.addr, ErrAuthFailed)}
		}
		challenge = append([]byte{}, resp.Token...)
	}
	return &authError{fmt.Errorf("client: sasl with %s: %w: the exchange does not end", g.addr, ErrProtocol)}
}

// isTemporary reports whether an Exchange may succeed at the next attempt.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// authError is an error of credentials: another server would refuse them too.
type authError struct{ error }

func (e *authError) Unwrap() error { return e.error }
