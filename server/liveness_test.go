package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/test/wire"
)

// A server whose locks are held for good is not alive, although its ports answer. While they are held for a moment
// only, it is.
func TestLivenessAsksForTheLocksOfClients(t *testing.T) {
	for name, hold := range map[string]func(*Server) (free func()){
		"tree, by a reader": func(s *Server) func() { s.Store.Mu.RLock(); return s.Store.Mu.RUnlock },
		"tree, by a writer": func(s *Server) func() { s.Store.Mu.Lock(); return s.Store.Mu.Unlock },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := memConfig()
			cfg.Admin.Enabled, cfg.Admin.Address, cfg.Admin.Port = true, "127.0.0.1", 0
			core, lines := observer.New(zap.ErrorLevel)
			s := running(t, cfg, Options{Log: zap.New(core)})
			dialWire(t, s, wire.Options{})
			requireAlive(t, s)
			free := hold(s)
			began := time.Now()
			eventually(t, func() bool { return probe(t, s, "/readyz") == http.StatusServiceUnavailable }, "it stands")
			require.Greater(t, time.Since(began), 4*time.Second, "a moment is not too long")
			require.Equal(t, http.StatusServiceUnavailable, probe(t, s, "/healthz"))
			require.Empty(t, askWord(t, s, "ruok"))
			require.Equal(t, 1, lines.FilterMessage(
				"this server is stuck: clients are waiting for locks that have not been released").Len(),
				"a line in the log")
			free()
			eventually(t, func() bool { return probe(t, s, "/healthz") == http.StatusOK }, "it goes on")
			requireAlive(t, s)
		})
	}
}

func requireAlive(t *testing.T, s *Server) {
	t.Helper()
	require.Equal(t, http.StatusOK, probe(t, s, "/healthz"))
	require.Equal(t, http.StatusOK, probe(t, s, "/readyz"))
	require.Equal(t, "imok", askWord(t, s, "ruok"))
}

// probe returns the status of an answer of the admin port.
func probe(t *testing.T, s *Server, path string) int {
	t.Helper()
	status, _ := ask(t, s, http.MethodGet, path, nil)
	return status
}

func askWord(t *testing.T, s *Server, name string) string {
	t.Helper()
	return wire.MustFourLetter(t, s.Addr().String(), name, hangGuard)
}
