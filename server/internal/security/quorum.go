package security

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/socket"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/wal/vfs"
)

// Quorum protects the ports between the servers of an ensemble. Source: quorum-protocol 13, operations 8.5 and
// 8.6.
type Quorum struct {
	o         QuorumOptions
	keys      *keystore.Keys       // nil if nothing is encrypted
	accepting *tls.Config          // for every handshake that another server begins
	initiator sasl.QuorumInitiator // nil if this server does not authenticate itself
	acceptor  *sasl.QuorumAcceptor // nil if other servers need not authenticate
}

// QuorumOptions are the server's parts that a Quorum needs.
type QuorumOptions struct {
	Config   *config.Config
	FS       vfs.FS
	Log      *zap.Logger
	Registry *prometheus.Registry
	// Members returns the present members of the ensemble.
	Members func() []config.Member
	// Handshakes bounds the work of handshakes that are begun at the ports of this server.
	Handshakes *limits.Handshakes
}

// Missing or contradictory settings of the ports between servers.
var (
	ErrNoQuorumKeys = errors.New(
		"server: ssl.quorum.keyStore.location is not set, but sslQuorum or portUnification is")
	ErrNoQuorumTrust = errors.New(
		"server: ssl.quorum.trustStore.location is not set: nothing tells the servers of the ensemble from others")
	ErrNoQuorumUsers = errors.New(
		"server: quorum.auth.enableSasl needs a JAAS file: set java.security.auth.login.config")
	ErrFIPSDigest = errors.New("server: quorum.auth.enableSasl uses DIGEST-MD5, which fips-mode=true excludes: " +
		"set fips-mode=false, or use sslQuorum")
)

// OpenQuorum loads the certificates and users that the configuration asks for.
func OpenQuorum(o QuorumOptions) (*Quorum, error) {
	q := &Quorum{o: o}
	if o.Config.SSLQuorum || o.Config.PortUnification {
		if err := q.loadKeys(); err != nil {
			return nil, o.Config.About(keystore.Located(err, o.Config, "ssl.quorum."), "sslQuorum", "portUnification")
		}
	}
	if o.Config.QuorumAuth.EnableSASL {
		if err := q.loadUsers(); err != nil {
			return nil, o.Config.About(err, "java.security.auth.login.config", "quorum.auth.enableSasl")
		}
	}
	return q, nil
}

// Keys returns the certificates; nil if nothing is encrypted, or q is nil.
func (q *Quorum) Keys() *keystore.Keys {
	if q == nil {
		return nil
	}
	return q.keys
}

// loadKeys reads the certificates.
func (q *Quorum) loadKeys() error {
	cfg := &q.o.Config.QuorumTLS
	switch {
	case cfg.KeyStore.Location == "":
		return ErrNoQuorumKeys
	case cfg.TrustStore.Location == "":
		return ErrNoQuorumTrust
	}
	keys, err := keystore.Open(q.o.FS, cfg, q.o.Log)
	if err != nil {
		return err
	}
	q.keys, q.accepting = keys, q.o.Handshakes.Config(keys.MemberServer(q.memberNames))
	q.o.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "warren_tls_quorum_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that other servers are shown, or one above it, expires; renew it before.",
	}, func() float64 { return float64(keys.Expires().Unix()) }))
	if !time.Now().Before(keys.Expires()) {
		q.o.Log.Error("the certificate for the other servers has expired: they do not let this server in",
			zap.Time("expired", keys.Expires()))
	}
	q.o.Log.Info("TLS between servers is on", zap.Bool("dialled", q.o.Config.SSLQuorum),
		zap.Bool("plain_accepted", q.o.Config.PortUnification), zap.String("client_auth", cfg.ClientAuth),
		zap.Time("certificate_expires", keys.Expires()))
	return nil
}

