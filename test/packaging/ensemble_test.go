package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var debian = flag.String("debian", "", "a fresh root of Debian; without it debootstrap makes one")

// member is a server of an ensemble, in a root file system that it sees alone.
type member struct {
	root string
	uid  uint32
	gid  uint32
	env  []string
	dir  string // where it starts
	// args is the command of the server, the path of the program first.
	args []string
}

func (m *member) command(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Err = nil // the name was looked for outside
	c.Env, c.Dir = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, m.env...), m.dir
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root, Credential: &syscall.Credential{Uid: m.uid, Gid: m.gid}}
	return c
}

// ports are the quorum, election and client ports of three servers.
func ports(t *testing.T) (all [3][3]int) {
	t.Helper()
	for n := range all {
		for i := range all[n] {
			l := mustGet(net.Listen("tcp", "127.0.0.1:0"))(t)
			all[n][i] = l.Addr().(*net.TCPAddr).Port
			defer l.Close() // all are open at once, so that they differ
		}
	}
	return all
}

func serverLines(ports [3][3]int) (lines []string) {
	for n, p := range ports {
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d;127.0.0.1:%d", n+1, p[0], p[1], p[2]))
	}
	return lines
}

// runEnsemble starts the members, waits until each is healthy, writes at one and reads at another. It returns a
// function that ends them in order.
func runEnsemble(t *testing.T, members [3]*member, ports [3][3]int) (stop func()) {
	t.Helper()
	var running []*exec.Cmd
	for n, m := range members {
		c := m.command(m.args...)
		var log bytes.Buffer
		c.Stdout, c.Stderr = &log, &log
		must(t, c.Start())
		running = append(running, c)
		t.Cleanup(func() {
			if c.ProcessState == nil {
				_ = c.Process.Kill()
				_ = c.Wait()
			}
			if t.Failed() {
				t.Logf("server %d:\n%s", n+1, log.String())
			}
		})
	}
	client := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", ports[n][2]) }
	modes := map[string]int{}
	for n, m := range members {
		out := output(t, m.command(m.args[0], "health", "--wait", "2m", client(n)))
		modes[strings.TrimSpace(strings.TrimPrefix(string(out), client(n)+":"))]++
	}
	if modes["leader"] != 1 || modes["follower"] != 2 {
		t.Fatalf("no ensemble of three: %v", modes)
	}
	shell := func(n int, words ...string) string {
		args := append([]string{members[n].args[0], "shell", "-s", client(n)}, words...)
		return string(output(t, members[n].command(args...)))
	}
	shell(0, "create", "/installed", "here")
	shell(2, "sync", "/installed")
	if got := shell(2, "get", "/installed"); !strings.Contains(got, "here") {
		t.Errorf("the other server says %q", got)
	}
	return func() {
		for _, c := range running {
			must(t, c.Process.Signal(syscall.SIGTERM))
		}
		for n, c := range running {
			if err := c.Wait(); err != nil {
				t.Errorf("server %d: %v", n+1, err)
			}
		}
	}
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("it takes root, for chroot")
	}
}

// configured writes the configuration and the id of a member below a folder of its root, and gives them to its user.
func (m *member) configured(t *testing.T, n int, folder string, servers []string) *member {
	t.Helper()
	data := filepath.Join(folder, strconv.Itoa(n+1))
	must(t, os.MkdirAll(m.root+data, 0o755))
	must(t, os.WriteFile(m.root+data+"/myid", fmt.Appendln(nil, n+1), 0o644))
	must(t, os.WriteFile(m.root+data+".cfg", fmt.Appendf(nil,
		"dataDir=%s\ntickTime=2000\ninitLimit=10\nsyncLimit=5\nadmin.enableServer=false\n%s\n",
		data, strings.Join(servers, "\n")), 0o644))
	for _, name := range []string{data, data + "/myid"} {
		must(t, os.Chown(m.root+name, int(m.uid), int(m.gid)))
	}
	m.dir, m.args = "/", append(m.args, "server", data+".cfg")
	return m
}

