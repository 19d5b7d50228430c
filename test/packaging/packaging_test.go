package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

// dist is a folder with the archives of `make release`, for this test to write to.
func dist(t *testing.T) string {
	t.Helper()
	archives, err := filepath.Glob("../../dist/warren-*-linux-amd64.tar.gz")
	must(t, err)
	if len(archives) == 0 {
		t.Skip("no archive in dist: `make release` writes it")
	}
	dir := t.TempDir()
	for _, a := range archives {
		b, err := os.ReadFile(a)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(a)), b, 0o600))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPackagesAreReproducible(t *testing.T) {
	var sums [2]string
	for i := range sums {
		dir := dist(t)
		must(t, run(dir, "scripts"))
		b, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		must(t, err)
		sums[i] = string(b)
	}
	if sums[0] != sums[1] || strings.Count(sums[0], ".deb\n") == 0 || strings.Count(sums[0], ".rpm\n") == 0 {
		t.Errorf("%s\n%s", sums[0], sums[1])
	}
}

// The files of the deb, in a root that has nothing else, run as an ensemble of three.
func TestDebRuns(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil || os.Getuid() != 0 {
		t.Skip("it takes root, for chroot, and dpkg-deb")
	}
	dir := dist(t)
	must(t, run(dir, "scripts"))
	debs, err := filepath.Glob(filepath.Join(dir, "*_amd64.deb"))
	must(t, err)
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "-x", debs[0], root).CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	inside := func(args ...string) *exec.Cmd {
		c := exec.Command("/usr/bin/warren", args...)
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		c.Dir = "/"
		c.Err = nil // the name was looked for outside
		return c
	}
	var ports []int
	var listeners []net.Listener
	for range 9 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		ports, listeners = append(ports, l.Addr().(*net.TCPAddr).Port), append(listeners, l)
	}
	for _, l := range listeners { // all were open at once, so that they differ
		must(t, l.Close())
	}
	servers := ""
	for n := range 3 {
		servers += fmt.Sprintf("server.%d=127.0.0.1:%d:%d;127.0.0.1:%d\n", n+1, ports[3*n], ports[3*n+1], ports[3*n+2])
	}
	for n := range 3 {
		data := fmt.Sprintf("/var/lib/warren/%d", n+1)
		must(t, os.MkdirAll(root+data, 0o755))
		must(t, os.WriteFile(root+data+"/myid", fmt.Appendln(nil, n+1), 0o600))
		must(t, os.WriteFile(root+data+".cfg", fmt.Appendf(nil,
			"dataDir=%s\ntickTime=2000\ninitLimit=10\nsyncLimit=5\nadmin.enableServer=false\n%s",
			data, servers), 0o600))
		c := inside("server", data+".cfg")
		log, err := os.Create(filepath.Join(root, fmt.Sprintf("log%d", n+1)))
		must(t, err)
		c.Stdout, c.Stderr = log, log
		must(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait(); _ = log.Close() })
	}
	for n, until := 0, time.Now().Add(2*time.Minute); n < 3; {
		out, err := inside("health", fmt.Sprintf("127.0.0.1:%d", ports[3*n+2])).CombinedOutput()
		switch {
		case err == nil:
			t.Logf("%s", out)
			n++
		case time.Now().After(until):
			log, _ := os.ReadFile(filepath.Join(root, fmt.Sprintf("log%d", n+1)))
			t.Fatalf("server %d: %s: %s\n%s", n+1, err, out, log)
		default:
			time.Sleep(100 * time.Millisecond)
		}
	}
}
