package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// filesOf unpacks a support bundle.
func filesOf(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	plain := must.Do(gzip.NewReader(bytes.NewReader(packed)))(t)
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

// One request collects the bundles of all servers. A server that sends none is named with the reason.
func TestSupportBundleOfAll(t *testing.T) {
	one, _, _, _ := pair(true, "bob:x")
	require.Equal(t, 403, visit(one, "GET", "/support?all=1", "").Code)
	w := visit(one, "GET", "/support?all=1", "", "Authorization", "digest bob:x")
	require.Equal(t, 200, w.Code, w.Body)
	files := filesOf(t, w.Body.Bytes())
	for _, name := range []string{"server-1/build.txt", "server-2/build.txt", "server-2/goroutines.txt"} {
		require.NotEmpty(t, files[name], name)
	}
	require.Contains(t, files["server-3/NOT-COLLECTED.txt"], "does not answer")

	// Another server decides by its own rules, and sends its bundle only, however many are asked for.
	w = visit(one, "GET", "/support?server=2&all=1", "", "Authorization", "digest bob:x")
	require.Equal(t, "application/gzip", w.Header().Get("Content-Type"))
	require.NotEmpty(t, filesOf(t, w.Body.Bytes())["build.txt"])
	one, _, _, _ = pair(true, "")
	w = visit(one, "GET", "/support?all=1", "", "Authorization", "digest bob:x")
	files = filesOf(t, w.Body.Bytes())
	require.NotEmpty(t, files["server-1/build.txt"])
	require.Contains(t, files["server-2/NOT-COLLECTED.txt"], "403")
}

// The files of another server are bounded, and their names lead nowhere else.
func TestSupportOfAnotherServerIsBounded(t *testing.T) {
	var packed bytes.Buffer
	squeezed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(squeezed)
	for range supportOthersMax + 5 {
		require.NoError(t, addFile(archive, "../../etc/passwd", make([]byte, 1), time.Unix(0, 0)))
	}
	require.NoError(t, addFile(archive, "large", make([]byte, supportPartMax+1), time.Unix(0, 0)))
	require.NoError(t, archive.Close())
	require.NoError(t, squeezed.Close())
	var out bytes.Buffer
	to := tar.NewWriter(&out)
	require.NoError(t, addSupport(to, "server-2/", packed.Bytes()))
	require.NoError(t, to.Close())
	read, n := tar.NewReader(&out), 0
	for h, err := read.Next(); err == nil; h, err = read.Next() {
		require.Equal(t, "server-2/passwd", h.Name)
		n++
	}
	require.Equal(t, supportOthersMax, n)
	require.Error(t, addSupport(to, "server-2/", []byte("no archive")))
	require.Error(t, addSupport(to, "server-2/", packed.Bytes()[:len(packed.Bytes())/2]))
}
