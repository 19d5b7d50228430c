package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// Authority and certificates of clients and of servers are replaced together, under load, in the order in which an
// operator does it. No session ends, no request fails and no leader changes. Afterwards only the new authority is
// accepted, on both kinds of ports.
func TestAllCertificatesAreReplacedUnderLoad(t *testing.T) {
	g := startGuarded(t, func(g *guarded, c *config.Config) {
		encrypted(g, c)
		c.ClientPortUnification = true
		c.TLS.KeyStore.Location, c.TLS.TrustStore.Location = g.File("clientkey", int(c.ServerID), "pem"),
			g.File("clienttrust", int(c.ServerID), "pem")
		g.writeClientSide(int(c.ServerID), g.CA, g.CA)
	})
	leader := leaderOf(t, g.Ensemble)
	epoch := g.Server(leader).Status().Epoch
	next := pki.NewCA("next")
	client := func(ca *pki.CA, servers ...*pki.CA) *tls.Config {
		leaf, pool := ca.Issue(pki.Options{Name: "app"}), x509.NewCertPool()
		for _, s := range servers {
			pool.AddCert(s.Cert)
		}
		return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1",
			Certificates: []tls.Certificate{{PrivateKey: leaf.Key, Certificate: [][]byte{leaf.Cert.Raw}}}}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var answered atomic.Int64
	for i := range 6 {
		c := connect(t, g.Ensemble, 1+i%members, wire.Options{TLS: client(g.CA, g.CA)})
		path := fmt.Sprintf("/n%d", i)
		c.MustCreate(t, path, nil, proto.ModeEphemeral)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.SetData(path, []byte("x"), -1); err != nil {
					t.Errorf("%s at server %d: %v", path, 1+i%members, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	g.logs.TakeAll()
	for _, step := range []func(id int){
		func(id int) { g.WriteTrust(id, g.CA, next); g.writeClientSide(id, g.CA, g.CA, next) },
		func(id int) {
			g.WriteKey(id, next.Issue(pki.Options{Hosts: []string{address(id)}}))
			g.writeClientSide(id, next, g.CA, next)
		},
		func(id int) { g.WriteTrust(id, next); g.writeClientSide(id, next, next) },
	} {
		for _, id := range g.IDs() {
			step(id)
			require.NoError(t, g.Server(id).ReloadCertificates())
			before := answered.Load()
			until(t, "load that goes on", func() bool { return answered.Load() > before+20 })
		}
	}
	close(stop)
	wg.Wait()
	for _, what := range []string{"link ended", "election channel ended", "refusing connection", "expiring session"} {
		require.Empty(t, g.logs.FilterMessage(what).All(), what)
	}
	require.Equal(t, epoch, g.Server(leader).Status().Epoch, "nobody elected")
	last := connect(t, g.Ensemble, leader, wire.Options{TLS: client(next, next)})
	for i := range 6 {
		require.NoError(t, must.Err(last.Exists(fmt.Sprintf("/n%d", i), false)), "the session lives")
	}
	for _, id := range g.IDs() {
		_, err := wire.Dial(g.Addr(id), wire.Options{TLS: client(g.CA, next)})
		require.Error(t, err, "a client of the old authority")
		connect(t, g.Ensemble, id, wire.Options{TLS: client(next, next)})
	}
	g.replaceLeader("/with-the-new-ones")
}

// writeClientSide gives the client port of a server a certificate and the authorities of its clients.
func (g *guarded) writeClientSide(id int, issuer *pki.CA, clients ...*pki.CA) {
	g.Write(g.File("clientkey", id, "pem"), issuer.Issue(pki.Options{Name: "zk", Hosts: []string{"127.0.0.1"}}).PEM())
	g.Write(g.File("clienttrust", id, "pem"), pki.Join(clients...))
}
