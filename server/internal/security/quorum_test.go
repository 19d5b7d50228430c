package security

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/wal/vfs"
)

// patience is how long something may take that is expected to happen.
const patience = time.Minute

// shaken is a Quorum with one turn for its handshakes, and what other servers connect to.
type shaken struct {
	*Quorum
	t     *testing.T
	turns limits.Turns
	ln    net.Listener
	files pki.Files
}

func startShaken(t *testing.T, members func() []config.Member) *shaken {
	s := &shaken{t: t, turns: make(limits.Turns, 1), files: pki.Files{Dir: t.TempDir(), CA: pki.NewCA("ca")}}
	s.files.WriteKey(1, s.files.CA.Issue(pki.Options{Hosts: []string{"127.0.0.1"}}))
	s.files.WriteTrust(1, s.files.CA)
	cfg := config.Default()
	cfg.SSLQuorum = true
	cfg.QuorumTLS.KeyStore.Location, cfg.QuorumTLS.TrustStore.Location = s.files.File("key", 1, "pem"),
		s.files.File("trust", 1, "pem")
	s.Quorum = must.Do(OpenQuorum(QuorumOptions{Config: cfg, FS: vfs.OS(), Log: zap.NewNop(),
		Registry: prometheus.NewRegistry(), Members: members, Handshakes: limits.NewHandshakes(s.turns)}))(t)
	s.ln = must.Listen(t)
	t.Cleanup(func() { s.ln.Close() })
	return s
}

// accept takes the next connection, and tells how its handshake has ended.
func (s *shaken) accept() chan error {
	nc := must.Do(s.ln.Accept())(s.t)
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		_, err := s.Peers().Encrypt(ctx, nc)
		if err != nil {
			nc.Close()
		}
		ended <- err
	}()
	return ended
}

// dial begins TLS as a server with a certificate for a host.
func (s *shaken) dial(host string) {
	leaf := s.files.CA.Issue(pki.Options{Hosts: []string{host}})
	nc := must.Dial(s.t, s.ln.Addr().String())
	require.NoError(s.t, nc.SetDeadline(time.Now().Add(patience)))
	c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}}})
	go func() { _ = c.Handshake() }()
}

// Handshakes of other servers work in the turns of busy connections, and give them back.
func TestServersShakeInTurns(t *testing.T) {
	s := startShaken(t, nil)
	s.turns.Take()
	s.dial("127.0.0.1")
	ended := s.accept()
	select {
	case err := <-ended:
		t.Fatalf("the handshake had no turn, and has ended: %v", err)
	case <-time.After(100 * time.Millisecond): // long enough where it has one
	}
	s.turns.Pass()
	require.NoError(t, <-ended)
	require.Empty(t, s.turns)
}

// While names are looked up, which may take seconds, the handshake has no turn.
func TestLookupsTakeNoTurn(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	s := startShaken(t, func() []config.Member {
		close(began)
		<-goOn
		return nil
	})
	s.dial("another.example")
	ended := s.accept()
	<-began
	s.turns.Take() // it is free
	s.turns.Pass()
	close(goOn)
	require.ErrorContains(t, <-ended, "another host")
	require.Empty(t, s.turns)
}
