package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The commands of docs/INSTALL.md, as they stand there, install the archive and the deb in a fresh Debian, start a
// server, check it and remove it again. Only the service manager is not systemd, which does not run in a folder.
func TestInstallPage(t *testing.T) {
	asRoot(t)
	archive := artefacts(t, "*-linux-amd64.tar.gz", 1)[0]
	deb := artefacts(t, "*_amd64.deb", 1)[0]
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "warren-"), "-linux-amd64.tar.gz")
	_, packaged, _ := strings.Cut(strings.TrimSuffix(filepath.Base(deb), "_amd64.deb"), "_")
	for _, way := range []struct {
		title, file string
	}{{"With systemd", archive}, {"As a deb or an rpm", deb}} {
		t.Run(way.title, func(t *testing.T) {
			root := freshDebian(t)
			must(t, os.Mkdir(root+"/install", 0o755))
			for _, name := range []string{way.file, filepath.Join(filepath.Dir(way.file), "SHA256SUMS")} {
				text := mustGet(os.ReadFile(name))(t)
				must(t, os.WriteFile(filepath.Join(root, "install", filepath.Base(name)), text, 0o644))
			}
			for name, text := range stand {
				must(t, os.WriteFile(filepath.Join(root, "usr/local/bin", name), []byte(text), 0o755))
			}
			t.Cleanup(func() { endServer(root) })
			for _, block := range blocksUnder(t, way.title)[:2] {
				block = strings.NewReplacer("VERSION-1", packaged, "VERSION", version).Replace(block)
				inNetwork(t, root, "cd /install\n"+
					strings.ReplaceAll(block, "warren health ", "warren health --wait 60s "))
			}
			if _, err := os.Stat(root + "/usr/bin/warren"); err == nil {
				t.Error("the program is still there")
			}
			if left, err := filepath.Glob(root + "/var/lib/warren/version-2/*"); err != nil || len(left) == 0 {
				t.Errorf("the data is gone: %v", err)
			}
		})
	}
}

// stand are the programs of systemd and of a person that a root has none of.
var stand = map[string]string{
	"systemctl": `#!/bin/sh
case "$*" in
"enable --now warren")
    setpriv --reuid warren --regid warren --clear-groups warren server /etc/warren/zoo.cfg > /tmp/log 2>&1 &
    echo $! > /tmp/pid ;;
"disable --now warren") kill $(cat /tmp/pid) ;;
daemon-reload) ;;
*) echo "systemctl $*?" >&2; exit 1 ;;
esac
`,
	"systemd-sysusers": "#!/bin/sh\nuseradd --system --home-dir /var/lib/warren --shell /usr/sbin/nologin warren\n",
	"systemd-tmpfiles": `#!/bin/sh
set -e
grep '^d ' /usr/lib/tmpfiles.d/warren.conf | while read -r _ path mode user group _; do
    install -d -m $mode -o $user -g $group $path
done
`,
	"editor": "#!/bin/sh\ntest -f \"$1\"\n",
}

// endServer ends the server that the stand-in for systemctl has started in a root. A package that is removed stops it
// only where systemd runs.
func endServer(root string) {
	text, err := os.ReadFile(root + "/tmp/pid")
	if err != nil {
		return
	}
	pid := strings.TrimSpace(string(text))
	if in, err := os.Readlink("/proc/" + pid + "/root"); err == nil && in == root {
		_ = exec.Command("kill", "-KILL", pid).Run()
	}
}

// blocksUnder are the blocks of sh of a section of docs/INSTALL.md.
func blocksUnder(t *testing.T, title string) (blocks []string) {
	t.Helper()
	text := mustGet(os.ReadFile("../../docs/INSTALL.md"))(t)
	_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/INSTALL.md has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// inNetwork runs a script in a root, with the usual ports, in a network that is there for this test.
func inNetwork(t *testing.T, root, script string) {
	t.Helper()
	name := fmt.Sprintf("warren-install-%d", os.Getpid())
	if exec.Command("ip", "netns", "add", name).Run() == nil {
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", name).Run() })
		output(t, exec.Command("ip", "-n", name, "link", "set", "lo", "up"))
	}
	c := exec.Command("ip", "netns", "exec", name, "chroot", root, "sh", "-euc", script)
	c.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	c.WaitDelay = 10 * time.Second // the server keeps the output
	t.Logf("%s", output(t, c))
}
