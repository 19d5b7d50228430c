package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const dist = "../../dist"

var versions = map[string]string{
	"v0.1.0":              "0.1.0",
	"v0.1.0-rc.1":         "0.1.0~rc.1",
	"v0.1.0-12-g56f4788":  "0.1.0+12.g56f4788",
	"v0.1.0-dirty":        "0.1.0+dirty",
	"56f4788":             "0~56f4788",
	"v1.0.0-rc.1-3-gabcd": "1.0.0~rc.1+3.gabcd",
}

func TestPackageVersion(t *testing.T) {
	for version, want := range versions {
		if got := packageVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustGet returns what a call has returned that has to succeed: mustGet(os.Stat(name))(t).
func mustGet[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		must(t, err)
		return v
	}
}

// output runs a command that has to succeed, and returns what it has written.
func output(t *testing.T, c *exec.Cmd) []byte {
	t.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", c.Args, err, out)
	}
	return out
}

// artefacts are the files in dist that match a pattern, without SBOMs; there must be n.
func artefacts(t *testing.T, pattern string, n int) []string {
	t.Helper()
	names := mustGet(filepath.Glob(filepath.Join(dist, pattern)))(t)
	names = slices.DeleteFunc(names, func(name string) bool {
		info := mustGet(os.Stat(name))(t)
		return info.IsDir() || strings.HasSuffix(name, sbomSuffix) || filepath.Base(name) == "SHA256SUMS"
	})
	if len(names) != n {
		t.Fatalf("%d files in %s are %s, want %d: `make dist` writes them: %q", len(names), dist, pattern, n, names)
	}
	return names
}

// archives unpacks the archives of dist.
func archives(t *testing.T) []*archive {
	t.Helper()
	return mustGet(openArchives(dist, t.TempDir()))(t)
}

// What `make dist` has written is written again of the same archives, with the same bytes.
func TestPackagesAreReproducible(t *testing.T) {
	again := t.TempDir()
	for _, pattern := range []string{"*.tar.gz", "*.zip"} {
		names := mustGet(filepath.Glob(filepath.Join(dist, pattern)))(t)
		for _, name := range names {
			b := mustGet(os.ReadFile(name))(t)
			must(t, os.WriteFile(filepath.Join(again, filepath.Base(name)), b, 0o600))
		}
	}
	index, _, err := openLayout(artefacts(t, "*-oci.tar", 1)[0], t.TempDir())
	must(t, err)
	m := mustGet(index.IndexManifest())(t)
	o := options{dist: again, scripts: "scripts", revision: m.Annotations["org.opencontainers.image.revision"]}
	if len(o.revision) != 40 {
		t.Errorf("the image names commit %q", o.revision)
	}
	must(t, o.run())
	names := mustGet(filepath.Glob(filepath.Join(again, "*")))(t)
	for _, name := range names {
		if sumText(t, name) != sumText(t, filepath.Join(dist, filepath.Base(name))) {
			t.Errorf("%s is another file now", name)
		}
	}
	if want := len(artefacts(t, "*", 12)) * 2; len(names) != want {
		t.Errorf("%d files, want %d", len(names), want)
	}
}

func sumText(t *testing.T, name string) string {
	t.Helper()
	return fmt.Sprintf("%x", sha256.Sum256(mustGet(os.ReadFile(name))(t)))
}

// SHA256SUMS has every file of dist.
func TestSums(t *testing.T) {
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dist
	if got, want := bytes.Count(output(t, check), []byte(": OK\n")), 2*len(artefacts(t, "*", 12)); got != want {
		t.Errorf("%d sums, want %d", got, want)
	}
}

// Each archive has a binary for its platform, and the licences of all that is linked into it.
func TestArchives(t *testing.T) {
	platforms := map[string]bool{}
	for _, a := range archives(t) {
		on := a.os + "/" + a.arch
		platforms[on] = true
		settings := map[string]string{}
		for _, s := range a.info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["GOOS"] != a.os || settings["GOARCH"] != a.arch || settings["CGO_ENABLED"] != "0" {
			t.Errorf("%s: %v", on, settings)
		}
		notices := mustGet(os.ReadFile(filepath.Join(a.root, "THIRD_PARTY_NOTICES")))(t)
		if len(thirdParty(a.info)) < 30 {
			t.Errorf("%s: %d modules", on, len(thirdParty(a.info)))
		}
		for _, m := range thirdParty(a.info) {
			if !bytes.Contains(notices, []byte("\n=== "+m.Path+" "+m.Version+" ")) {
				t.Errorf("%s: the notices lack %s", on, m.Path)
			}
		}
		if !bytes.Contains(notices, []byte("\n=== preact ")) {
			t.Errorf("%s: the notices lack preact", on)
		}
	}
	if len(platforms) != 5 {
		t.Errorf("archives for %v", platforms)
	}
}

// The binaries for other machines run where there is a program that acts as one.
func TestOthersRun(t *testing.T) {
	for _, a := range archives(t) {
		var run *exec.Cmd
		switch a.os + "/" + a.arch {
		case "linux/arm64":
			run = exec.Command("qemu-aarch64-static", a.binary(), "version")
		case "windows/amd64":
			wine := "wine64"
			if _, err := exec.LookPath(wine); err != nil {
				wine = "/usr/lib/wine/wine64" // where Debian has it, without the package wine
			}
			run = exec.Command(wine, a.binary(), "version")
			run.Env = append(os.Environ(), "WINEPREFIX="+t.TempDir(), "WINEDEBUG=-all")
		default:
			continue
		}
		t.Run(a.os, func(t *testing.T) {
			if _, err := exec.LookPath(run.Path); err != nil {
				t.Skipf("it takes %s", run.Path)
			}
			must(t, os.Chmod(a.binary(), 0o755))
			out, err := run.CombinedOutput()
			if bytes.Contains(out, []byte("bcryptprimitives.dll not found")) {
				t.Skip("this wine is too old for Go's runtime")
			}
			if err != nil || !strings.Contains(string(out), "warren "+a.version) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
