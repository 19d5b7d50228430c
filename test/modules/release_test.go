package modules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/seed94657493/warren/test/must"
)

// checkout returns the workspace of the last commit, in a repository of its own.
func checkout(t *testing.T) *Workspace {
	t.Helper()
	root := must.Abs(t, filepath.Join("..", ".."))
	if err := exec.Command("git", "-C", root, "rev-parse", "--verify", "-q", "HEAD").Run(); err != nil {
		t.Skip("this is no git repository, but an archive of one")
	}
	dir := filepath.Join(t.TempDir(), "checkout")
	must.Output(t, exec.Command("git", "clone", "-q", "--shared", "--no-tags", root, dir))
	return must.Do(Read(dir))(t)
}

// What is made of a work tree without changes is what others make of its commit, so a checksum can be known before a
// version is tagged.
func TestZipFilesAreThoseOfTheCommit(t *testing.T) {
	t.Parallel()
	w, dir := checkout(t), t.TempDir()
	for _, m := range w.Modules {
		ours := must.Do(w.pack(m, dir, version))(t)
		have := must.Do(dirhash.HashZip(ours, dirhash.Hash1))(t)

		folder := m.Folder
		if folder == "." {
			folder = ""
		}
		theirs := filepath.Join(dir, "theirs.zip")
		out := must.Do(os.Create(theirs))(t)
		v := module.Version{Path: m.Path, Version: version}
		require.NoError(t, zip.CreateFromVCS(out, v, w.Root, "HEAD", folder))
		require.NoError(t, out.Close())
		require.Equal(t, must.Do(dirhash.HashZip(theirs, dirhash.Hash1))(t), have, m.Path)
	}
}

// A release sets the version and the checksums. Then each module can be built alone, from the others as they are
// published, and all of them together as before. After the checksums are dropped each go.sum is as it was.
func TestRelease(t *testing.T) {
	t.Parallel()
	const next = "v0.9.9"
	w, proxy := checkout(t), filepath.Join(t.TempDir(), "proxy")
	require.NoError(t, w.DropSums())
	before := sumFiles(t, w)
	require.NoError(t, w.SetVersion(next))
	require.NoError(t, w.WriteSums(proxy, next))

	w = must.Do(Read(w.Root))(t)
	require.Equal(t, next, must.Do(w.Version())(t))
	alone := Environment(proxy, filepath.Join(shared, "cache"), localModules(t), "off")
	for _, m := range w.Modules {
		list := exec.Command("go", "list", "-mod=readonly", "-deps", "./...")
		list.Dir, list.Env = w.path(m, ""), alone
		must.Output(t, list)
	}
	together := exec.Command("go", "list", "-deps", "work")
	together.Dir, together.Env = w.Root, append(os.Environ(), "GOWORK=", "GOPROXY=off")
	must.Output(t, together)

	require.NotEqual(t, before, sumFiles(t, w))
	require.NoError(t, w.DropSums())
	require.Equal(t, before, sumFiles(t, w))
}

// A go.sum that does not fit what is published is noticed: the checksums are looked at.
func TestChecksumsMatter(t *testing.T) {
	t.Parallel()
	w, proxy := checkout(t), filepath.Join(t.TempDir(), "proxy")
	require.NoError(t, w.WriteSums(proxy, version))
	require.NoError(t, os.WriteFile(filepath.Join(w.Root, "proto", "later.go"), []byte("package proto\n"), 0o644))
	require.NoError(t, w.WriteProxy(proxy, version))
	list := exec.Command("go", "list", "-mod=readonly", "-deps", "./...")
	list.Dir = filepath.Join(w.Root, "client")
	list.Env = Environment(proxy, filepath.Join(t.TempDir(), "cache"), "off")
	out, err := list.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "checksum mismatch")
}

// The files that name the version of a release name the one that the modules require of each other.
func TestVersionIsNamedAlike(t *testing.T) {
	w := must.Do(Read(filepath.Join("..", "..")))(t)
	v := must.Do(w.Version())(t)
	for file, prefix := range map[string]string{
		"README.md":                            "warren ",
		"client/zk/doc.go":                     "warren/client/zk ",
		"deploy/docker/Dockerfile":             "VERSION=",
		"deploy/docker/compose.yaml":           "image: warren:",
		"deploy/helm/warren/Chart.yaml":        "appVersion: ",
		"deploy/helm/warren/README.md":         "| `image.tag` | `",
		"deploy/helm/warren/values.yaml":       "tag: ",
		"deploy/kubernetes/kustomization.yaml": "newTag: ",
		"docs/FROM-GO-ZOOKEEPER.md":            "warren/client/zk@",
		"docs/INSTALL.md":                      "VERSION=",
	} {
		text := must.ReadFile(t, filepath.Join(w.Root, filepath.FromSlash(file)))
		require.Contains(t, string(text), prefix+v, file)
	}
	log := must.ReadFile(t, filepath.Join(w.Root, "CHANGELOG.md"))
	require.Regexp(t, `\n## `+regexp.QuoteMeta(v[1:])+` \(\d{4}-\d\d-\d\d\)\n`, string(log))
}

func sumFiles(t *testing.T, w *Workspace) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, m := range w.Modules {
		if text, err := os.ReadFile(w.path(m, "go.sum")); !os.IsNotExist(err) {
			require.NoError(t, err)
			texts[m.Folder] = string(text)
		}
	}
	return texts
}

// The tags are set on the commit of a release only, all of them or none.
func TestTags(t *testing.T) {
	t.Parallel()
	const next = "v0.9.9"
	w, proxy := checkout(t), filepath.Join(t.TempDir(), "proxy")
	git := func(args ...string) string {
		t.Helper()
		return must.Do(w.git(args...))(t)
	}
	refused := func(why string) {
		t.Helper()
		require.ErrorContains(t, w.SetTags(proxy, next), why)
		require.Empty(t, git("tag", "--list", "*"+next))
	}
	git("config", "user.name", "t")
	git("config", "user.email", "t@t.test")
	refused("not v0.9.9")

	require.NoError(t, w.SetVersion(next))
	w = must.Do(Read(w.Root))(t)
	refused("commit these changes first")
	git("commit", "-qam", "Release 0.9.9, without its checksums")
	refused("the checksums were not those of the commit")
	git("add", "--all")
	git("commit", "-qm", "Release 0.9.9")

	require.NoError(t, w.SetTags(proxy, next))
	require.ElementsMatch(t, w.Tags(next), strings.Fields(git("tag", "--points-at", "HEAD")))
	require.ErrorContains(t, w.SetTags(proxy, next), "never moved")
	page := must.ReadFile(t, filepath.Join("..", "..", "docs", "VERSIONS.md"))
	for _, tag := range w.Tags(version) {
		require.Contains(t, string(page), "`"+tag+"`")
	}
}

// The tags of the other modules are on the same commit, and are not the version of the command.
func TestVersionOfTheCommand(t *testing.T) {
	w := checkout(t)
	git := func(args ...string) {
		t.Helper()
		must.Output(t, exec.Command("git", append([]string{"-C", w.Root}, args...)...))
	}
	git("tag", "v9.8.7")
	for _, m := range w.Modules {
		if m.Folder != "." { // git prefers tags that have a message
			git("-c", "user.name=t", "-c", "user.email=t@t.test", "tag", "-m", m.Path, m.Folder+"/v9.8.7")
		}
	}
	out := must.Output(t, exec.Command("make", "-C", w.Root, "--dry-run", "build"))
	require.Contains(t, string(out), ".version=v9.8.7 ")
}
