package keystore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto/hostport"
)

var (
	errNoRoots   = errors.New("keystore: there is no trust store to check the peer's certificate with")
	errNoPeer    = errors.New("keystore: the peer has shown no certificate")
	errNoName    = errors.New("keystore: no name is known to compare the peer's certificate with")
	errWrongName = errors.New("keystore: the peer's certificate is for another host")
)

// verifyClient checks the certificate of a connecting peer, if it has sent one; crypto/tls requires one where it
// must.
func (k *Keys) verifyClient(m *material, cs *tls.ConnectionState, at peer) error {
	if len(cs.PeerCertificates) == 0 {
		return nil
	}
	if err := k.verifyChain(m, cs, x509.ExtKeyUsageClientAuth); err != nil {
		return err
	}
	if !k.checksClientHost() {
		return nil
	}
	return k.verifyAddr(cs.PeerCertificates[0], at)
}

// verifyMember checks the certificate of a connecting member as verifyClient does, but also accepts one for a
// name of its address.
func (k *Keys) verifyMember(m *material, cs *tls.ConnectionState, at peer, names func() []string) error {
	err := k.verifyClient(m, cs, at)
	if !errors.Is(err, errWrongName) {
		return err
	}
	for _, name := range names() {
		if verifyName(cs.PeerCertificates[0], name) == nil {
			return nil
		}
	}
	return err
}

// checksClientHost reports whether a client's certificate must be for its address. Without hostnameVerification
// the other key has no effect, as in ZooKeeper.
func (k *Keys) checksClientHost() bool {
	return k.cfg.HostnameVerification && k.cfg.ClientHostnameVerification
}

// verifyServer checks the certificate of an accepting peer, which the configuration calls host.
func (k *Keys) verifyServer(m *material, cs *tls.ConnectionState, host string) error {
	if len(cs.PeerCertificates) == 0 {
		return errNoPeer
	}
	if err := k.verifyChain(m, cs, x509.ExtKeyUsageServerAuth); err != nil {
		return err
	}
	if !k.cfg.HostnameVerification {
		return nil
	}
	if host == "" {
		return errNoName
	}
	return verifyName(cs.PeerCertificates[0], host)
}

// verifyChain checks that the peer's certificate leads to a trusted one, is valid now, is for this use, and has
// not been revoked.
func (k *Keys) verifyChain(m *material, cs *tls.ConnectionState, use x509.ExtKeyUsage) error {
	if m.roots == nil {
		return errNoRoots
	}
	between := x509.NewCertPool()
	for _, x := range cs.PeerCertificates[1:] {
		between.AddCert(x)
	}
	now := time.Now()
	chains, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: m.roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use},
	})
	if err != nil {
		return fmt.Errorf("keystore: peer %q: %w", cs.PeerCertificates[0].Subject, err)
	}
	if !k.cfg.CRL {
		return nil
	}
	// One valid chain is enough, as for Verify.
	for _, chain := range chains {
		if err = checkRevocation(chain, m.lists, now); err == nil {
			return nil
		}
	}
	return err
}

// verifyAddr compares a certificate with the address of its peer and, if allowed, with the names of the address.
// A name counts only if it resolves to the address, since the owner of the address can give it any name.
func (k *Keys) verifyAddr(x *x509.Certificate, at peer) error {
	err := verifyName(x, at.addr.String())
	if err == nil || !k.cfg.AllowReverseDNSLookup {
		return err
	}
	at.pause()
	names, lookupErr := net.LookupAddr(at.addr.String())
	if lookupErr != nil {
		return err
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".")
		if verifyName(x, name) == nil && leadsTo(name, at.addr) {
			return nil
		}
	}
	return err
}

func leadsTo(name string, addr netip.Addr) bool {
	hosts, err := net.LookupHost(name)
	return err == nil && slices.ContainsFunc(hosts, func(host string) bool {
		a, err := netip.ParseAddr(host)
		return err == nil && a.Unmap() == addr
	})
}

// verifyName compares a certificate with a host name or an address: with its DNS and IP names and, only if it has
// neither, with its common name, as ZooKeeper's verifier does.
func verifyName(x *x509.Certificate, host string) error {
	host = hostport.WithoutZone(host)
	if len(x.DNSNames) > 0 || len(x.IPAddresses) > 0 {
		if err := x.VerifyHostname(host); err != nil {
			return fmt.Errorf("%w: %w", errWrongName, err)
		}
		return nil
	}
	named := x509.Certificate{}
	if addr, err := netip.ParseAddr(x.Subject.CommonName); err == nil {
		named.IPAddresses = []net.IP{addr.AsSlice()}
	} else {
		named.DNSNames = []string{x.Subject.CommonName}
	}
	if x.Subject.CommonName == "" || named.VerifyHostname(host) != nil {
		return fmt.Errorf("%w: it is for %q, and not for %q", errWrongName, x.Subject.CommonName, host)
	}
	return nil
}