// The archive, in a root that has nothing else.
func TestArchiveRuns(t *testing.T) {
	asRoot(t)
	root := t.TempDir()
	must(t, os.Chmod(root, 0o755))
	file := artefacts(t, "*-linux-amd64.tar.gz", 1)[0]
	output(t, exec.Command("tar", "xzf", file, "-C", root))
	top := strings.TrimSuffix(filepath.Base(file), ".tar.gz")
	ports := ports(t)
	var members [3]*member
	for n := range members {
		m := &member{root: root, uid: 4711, gid: 4711, args: []string{"/" + top + "/bin/warren"}}
		members[n] = m.configured(t, n, "/data", serverLines(ports))
	}
	runEnsemble(t, members, ports)()
}

// The image: three containers without an engine, by the variables, user, folder and command of the image.
func TestImageRuns(t *testing.T) {
	asRoot(t)
	_, images, _ := imagesOf(t)
	file := mustGet(images["amd64"].ConfigFile())(t)
	var uid, gid uint32
	mustGet(fmt.Sscanf(file.Config.User, "%d:%d", &uid, &gid))(t)
	ports := ports(t)
	var members [3]*member
	for n := range members {
		members[n] = &member{root: rootOfImage(t, images["amd64"]), uid: uid, gid: gid, dir: file.Config.WorkingDir,
			env: append(file.Config.Env, fmt.Sprint("ZOO_MY_ID=", n+1), "ZOO_ADMINSERVER_ENABLED=false",
				"ZOO_SERVERS="+strings.Join(serverLines(ports), " ")),
			args: append([]string{"/usr/local/bin/" + file.Config.Cmd[0]}, file.Config.Cmd[1:]...)}
	}
	stop := runEnsemble(t, members, ports)
	for n, m := range members {
		health := append([]string{"/usr/local/bin/warren"}, file.Config.Healthcheck.Test[2:]...)
		client := fmt.Sprintf("127.0.0.1:%d", ports[n][2])
		if out, err := m.command(append(health, "--admin-port", "0", client)...).CombinedOutput(); err != nil {
			t.Errorf("the image's check of health: %v: %s", err, out)
		}
		out, err := m.command("/usr/local/bin/zkServer.sh", "status").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Mode: ") {
			t.Errorf("zkServer.sh status: %v: %s", err, out)
		}
		for _, name := range []string{"/conf/zoo.cfg", "/data/myid", "/datalog/version-2"} {
			if _, err := os.Stat(m.root + name); err != nil {
				t.Error(err)
			}
		}
	}
	stop()
}

// bootstrapped is a root of Debian that nothing was installed in, made once and removed by TestMain. It is empty where
// that is not possible, and says why.
var bootstrapped = sync.OnceValues(func() (root, why string) {
	if *debian != "" {
		return *debian, ""
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", "it takes debootstrap"
	}
	out, err := exec.Command("debootstrap", "--variant=minbase", "stable", scratch).CombinedOutput()
	if err != nil {
		return "", fmt.Sprintf("debootstrap makes no root here: %v: %s", err, out[max(0, len(out)-500):])
	}
	return scratch, ""
})

// scratch is the folder of what tests share.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if scratch, err = os.MkdirTemp("", "warren-debian-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// freshDebian is a root of Debian for one test.
func freshDebian(t *testing.T) string {
	t.Helper()
	asRoot(t)
	from, why := bootstrapped()
	if why != "" {
		t.Skip(why)
	}
	root := t.TempDir()
	output(t, exec.Command("cp", "-a", from+"/.", root))
	must(t, os.Chmod(root, 0o755)) // the copy has the mode of the temporary folder
	return root
}

