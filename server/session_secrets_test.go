package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

// A file of secrets that is missing, empty or too weak ends the start, and the check before it.
func TestSessionSecretsAreCheckedAtTheStart(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(short, []byte("hunter2"), 0o600))
	for _, name := range []string{short, short + "-missing"} {
		cfg := config.Default()
		cfg.DataDir, cfg.SessionSecrets = t.TempDir(), name
		problems := server.Preflight(cfg)
		require.Len(t, problems, 1)
		require.ErrorContains(t, problems[0], "session secrets")
		require.NotContains(t, problems[0].Error(), "hunter2")
	}
}