// loadUsers reads the sections of the servers in the JAAS file, each of which is for DIGEST-MD5 or for Kerberos.
func (q *Quorum) loadUsers() error {
	cfg, file := &q.o.Config.QuorumAuth, q.o.Config.SASL.LoginConfig
	if file == "" {
		return cmp.Or(q.digestAllowed(), ErrNoQuorumUsers)
	}
	jaas, err := ReadJAAS(q.o.FS, file)
	if err != nil {
		return err
	}
	tickets := &Tickets{FS: q.o.FS, Log: q.o.Log, Now: time.Now, Config: q.o.Config.SASL.KerberosConfig}
	if own := q.o.Config.Member(q.o.Config.OwnID()); own != nil {
		tickets.Host = own.Addresses[0].Host // by which the others ask for tickets
	}
	learner, initiator, err := q.initiatorOf(jaas, tickets)
	if err != nil {
		return fmt.Errorf("server: %s: %w", file, err)
	}
	mechanism, err := q.acceptorOf(jaas, tickets, learner)
	if err != nil {
		return fmt.Errorf("server: %s: %w", file, err)
	}
	q.acceptor = &sasl.QuorumAcceptor{Mechanism: mechanism, Required: cfg.ServerRequireSASL}
	if cfg.LearnerRequireSASL {
		q.initiator = initiator
	}
	q.o.Log.Info("SASL between servers is on", zap.String("mechanism", mechanism.Mechanism),
		zap.Bool("learner_require", cfg.LearnerRequireSASL), zap.Bool("server_require", cfg.ServerRequireSASL))
	return nil
}

// digestAllowed returns an error if DIGEST-MD5 must not be used. fips-mode counts only if it is written down: it is
// on by default, and before ZooKeeper 3.9 it did not have to be switched off.
func (q *Quorum) digestAllowed() error {
	if q.o.Config.FIPSMode && q.o.Config.Given("fips-mode") {
		return ErrFIPSDigest
	}
	return nil
}

// initiatorOf returns the connecting side, and for Kerberos the service of which its principal is, "" for a user.
func (q *Quorum) initiatorOf(jaas sasl.JAAS, tickets *Tickets) (learner string, i sasl.QuorumInitiator, err error) {
	cfg := &q.o.Config.QuorumAuth
	k, err := jaas.Kerberos(cfg.LearnerLoginContext)
	if err != nil {
		return "", nil, err
	}
	if k == nil {
		name, password, err := jaas.Credentials(cfg.LearnerLoginContext)
		if err == nil {
			err = q.digestAllowed()
		}
		return "", sasl.NewDigestInitiator(name, password), err
	}
	service, err := kerberos.ParsePrincipal(cfg.KerberosServicePrincipal)
	if err != nil {
		return "", nil, fmt.Errorf("quorum.auth.kerberos.servicePrincipal: %w", err)
	}
	login, err := tickets.Login(k)
	if err != nil {
		return "", nil, err
	}
	if p := login.Principal(); p.Host() != "" {
		learner = p.Components[0]
	}
	return learner, sasl.NewKerberosInitiator(login, service), nil
}

// acceptorOf returns the accepting side. Servers have principals of the service of this server, or of learner.
func (q *Quorum) acceptorOf(jaas sasl.JAAS, tickets *Tickets, learner string) (*sasl.Acceptor, error) {
	section := q.o.Config.QuorumAuth.ServerLoginContext
	k, err := jaas.Kerberos(section)
	if err != nil {
		return nil, err
	}
	if k == nil {
		users, err := jaas.Users(section)
		if err == nil {
			err = q.digestAllowed()
		}
		return sasl.NewDigest(digestmd5.QuorumRealm, users), err
	}
	acceptor, err := tickets.Accept(k)
	if err != nil {
		return nil, err
	}
	own := acceptor.Service()
	return sasl.NewKerberos(acceptor, func(p kerberos.Principal) (string, error) {
		return p.String(), q.isServer(p, own, learner)
	}), nil
}

