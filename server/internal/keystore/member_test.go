package keystore

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// A member's certificate is for the address at the other end, or for a name from the configuration that leads to it.
func TestMembers(t *testing.T) {
	ca := pki.NewCA("ca")
	named := ca.Issue(pki.Options{Hosts: []string{"zk1.example"}})
	placed := ca.Issue(pki.Options{Hosts: []string{"127.0.0.1"}})
	off := func(c *config.TLS) { c.HostnameVerification = false }
	for name, c := range map[string]struct {
		server, client       *pki.Leaf
		change               func(*config.TLS)
		names                []string // that lead to the client
		badServer, badClient string
	}{
		"both by name":    {server: named, client: named, names: []string{"zk2.example", "zk1.example"}},
		"both by address": {server: placed, client: placed},
		"client by another name": {server: named, client: named, names: []string{"zk2.example"},
			badServer: "another host"},
		"client by no name": {server: named, client: named, badServer: "another host"},
		"client, not compared": {server: named, client: named,
			change: func(c *config.TLS) { c.ClientHostnameVerification = false }},
		"server by another name": {server: ca.Issue(pki.Options{Hosts: []string{"zk2.example"}}), client: placed,
			badClient: "another host"},
		"server by another address": {server: ca.Issue(pki.Options{Hosts: []string{"127.0.0.2"}}), client: placed,
			badClient: "another host"},
		"nothing is compared": {server: ca.Issue(pki.Options{Name: "x"}),
			client: ca.Issue(pki.Options{Name: "y"}), change: off},
		"strange client, with names": {server: named, client: pki.NewCA("ca").
			Issue(pki.Options{Hosts: []string{"zk1.example"}}), names: []string{"zk1.example"},
			badServer: "unknown authority"},
		"strange server at its address": {server: pki.NewCA("ca").Issue(pki.Options{Hosts: []string{"127.0.0.1"}}),
			client: placed, badClient: "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			cfg.ClientHostnameVerification = true
			if c.change != nil {
				c.change(cfg)
			}
			local := netip.MustParseAddr("127.0.0.1")
			server := side(t, cfg, c.server, ca.PEM()).MemberServer(func(_ context.Context, addr netip.Addr) []string {
				require.Equal(t, local, addr)
				return c.names
			})
			client := side(t, cfg, c.client, ca.PEM()).MemberClient("zk1.example", local)
			_, fromServer, fromClient := shake(t, server, client)
			if c.badServer != "" {
				require.ErrorContains(t, fromServer, c.badServer)
			}
			if c.badClient != "" {
				require.ErrorContains(t, fromClient, c.badClient)
			}
			if c.badServer+c.badClient == "" {
				require.NoError(t, fromServer)
				require.NoError(t, fromClient)
			}
		})
	}
}

// Members are shown the certificates of the present files.
func TestMembersAfterReload(t *testing.T) {
	ca, next := pki.NewCA("ca"), pki.NewCA("next")
	old := ca.Issue(pki.Options{Hosts: []string{"127.0.0.1"}})
	fs := memory(t, map[string][]byte{"key.pem": old.PEM(), "trust.pem": append(ca.PEM(), next.PEM()...)})
	k := must.Do(Open(fs, settings(), nil))(t)
	server := k.MemberServer(func(context.Context, netip.Addr) []string { return nil })
	peer := side(t, settings(), next.Issue(pki.Options{Hosts: []string{"127.0.0.1"}}), next.PEM())
	_, _, fromClient := shake(t, server, peer.MemberClient("127.0.0.1", netip.Addr{}))
	require.ErrorContains(t, fromClient, "unknown authority")
	write(t, fs, "/key.pem", next.Issue(pki.Options{Hosts: []string{"127.0.0.1"}}).PEM())
	require.NoError(t, k.Reload())
	_, fromServer, fromClient := shake(t, server, peer.MemberClient("127.0.0.1", netip.Addr{}))
	require.NoError(t, fromServer)
	require.NoError(t, fromClient)
}
