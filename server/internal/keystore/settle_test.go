package keystore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/wal/vfs"
)

// A store that is half written, or not there because the new one is not yet, is waited for; one that was left like
// this is not.
func TestSettle(t *testing.T) {
	ca := pki.NewCA("ca")
	whole := ca.Issue(pki.Options{Name: "one"}).PEM()
	for name, broken := range map[string]func(file string) error{
		"half written": func(file string) error { return os.WriteFile(file, whole[:300], 0o600) },
		"empty":        func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"removed":      os.Remove,
		"other key": func(file string) error {
			return os.WriteFile(file, append(ca.PEM(), whole...), 0o600) // the certificate is not the one of the key
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key.pem")
			cfg := &config.TLS{KeyStore: config.Store{Location: file}, ClientAuth: "none"}
			settle := func() (said int) {
				core, logs := observer.New(zap.WarnLevel)
				done := make(chan struct{})
				go func() {
					defer close(done)
					Settle(context.Background(), vfs.OS(), cfg, zap.New(core))
				}()
				for said == 0 {
					select {
					case <-done:
						return logs.Len()
					case <-time.After(time.Millisecond):
						said = logs.FilterMessageSnippet("waiting until they are whole").Len()
					}
				}
				require.NoError(t, os.WriteFile(file, whole, 0o600))
				<-done
				return logs.Len()
			}
			require.NoError(t, os.WriteFile(file, whole, 0o600))
			require.Zero(t, settle(), "nothing to wait for")

			require.NoError(t, broken(file))
			require.Equal(t, 1, settle())
			must.Do(Open(vfs.OS(), cfg, nil))(t)

			require.NoError(t, broken(file))
			for _, at := range []string{file, filepath.Dir(file)} {
				if err := os.Chtimes(at, time.Time{}, time.Now().Add(-time.Hour)); at != file {
					require.NoError(t, err)
				}
			}
			require.Zero(t, settle(), "nobody is writing it")
			require.Error(t, must.Err(Open(vfs.OS(), cfg, nil)))
		})
	}
}
