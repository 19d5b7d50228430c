package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command"
	"github.com/seed94657493/warren/test/must"
)

// asCommand in the environment makes the test binary the command warren.
const asCommand = "WARREN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// made is the time of the commit, and of all files.
var made = time.Date(2026, 1, 1, 12, 30, 10, 0, time.UTC)

// pack packs archives of the test binary, which takes no compiler.
func pack(t *testing.T, dist string, platforms ...string) {
	t.Helper()
	self := must.Do(os.Executable())(t)
	t.Setenv(asCommand, "1")
	o := options{goCommand: "go", dist: dist, version: "v9.9.9", date: made.Format(time.RFC3339),
		build: func(_ options, to string, _ platform) error { return os.Link(self, to) }}
	if err := os.Link(self, filepath.Join(t.TempDir(), "try")); err != nil { // another file system
		o.build = func(_ options, to string, _ platform) error { return os.Symlink(self, to) }
	}
	require.NoError(t, o.run(platforms, false))
}

// TestArchive packs archives and looks for what their pages lead to: the target of every link, and every file under
// deploy that they name.
func TestArchive(t *testing.T) {
	t.Chdir("../..")
	dist := filepath.Join(t.TempDir(), "dist")
	pack(t, dist, "linux/amd64", "windows/amd64")
	const top = "warren-v9.9.9-linux-amd64"
	files := readTar(t, filepath.Join(dist, top+".tar.gz"))
	for _, name := range []string{"bin/warren", "share/man/man1/warren.1", "LICENSE", "README.md", "docs/INSTALL.md",
		"docs/protocol/README.md", "deploy/docker/compose.yaml", "deploy/kubernetes/kustomization.yaml",
		"deploy/systemd/warren.service", "deploy/systemd/warren-backup.service", "deploy/systemd/warren-backup.timer",
		"deploy/prometheus/warren.rules.yml", "deploy/completion/warren.bash", "THIRD_PARTY_NOTICES"} {
		requireFile(t, files, top+"/"+name, "the test")
	}
	links, named := 0, 0
	for name, f := range files {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range markdownLink.FindAllSubmatch(f.text, -1) {
			links++
			requireFile(t, files, path.Join(path.Dir(name), string(m[1])), name)
		}
		for _, m := range deployed.FindAll(f.text, -1) {
			named++
			requireFile(t, files, path.Join(top, string(m)), name)
		}
	}
	require.Greater(t, links, 80)
	require.Greater(t, named, 5)

	// The two forms have the same files, with the same modes and times.
	zipped := readZip(t, filepath.Join(dist, "warren-v9.9.9-windows-amd64.zip"))
	require.Len(t, zipped, len(files))
	for name, f := range files {
		want := fs.FileMode(0o644)
		if f.mode.IsDir() || strings.HasSuffix(name, "/bin/warren") {
			want = 0o755
		}
		require.Equal(t, want, f.mode.Perm(), name)
		name = strings.Replace(name, "linux", "windows", 1)
		if strings.HasSuffix(name, "/bin/warren") {
			name += ".exe"
		}
		z, found := zipped[name]
		require.True(t, found, name)
		require.Equal(t, f.mode, z.mode, name)
		require.Equal(t, made, f.made, name)
		require.Equal(t, made, z.made, name)
		require.True(t, bytes.Equal(f.text, z.text), name)
	}

	// The sums are those that sha256sum checks.
	check := exec.Command("sha256sum", "--check", "--strict", sumsName)
	check.Dir = dist
	out := must.Output(t, check)
	require.Equal(t, 2, strings.Count(string(out), ": OK\n"), "%s", out)
}

// requireFile looks for a file that a page leads to.
func requireFile(t *testing.T, files map[string]packed, name, page string) {
	t.Helper()
	_, ok := files[name]
	require.True(t, ok, "%s leads to %s, which is not in the archive", page, name)
}

var (
	markdownLink = regexp.MustCompile(`\]\(([\w./-]+)(?:#[^)]*)?\)`) // to another file
	deployed     = regexp.MustCompile(`\bdeploy/[a-zA-Z/.]*[a-zA-Z]`)
)

// packed is a file or a folder of an archive; a folder has no text.
type packed struct {
	mode fs.FileMode
	made time.Time
	text []byte
}