// installed runs an ensemble of what a package has installed, as the user and in the folders that it has made.
func installed(t *testing.T, root string) {
	t.Helper()
	uid, gid := userOf(t, root, "warren")
	for name, want := range map[string]string{"/etc/warren": "drwxrwx--- root",
		"/var/lib/warren": "drwxr-x--- warren", "/var/log/warren": "drwxr-x--- warren",
		"/etc/warren/zoo.cfg": "-rw-r--r-- root", "/usr/bin/warren": "-rwxr-xr-x root",
		"/usr/share/doc/warren/THIRD_PARTY_NOTICES":     "-rw-r--r-- root",
		"/usr/lib/systemd/system/warren.service":        "-rw-r--r-- root",
		"/usr/lib/systemd/system/warren-backup.service": "-rw-r--r-- root",
		"/usr/lib/systemd/system/warren-backup.timer":   "-rw-r--r-- root",
		"/usr/share/man/man1/warren-server.1":           "-rw-r--r-- root",
		"/usr/share/bash-completion/completions/warren": "-rw-r--r-- root"} {
		info := mustGet(os.Stat(root + name))(t)
		owner := "root"
		if info.Sys().(*syscall.Stat_t).Uid == uid {
			owner = "warren"
		}
		if got := info.Mode().String() + " " + owner; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	ports := ports(t)
	var members [3]*member
	for n := range members {
		m := &member{root: root, uid: uid, gid: gid, args: []string{"/usr/bin/warren"}}
		members[n] = m.configured(t, n, "/var/lib/warren", serverLines(ports))
	}
	runEnsemble(t, members, ports)()
}

// userOf looks a user up in a root.
func userOf(t *testing.T, root, name string) (uid, gid uint32) {
	t.Helper()
	text := mustGet(os.ReadFile(root + "/etc/passwd"))(t)
	m := regexp.MustCompile(`(?m)^` + name + `:[^:]*:(\d+):(\d+):`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("there is no user %s", name)
	}
	for i, to := range []*uint32{&uid, &gid} {
		number := mustGet(strconv.ParseUint(m[i+1], 10, 32))(t)
		*to = uint32(number)
	}
	return uid, gid
}

func inside(t *testing.T, root string, words ...string) {
	t.Helper()
	c := exec.Command(words[0], words[1:]...)
	c.Err = nil // the name was looked for outside
	c.Path = "/usr/bin/" + words[0]
	c.Env, c.Dir = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}, "/"
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	output(t, c)
}

// dataStays checks that what servers have written is there after a removal, and the program is not.
func dataStays(t *testing.T, root string) {
	t.Helper()
	logs := mustGet(filepath.Glob(root + "/var/lib/warren/*/version-2/log.*"))(t)
	if _, err := os.Stat(root + "/usr/bin/warren"); !errors.Is(err, os.ErrNotExist) || len(logs) < 3 {
		t.Errorf("after the removal there are %d logs, and the program: %v", len(logs), err)
	}
}

func TestDebRuns(t *testing.T) {
	root := freshDebian(t)
	deb := mustGet(os.ReadFile(artefacts(t, "*_amd64.deb", 1)[0]))(t)
	must(t, os.WriteFile(root+"/tmp/warren.deb", deb, 0o644))
	inside(t, root, "dpkg", "--install", "/tmp/warren.deb")
	installed(t, root)
	inside(t, root, "dpkg", "--install", "/tmp/warren.deb") // as an upgrade does
	inside(t, root, "dpkg", "--remove", "warren")
	dataStays(t, root)
}

// Debian stands in for a system of rpm, of which no mirror is at hand: its root has what the scripts use.
func TestRPMRuns(t *testing.T) {
	asRoot(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("it takes rpm")
	}
	root := freshDebian(t)
	file := mustGet(filepath.Abs(artefacts(t, "*.x86_64.rpm", 1)[0]))(t)
	rpm := func(words ...string) {
		t.Helper()
		output(t, exec.Command("rpm", append([]string{"--root", root, "--nodeps", "--nosignature"}, words...)...))
	}
	rpm("--install", file)
	installed(t, root)
	rpm("--upgrade", "--replacepkgs", file)
	rpm("--erase", "warren")
	dataStays(t, root)
}
