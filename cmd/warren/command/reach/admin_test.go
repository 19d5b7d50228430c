package reach

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestAdminURL(t *testing.T) {
	for name, want := range map[string]string{
		"127.0.0.1:8080":                  "http://127.0.0.1:8080/commands",
		"zk1":                             "http://zk1:8080/commands",
		"::1":                             "http://[::1]:8080/commands",
		"[::1]":                           "http://[::1]:8080/commands",
		"[::1]:81":                        "http://[::1]:81/commands",
		"zk1:81/zk":                       "http://zk1:81/zk",
		"http://zk1:81":                   "http://zk1:81/commands",
		"https://zk1:81/":                 "https://zk1:81/commands",
		"http://127.0.0.1:8080/commands":  "http://127.0.0.1:8080/commands",
		"http://127.0.0.1:8080/commands/": "http://127.0.0.1:8080/commands/",
	} {
		got, err := AdminURL(&cobra.Command{}, name)
		require.NoError(t, err, name)
		require.Equal(t, want, got)
	}
	for name, want := range map[string]string{
		"ftp://zk1": "neither an http nor an https URL", "http://": "not the address",
	} {
		require.ErrorContains(t, must.Err(AdminURL(&cobra.Command{}, name)), want, name)
	}
}

func TestAuthorization(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	for text, want := range map[string]string{
		"digest super:test\n":               "digest super:test",
		"super:test\n":                      "digest super:test",
		"super:two words":                   "digest super:two words",
		"Authorization: digest super:test ": "digest super:test",
		"authorization:super:test":          "digest super:test",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Equal(t, want, must.Do(Authorization(file))(t), text)
	}
	require.NoError(t, os.WriteFile(file, []byte("digest a:b\ndigest c:d\n"), 0o600))
	require.ErrorContains(t, must.Err(Authorization(file)), "must be one line")
}