// isServer returns an error if a principal is not that of a server: a service of the realm, by one of the two names
// that the services of this ensemble have, on a host of a server.N line. ZooKeeper looks at the host only, so that
// any service on it gets in, and before 3.9.1 at nothing if the principal has no host. Source: quorum-protocol 13.1.
func (q *Quorum) isServer(p, own kerberos.Principal, learner string) error {
	switch {
	case p.Host() == "" || p.Realm != own.Realm:
		return fmt.Errorf("server: %s is not a service of %s", p, own.Realm)
	case p.Components[0] != own.Components[0] && p.Components[0] != learner:
		return fmt.Errorf("server: %s is neither %s nor the service of the section %s", p, own.Components[0],
			q.o.Config.QuorumAuth.LearnerLoginContext)
	}
	members := q.o.Members()
	for i := range members {
		for _, a := range members[i].Addresses {
			if strings.EqualFold(a.Host, p.Host()) {
				return nil
			}
		}
	}
	return fmt.Errorf("server: %s is on a host that is in no server.N line", p)
}

// Peers returns the security steps for connections between servers.
func (q *Quorum) Peers() peers.Security {
	var sec peers.Security
	if q.keys != nil {
		sec.Encrypt = q.encrypt
	}
	if q.o.Config.SSLQuorum {
		sec.Secure = q.secure
	}
	if q.initiator != nil {
		sec.Initiate = q.initiator.Connect
	}
	if q.acceptor != nil {
		sec.Accept = q.admit
	}
	return sec
}

// encrypt begins TLS on a connection that another server has opened, if that server begins it.
func (q *Quorum) encrypt(ctx context.Context, nc net.Conn) (net.Conn, error) {
	if q.o.Config.PortUnification {
		begun, err := begin(ctx, nc, q.o.Config.QuorumTLS.HandshakeDetectionTimeout)
		if err != nil {
			return nil, err
		}
		if nc = begun; !isHello(begun.Head) {
			return nc, nil
		}
	}
	over, err := q.o.Handshakes.Shake(ctx, nc, q.accepting)
	if err != nil {
		return nil, err
	}
	return &safeConn{over, nc}, nil
}

// proofPatience is how long a server that need not authenticate itself may be silent. It is shorter than the time
// after which a server asks once more on the election port to be called back: each of two servers may wait for
// the first bytes of the other.
const proofPatience = 400 * time.Millisecond

// admit lets the server that has opened a connection authenticate itself.
func (q *Quorum) admit(ctx context.Context, nc net.Conn) (net.Conn, error) {
	if !q.acceptor.Required {
		begun, err := begin(ctx, nc, proofPatience)
		if err != nil {
			return nil, err
		}
		if nc = begun; len(begun.Head) == 0 {
			return nc, nil
		}
	}
	admission, err := q.acceptor.Accept(nc)
	if err != nil {
		return nil, err
	}
	if admission.Failure != nil {
		q.o.Log.Warn("letting in a server that failed to authenticate: quorum.auth.serverRequireSasl is false",
			zap.Stringer("peer_addr", nc.RemoteAddr()), zap.Error(admission.Failure))
	}
	return admission.Conn, nil
}

// secure encrypts a connection to the member that the configuration calls host.
func (q *Quorum) secure(ctx context.Context, nc net.Conn, host string) (net.Conn, error) {
	ip := socket.AddrPort(nc.RemoteAddr()).Addr().WithZone("")
	over := tls.Client(nc, q.keys.MemberClient(host, ip))
	if err := over.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("server: TLS with %s at %v: %w", host, nc.RemoteAddr(), err)
	}
	return &safeConn{over, nc}, nil
}

// memberNames returns the names of members that resolve to an address. All are looked up at once, because the
// lookup of a host that is gone may take long.
func (q *Quorum) memberNames(ctx context.Context, addr netip.Addr) []string {
	var hosts []string
	members := q.o.Members()
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
