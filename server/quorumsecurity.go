package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/keystore"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/server/sasl"
)

// quorumSecurity is what guards the ports between the servers of an ensemble. It is made before the first of them is opened. Its
// zero value encrypts nothing and asks nobody who he is. Source: quorum-protocol section 13, operations sections 8.5 and 8.6.
type quorumSecurity struct {
	keys      *keystore.Keys        // nil if nothing is encrypted
	accepting *tls.Config           // of every handshake that another server begins
	initiator *sasl.QuorumInitiator // nil if this server does not say who it is
	acceptor  *sasl.QuorumAcceptor  // nil if others are not asked
}

var (
	errNoQuorumKeys  = errors.New("server: ssl.quorum.keyStore.location is not set, but sslQuorum or portUnification is")
	errNoQuorumTrust = errors.New("server: ssl.quorum.trustStore.location is not set: nothing tells the servers of the ensemble from others")
	errNoQuorumUsers = errors.New("server: quorum.auth.enableSasl needs a JAAS file: set java.security.auth.login.config")
	errFIPSDigest    = errors.New("server: quorum.auth.enableSasl uses DIGEST-MD5, which fips-mode=true excludes: set fips-mode=false, or use sslQuorum")
)

// secureQuorum loads certificates and users for the ports between servers.
func (s *Server) secureQuorum() error {
	if s.cfg.SSLQuorum || s.cfg.PortUnification {
		if err := s.loadQuorumKeys(); err != nil {
			return err
		}
	}
	if s.cfg.QuorumAuth.EnableSASL {
		return s.loadQuorumUsers()
	}
	return nil
}

func (s *Server) loadQuorumKeys() error {
	cfg := &s.cfg.QuorumTLS
	switch {
	case cfg.KeyStore.Location == "":
		return errNoQuorumKeys
	case cfg.TrustStore.Location == "":
		return errNoQuorumTrust
	}
	keys, err := keystore.Open(s.fs, cfg, s.log)
	if err != nil {
		return err
	}
	s.quorum.keys, s.quorum.accepting = keys, keys.MemberServer(s.memberNames)
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_tls_quorum_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that other servers are shown, or one above it, expires; renew it before.",
	}, func() float64 { return float64(keys.Expires().Unix()) }))
	if !time.Now().Before(keys.Expires()) {
		s.log.Error("the certificate for the other servers has expired: they do not let this server in", zap.Time("expired", keys.Expires()))
	}
	s.log.Info("TLS between servers is on", zap.Bool("dialled", s.cfg.SSLQuorum), zap.Bool("plain_accepted", s.cfg.PortUnification),
		zap.String("client_auth", cfg.ClientAuth), zap.Time("certificate_expires", keys.Expires()))
	return nil
}

// loadQuorumUsers reads who the servers are from the JAAS file. fips-mode counts only if it is written down: it is on by default,
// and before ZooKeeper 3.9 nobody had to switch it off.
func (s *Server) loadQuorumUsers() error {
	q := &s.cfg.QuorumAuth
	switch {
	case s.cfg.FIPSMode && s.cfg.Given("fips-mode"):
		return errFIPSDigest
	case s.cfg.SASL.LoginConfig == "":
		return errNoQuorumUsers
	}
	jaas, err := s.readJAAS()
	if err != nil {
		return err
	}
	users, err := jaas.Users(q.ServerLoginContext)
	if err != nil {
		return fmt.Errorf("server: %s: %w", s.cfg.SASL.LoginConfig, err)
	}
	name, password, err := jaas.Credentials(q.LearnerLoginContext)
	if err != nil {
		return fmt.Errorf("server: %s: %w", s.cfg.SASL.LoginConfig, err)
	}
	s.quorum.acceptor = &sasl.QuorumAcceptor{Users: users, Required: q.ServerRequireSASL}
	if q.LearnerRequireSASL {
		s.quorum.initiator = &sasl.QuorumInitiator{User: name, Password: password}
	}
	s.log.Info("SASL between servers is on", zap.String("mechanism", "DIGEST-MD5"), zap.Int("users", users.Len()),
		zap.Bool("learner_require", q.LearnerRequireSASL), zap.Bool("server_require", q.ServerRequireSASL))
	return nil
}

