package server_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// unpacked returns the files of a support bundle.
func unpacked(t *testing.T, packed string) map[string]string {
	plain := must.Do(gzip.NewReader(strings.NewReader(packed)))(t)
	files, archive := map[string]string{}, tar.NewReader(plain)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		text := must.ReadAll(t, archive)
		files[h.Name] = string(text)
	}
}

// A support bundle has what a bug report needs, and nothing that opens anything or that a client has written.
func TestSupportBundleHasNoSecrets(t *testing.T) {
	digest := auth.DigestIdentity("super:secret").ID
	const keyWord, trustWord = "the-password-of-the-keys", "the-password-of-the-roots"
	s, c := withAdmin(t, func(cfg *config.Config) {
		cfg.Trace.Slow = 1 // everything is slow
		cfg.TLS.KeyStore.Password, cfg.TLS.TrustStore.Password = keyWord, trustWord
	})
	create(t, c, "/app")
	c.MustSetData(t, "/app", []byte("the data of a client"), -1)
	bob := auth.NewDigestIdentity("bob", "the-password-of-bob")
	c.MustSetACL(t, "/app", ownedBy("bob", "the-password-of-bob"), -1)
	b := browse(t, s)
	require.Equal(t, 403, b.status("GET", "/support", nil), "without a login")
	require.Equal(t, 200, b.login("bob", "the-password-of-bob"))
	require.Equal(t, 403, b.status("GET", "/support", nil), "a user of one znode")
	require.Equal(t, 200, b.login("super", "secret"))
	resp, packed := b.do("GET", "/api/v1/support", nil)
	require.Equal(t, 200, resp.StatusCode, packed)
	require.Equal(t, "application/gzip", resp.Header.Get("Content-Type"))
	files := unpacked(t, packed)
	for name, has := range map[string]string{"README.txt": "support bundle", "server.json": `"problems"`,
		"servers.json": `"servers"`, "settings.json": "superDigest", "trends.json": `"series"`,
		"slow.json": "/app", "metrics.txt": "znode_count", "build.txt": "go1.",
		"goroutines.txt": "goroutine profile"} {
		require.Contains(t, files[name], has, name)
		require.Less(t, len(files[name]), 4<<20, name)
	}
	_, hash, _ := strings.Cut(bob.ID, ":")
	for name, text := range files {
		for _, secret := range []string{keyWord, trustWord, "the data of a client", "the-password-of-bob", hash,
			digest, b.cookie.Value, b.token} {
			require.NotContains(t, text, secret, name)
		}
	}
	require.Contains(t, files["settings.json"], "***")
}
