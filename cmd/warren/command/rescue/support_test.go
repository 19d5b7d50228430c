package rescue

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// filesOf returns the files of an archive.
func filesOf(t *testing.T, name string) map[string]string {
	f := must.Do(os.Open(name))(t)
	defer f.Close()
	plain := must.Do(gzip.NewReader(f))(t)
	files, archive := map[string]string{}, tar.NewReader(plain)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text := must.ReadAll(t, archive)
		files[h.Name] = string(text)
	}
}

func TestSupportCollectsFromAServer(t *testing.T) {
	const digest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU=" // super:test
	dir := t.TempDir()
	r := cmdline.StartServer(t, "--data-dir", filepath.Join(dir, "data"), "--client-port", "0",
		"-D", "admin.serverPort=0", "-D", "DigestAuthenticationProvider.superDigest="+digest)
	defer r.Stop(t, syscall.SIGTERM)
	port := regexp.MustCompile(`listening for admin commands.*?:(\d+)"`).FindStringSubmatch(r.Log.String())[1]
	auth, log, out := filepath.Join(dir, "auth"), filepath.Join(dir, "log"), filepath.Join(dir, "out.tar.gz")
	require.NoError(t, os.WriteFile(auth, []byte("super:test\n"), 0o600))
	require.NoError(t, os.WriteFile(log, []byte(strings.Repeat("x", supportLogMax)+"the last line\n"), 0o600))
	code, said, errs := run("support", r.Addr, "--admin-port", port, "--auth-file", auth, "--log", log, "-o", out)
	require.Zero(t, code, errs)
	require.Equal(t, out+"\n", said)
	files := filesOf(t, out)
	folder := strings.ReplaceAll(r.Addr, ":", "_")
	for name, has := range map[string]string{"log.txt": "the last line\n", "doctor.txt": "\n",
		folder + "/settings.json": "superDigest", folder + "/goroutines.txt": "goroutine profile",
		folder + "/metrics.txt": "znode_count"} {
		require.Contains(t, files[name], has, name)
	}
	require.Len(t, files["log.txt"], supportLogMax)
	for name, text := range files {
		require.NotContains(t, text, digest, name)
	}

	code, _, errs = run("support", r.Addr, "--admin-port", port, "--auth-file", auth, "-o", out)
	require.NotZero(t, code)
	require.Contains(t, errs, "exists", "no file is replaced")

	out = filepath.Join(dir, "without.tar.gz")
	fails(t, cli.ExitUnexpected, cli.NeedsCredentials, "support", r.Addr, "--admin-port", port, "-o", out)
	files = filesOf(t, out)
	require.Contains(t, files[folder+"/missing.txt"], cli.NeedsCredentials)
	require.Contains(t, files[folder+"/server.json"], `"problems"`)
	require.NotContains(t, files, folder+"/goroutines.txt")
}

// What answers at the admin port is not believed: neither names of files nor sizes.
func TestSupportBoundsWhatAServerSends(t *testing.T) {
	send := func(w http.ResponseWriter, names ...string) {
		squeezed := gzip.NewWriter(w)
		archive := tar.NewWriter(squeezed)
		large := make([]byte, supportFileMax+5)
		for _, name := range names {
			_ = archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(large))})
			_, _ = archive.Write(large)
		}
		_, _ = archive.Close(), squeezed.Close()
	}
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter)
		says   string
		file   string
	}{
		"a name that leads elsewhere": {
			func(w http.ResponseWriter) { send(w, "../../etc/passwd") }, "", "passwd"},
		"no bundle": {
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>\x1b[2J") }, "gzip", ""},
		"another server": {
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }, "is it Warren's", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/v1/support" {
					tt.answer(w)
				}
			}))
			defer server.Close()
			at := must.Do(url.Parse(server.URL))(t)
			out := filepath.Join(t.TempDir(), "out.tar.gz")
			_, _, errs := run("support", "127.0.0.1:1", "--admin-port", at.Port(), "-o", out)
			require.Contains(t, errs, tt.says)
			require.NotContains(t, errs, "\x1b")
			if files := filesOf(t, out); tt.file != "" {
				require.Len(t, files["127.0.0.1_1/"+tt.file], supportFileMax)
			}
		})
	}
}