func readTar(t *testing.T, name string) map[string]packed {
	t.Helper()
	f := must.Do(os.Open(name))(t)
	defer f.Close()
	z := must.Do(gzip.NewReader(f))(t)
	files, last := map[string]packed{}, ""
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Less(t, last, h.Name, "the order")
		last = strings.TrimSuffix(h.Name, "/")
		require.Zero(t, h.Uid+h.Gid)
		require.Empty(t, h.Uname+h.Gname)
		text := must.ReadAll(t, r)
		files[path.Clean(h.Name)] = packed{h.FileInfo().Mode(), h.ModTime.UTC(), text}
	}
}

func readZip(t *testing.T, name string) map[string]packed {
	t.Helper()
	z := must.Do(zip.OpenReader(name))(t)
	defer z.Close()
	files := map[string]packed{}
	for _, f := range z.File {
		r := must.Do(f.Open())(t)
		text := must.ReadAll(t, r)
		files[path.Clean(f.Name)] = packed{f.Mode(), f.Modified.UTC(), text}
	}
	return files
}

// Every module that is linked for a platform has a licence, without which there is no archive.
func TestEveryModuleHasALicence(t *testing.T) {
	cache := must.Do(exec.Command("go", "env", "GOMODCACHE").Output())(t)
	for _, on := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		list := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if .Version}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}",
			"github.com/seed94657493/warren/cmd/warren")
		system, arch, _ := strings.Cut(on, "/")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		out := must.Do(list.Output())(t)
		modules := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			if len(words) == 0 || modules[words[0]] ||
				strings.HasPrefix(words[0], "github.com/seed94657493/warren") {
				continue
			}
			modules[words[0]] = true
			require.Len(t, words, 3, line)
			dir, err := folderOf(strings.TrimSpace(string(cache)), &debug.Module{Path: words[0], Version: words[1]})
			require.NoError(t, err)
			require.Equal(t, words[2], dir)
			require.NotEmpty(t, must.Do(licencesBelow(dir))(t), words[0])
		}
		require.Greater(t, len(modules), 30)
		require.Equal(t, system == "windows", modules["github.com/inconshreveable/mousetrap"], on)
	}
}

func TestNotices(t *testing.T) {
	t.Chdir("../..")
	self := must.Do(os.Executable())(t)
	text := must.Do(noticesOf("go", self))(t)
	info := must.Do(buildinfo.ReadFile(self))(t)
	require.Contains(t, string(text), "\n=== Go "+info.GoVersion+" LICENSE\n\nCopyright 2009 The Go Authors.\n")
	require.Contains(t, string(text), "\n=== preact 11.2.0 LICENSES.txt\n\nThe MIT License (MIT)\n")
	for _, m := range info.Deps {
		require.Equal(t, m.Sum != "", strings.Contains(string(text), "\n=== "+m.Path+" "+m.Version+" "), m.Path)
	}
}

func TestNoticesRefuse(t *testing.T) {
	dashed := strings.Repeat("-", 80) + "\n"
	other := dashed + "@some/other 1.0, MIT\n\nfree\n"
	for name, files := range map[string]map[string]string{
		"has no licence in":              {"README.md": "", "licence.go": "", "below/LICENSE": ""},
		`a line that begins with "=== "`: {"COPYING": "a\n=== b\n"},
		"LICENSES.txt: no such file":     {"LICENSE": ""},
		"LICENSES.txt names no package":  {"LICENSE": "", "static/LICENSES.txt": "none\n"},
		"is no package with a licence":   {"LICENSE": "", "static/LICENSES.txt": dashed + "other\n"},
		"": {"Licence": "", "a/COPYING": "", "testdata/LICENSE": "",
			"static/LICENSES.txt": other},
	} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "static"), 0o755))
		for file, text := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
		}
		var n notices
		err := errors.Join(n.add("it v1", dir, licencesBelow), n.addBundle(filepath.Join(dir, "static")))
		if name == "" {
			require.NoError(t, err)
			require.Equal(t, "\n=== it v1 Licence\n\n\n\n=== it v1 a/COPYING\n\n\n"+
				"\n=== @some/other 1.0 LICENSES.txt\n\nfree\n", n.b.String())
		} else {
			require.ErrorContains(t, err, name)
		}
	}
}
