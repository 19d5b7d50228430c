package admin

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// request gets a path, and says whether it was answered.
func request(t *testing.T, url string, cfg *tls.Config) (*http.Response, error) {
	t.Helper()
	client := http.Client{Timeout: time.Minute,
		Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

// One port serves both, or TLS only; what came without TLS where it is offered is counted. Source: operations 3.1.
func TestTLS(t *testing.T) {
	ca := pki.NewCA("admin")
	own := ca.Issue(pki.Options{Hosts: []string{"localhost"}})
	theirs := ca.Issue(pki.Options{Hosts: []string{"localhost"}})
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	identity := func(l *pki.Leaf) tls.Certificate {
		return tls.Certificate{Certificate: [][]byte{l.Cert.Raw}, PrivateKey: l.Key}
	}
	offered := &tls.Config{Certificates: []tls.Certificate{identity(own)}, MinVersion: tls.VersionTLS12}
	asking := offered.Clone()
	asking.ClientAuth, asking.ClientCAs = tls.RequireAndVerifyClientCert, pool
	trusting := &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	known := trusting.Clone()
	known.Certificates = []tls.Certificate{identity(theirs)}

	for name, c := range map[string]struct {
		cfg                          *tls.Config
		plain                        bool
		http, https, withCertificate bool
	}{
		"without":      {nil, false, true, false, false},
		"forced":       {offered, false, false, true, true},
		"unified":      {offered, true, true, true, true},
		"certificates": {asking, false, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			node := &fakeNode{}
			addr := serveOn(t, New(Options{Node: node, TLS: c.cfg, Plain: c.plain}))
			resp, err := request(t, "http://"+addr+"/commands/ruok", nil)
			require.Equal(t, c.http, err == nil && resp.StatusCode == 200, "%v", err)
			if c.http {
				require.Empty(t, resp.Header.Get("Strict-Transport-Security"))
			}
			resp, err = request(t, "https://"+addr+"/commands/ruok", trusting)
			require.Equal(t, c.https, err == nil, "%v", err)
			if c.https {
				require.Equal(t, "max-age=86400; includeSubDomains", resp.Header.Get("Strict-Transport-Security"))
			}
			_, err = request(t, "https://"+addr+"/commands/ruok", known)
			require.Equal(t, c.withCertificate, err == nil, "%v", err)
			require.EqualValues(t, map[bool]int64{true: 1}[c.plain], node.insecure.Load())
		})
	}
}

// The certificate of a client goes with its credentials.
func TestCertificateIsACredential(t *testing.T) {
	ca := pki.NewCA("admin")
	own, theirs := ca.Issue(pki.Options{Hosts: []string{"localhost"}}), ca.Issue(pki.Options{})
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	var got *x509.Certificate
	node := &fakeNode{authorize: func(c facts.Credentials) error {
		got = c.Certificate
		return facts.ErrNotAuthorized
	}}
	addr := serveOn(t, New(Options{Node: node, SnapshotEnabled: true, TLS: &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{own.Cert.Raw}, PrivateKey: own.Key}},
		ClientAuth:   tls.RequireAnyClientCert,
	}}))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: pool, ServerName: "localhost",
		Certificates: []tls.Certificate{{Certificate: [][]byte{theirs.Cert.Raw}, PrivateKey: theirs.Key}}}}}
	r := must.Do(http.NewRequest(http.MethodGet, "https://"+addr+"/commands/snapshot", nil))(t)
	r.Header.Set("Authorization", "x509")
	resp := must.Do(client.Do(r))(t)
	resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Equal(t, theirs.Cert.Raw, got.Raw)
}

// The turn in which a handshake works ends with it: no request is answered in it.
func TestRequestsAreAnsweredInNoTurn(t *testing.T) {
	own := pki.NewCA("admin").Issue(pki.Options{Hosts: []string{"localhost"}})
	for _, plain := range []bool{false, true} {
		turns, held := limits.NewTurns(), -1
		node := &fakeNode{authorize: func(facts.Credentials) error {
			held = len(turns)
			return facts.ErrNotAuthorized
		}}
		addr := serveOn(t, New(Options{Node: node, SnapshotEnabled: true, Plain: plain,
			Handshakes: limits.NewHandshakes(turns), TLS: &tls.Config{
				Certificates: []tls.Certificate{{Certificate: [][]byte{own.Cert.Raw}, PrivateKey: own.Key}}}}))
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		r := must.Do(http.NewRequest(http.MethodGet, "https://"+addr+"/commands/snapshot", nil))(t)
		r.Header.Set("Authorization", "digest a:b")
		resp := must.Do(client.Do(r))(t)
		resp.Body.Close()
		require.Zero(t, held)
	}
}

// A silent connection delays no other connection, and ends with the listener.
func TestUnifiedPortDoesNotWaitForTheSilent(t *testing.T) {
	own := pki.NewCA("admin").Issue(pki.Options{Hosts: []string{"localhost"}})
	synctest.Test(t, func(t *testing.T) {
		ln := servePipes(t, New(Options{Node: &fakeNode{}, Plain: true, TLS: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{own.Cert.Raw}, PrivateKey: own.Key}}}}))
		silent := must.Do(ln.dial(t.Context()))(t)
		synctest.Wait()
		status, took := ln.say(t, get+"\r\n")
		require.Equal(t, "HTTP/1.1 200 OK", status)
		require.Zero(t, took)
		require.NoError(t, silent.Close())
	})
}
