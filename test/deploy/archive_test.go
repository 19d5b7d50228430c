package deploy

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReleaseArchive packs an archive, with a compiler that takes no time, and looks for what its pages lead to: the
// target of every link, and every file under deploy that they name.
func TestReleaseArchive(t *testing.T) {
	dir := t.TempDir()
	compiler := filepath.Join(dir, "go")
	require.NoError(t, os.WriteFile(compiler, []byte(`#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\nmkdir -p "$2" && echo page > "$2/warren.1"\n' > "$2" && chmod +x "$2"
`), 0o700))
	pack := exec.Command("../../.ci/release", "amd64")
	pack.Env = append(os.Environ(), "GO="+compiler, "VERSION=v9.9.9", "DATE=2026-01-01T00:00:00Z", "LDFLAGS=-s",
		"DIST="+filepath.Join(dir, "dist"))
	out, err := pack.CombinedOutput()
	require.NoError(t, err, "%s", out)

	const top = "warren-v9.9.9-linux-amd64"
	files := unpack(t, filepath.Join(dir, "dist", top+".tar.gz"))
	for _, name := range []string{"bin/warren", "share/man/man1/warren.1", "LICENSE", "README.md", "docs/INSTALL.md",
		"docs/protocol/README.md", "deploy/docker/compose.yaml", "deploy/kubernetes/kustomization.yaml",
		"deploy/systemd/warren.service", "deploy/prometheus/warren.rules.yml", "deploy/completion/warren.bash"} {
		requireFile(t, files, top+"/"+name, "the test")
	}
	links, named := 0, 0
	for name, text := range files {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
			links++
			requireFile(t, files, path.Join(path.Dir(name), m[1]), name)
		}
		for _, m := range deployed.FindAllString(text, -1) {
			named++
			requireFile(t, files, path.Join(top, m), name)
		}
	}
	require.Greater(t, links, 80)
	require.Greater(t, named, 5)
}

// requireFile looks for a file that a page leads to.
func requireFile(t *testing.T, files map[string]string, name, page string) {
	t.Helper()
	_, ok := files[name]
	require.True(t, ok, "%s leads to %s, which is not in the archive", page, name)
}

var (
	markdownLink = regexp.MustCompile(`\]\(([\w./-]+)(?:#[^)]*)?\)`) // to another file
	deployed     = regexp.MustCompile(`\bdeploy/[a-zA-Z/.]*[a-zA-Z]`)
)

// unpack returns the files and folders of an archive; a folder has no text.
func unpack(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(io.LimitReader(r, 1<<24))
		require.NoError(t, err)
		files[path.Clean(h.Name)] = string(text)
	}
}