// peerSecurity is what the connections between servers are put through.
func (s *Server) peerSecurity() peers.Security {
	var sec peers.Security
	if s.quorum.keys != nil {
		sec.Encrypt = s.encryptPeer
	}
	if s.quorum.initiator != nil {
		sec.Initiate = s.quorum.initiator.Connect
	}
	if s.quorum.acceptor != nil {
		sec.Accept = s.admitPeer
	}
	return sec
}

// encryptPeer begins TLS on a connection that another server has opened, if that one does.
func (s *Server) encryptPeer(ctx context.Context, nc net.Conn) (net.Conn, error) {
	if s.cfg.PortUnification {
		begun, err := begin(ctx, nc, s.cfg.QuorumTLS.HandshakeDetectionTimeout)
		if err != nil {
			return nil, err
		}
		if nc = begun; !begun.hello() {
			return nc, nil
		}
	}
	return shake(ctx, nc, tls.Server(nc, s.quorum.accepting))
}

// proofPatience is how long a server that need not say who it is may be silent. It is shorter than the time after which a
// server asks once more to be called back on the election port: one that is called back and one that calls may both have nothing
// to say before the other does.
const proofPatience = 400 * time.Millisecond

// admitPeer hears who has opened a connection.
func (s *Server) admitPeer(ctx context.Context, nc net.Conn) (net.Conn, error) {
	if !s.quorum.acceptor.Required {
		begun, err := begin(ctx, nc, proofPatience)
		if err != nil {
			return nil, err
		}
		if nc = begun; len(begun.head) == 0 {
			return nc, nil
		}
	}
	admission, err := s.quorum.acceptor.Accept(nc)
	if err != nil {
		return nil, err
	}
	if admission.Failure != nil {
		s.log.Warn("server failed to authenticate, and goes on: quorum.auth.serverRequireSasl is false",
			zap.Stringer("peer_addr", nc.RemoteAddr()), zap.Error(admission.Failure))
	}
	return admission.Conn, nil
}

// dialPeer connects to a port of another member, and makes the connection safe if it has to be.
func (s *Server) dialPeer(ctx context.Context, network, address string) (net.Conn, error) {
	dial := s.options.DialPeer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	nc, err := dial(ctx, network, address)
	if err != nil || !s.cfg.SSLQuorum {
		return nc, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("server: TLS with %s: %w", address, err)
	}
	safe, err := shake(ctx, nc, tls.Client(nc, s.quorum.keys.MemberClient(host, ipOf(nc.RemoteAddr()))))
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("server: TLS with %s: %w", address, err)
	}
	return safe, nil
}

// listenPeer opens a port for other members. TLS begins when a connection has been accepted.
func (s *Server) listenPeer(network, address string) (net.Listener, error) {
	if s.options.ListenPeer != nil {
		return s.options.ListenPeer(network, address)
	}
	return net.Listen(network, address)
}

// memberNames returns the names of members that lead to an address. All are looked up at once, since that of one that is gone
// may take its time.
func (s *Server) memberNames(ctx context.Context, addr netip.Addr) []string {
	var hosts []string
	members := s.membership().Members
	for i := range members {
		for _, a := range members[i].Addresses {
			if _, err := netip.ParseAddr(a.Host); err != nil {
				hosts = append(hosts, a.Host)
			}
		}
	}
	leads := make([]bool, len(hosts))
	var running sync.WaitGroup
	for i, host := range hosts {
		running.Go(func() {
			found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			for _, ip := range found {
				leads[i] = leads[i] || err == nil && ip.Unmap() == addr
			}
		})
	}
	running.Wait()
	var names []string
	for i, host := range hosts {
		if leads[i] {
			names = append(names, host)
		}
	}
	return names
}

func ipOf(addr net.Addr) netip.Addr { return addrPortOf(addr).Addr().WithZone("") }
