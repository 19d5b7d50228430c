package keystore

import (
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
)

// Between the members of an ensemble a certificate is compared with known facts about its owner: the address at
// the other end of the connection, or a name in the configuration that resolves to this address. ZooKeeper uses
// the reverse lookup of the address, which the owner of the address controls; here that needs
// allowReverseDnsLookup. Source: quorum-protocol 13.2.

// Names returns the names in the configuration that resolve to an address. It may use the network, until ctx
// ends.
type Names func(ctx context.Context, addr netip.Addr) []string

// MemberServer returns the configuration of an accepting side for members of an ensemble. It is like Server, but
// a certificate may also be for one of the names of the member's address. It is nil if there is no key store.
func (k *Keys) MemberServer(names Names) *tls.Config {
	if k.Server() == nil {
		return nil
	}
	cfg := k.base.Clone()
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		m := k.current.Load()
		cfg := m.server.Clone()
		tuneMember(cfg)
		if cfg.ClientAuth != tls.NoClientCert {
			at, ctx := peerOf(hello.Conn), hello.Context()
			cfg.VerifyConnection = func(cs tls.ConnectionState) error {
				return k.verifyMember(m, &cs, at, func() []string {
					at.pause()
					return names(ctx, at.addr)
				})
			}
		}
		return cfg, nil
	}
	return cfg
}

// MemberClient returns a configuration for a connection to a member that the configuration calls host, and that
// was reached at addr. It is like Client, but a certificate may also be for the address.
func (k *Keys) MemberClient(host string, addr netip.Addr) *tls.Config {
	m := k.current.Load()
	cfg := k.client(host)
	tuneMember(cfg)
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		err := k.verifyServer(m, &cs, host)
		if errors.Is(err, errWrongName) && verifyName(cs.PeerCertificates[0], addr.String()) == nil {
			return nil
		}
		return err
	}
	return cfg
}

// tuneMember adapts cfg to connections that are few and long, and carry much data.
func tuneMember(cfg *tls.Config) {
	cfg.DynamicRecordSizingDisabled = true
	cfg.SessionTicketsDisabled = true // a ticket that is not sent cannot be left unread
}
