package servers

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// typist types into a terminal in which warren shell runs.
type typist struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd

	mu      sync.Mutex
	changed *sync.Cond
	shown   strings.Builder
	seen    int // how much of shown has been looked at
	isOver  bool
}

func (p *typist) resize(columns, rows uint16) {
	raw := must.Do(p.master.SyscallConn())(p.t)
	require.NoError(p.t, raw.Control(func(fd uintptr) {
		require.NoError(p.t, unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
	}))
}

func sitDown(t *testing.T, history string, args ...string) *typist {
	t.Helper()
	return sitDownWith(t, []string{"WARREN_HISTORY=" + history}, args...)
}

// sitDownWith is sitDown with variables of the environment.
func sitDownWith(t *testing.T, variables []string, args ...string) *typist {
	t.Helper()
	master, terminal := cmdline.OpenTerminal(t)
	p := &typist{t: t, master: master, cmd: cmdline.Process(t, append([]string{"shell"}, args...)...)}
	p.changed = sync.NewCond(&p.mu)
	p.resize(80, 24)
	p.cmd.Env = append(p.cmd.Env, variables...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = terminal, terminal, terminal
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	require.NoError(t, terminal.Close())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			p.mu.Lock()
			p.shown.Write(b[:n])
			p.isOver = err != nil // the last user of the terminal has closed it
			p.changed.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // unless it has ended
		_ = p.cmd.Wait()
		<-ended
		master.Close()
	})
	return p
}

// types presses keys.
func (p *typist) types(keys string) {
	p.t.Helper()
	must.Do(p.master.WriteString(keys))(p.t)
}

// sees waits until the screen shows a text behind what was seen before, and returns what came before it.
func (p *typist) sees(text string) string {
	p.t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		p.mu.Lock()
		p.isOver = true
		p.changed.Broadcast()
		p.mu.Unlock()
	})
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		rest := p.shown.String()[p.seen:]
		if i := strings.Index(rest, text); i >= 0 {
			p.seen += i + len(text)
			return rest[:i]
		}
		if p.isOver {
			p.t.Fatalf("the screen does not show %q but %q", text, rest)
		}
		p.changed.Wait()
	}
}

// leaves waits for the end of the shell and returns its exit code.
func (p *typist) leaves() int {
	p.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.cmd.Wait()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		p.t.Fatal("the shell goes on")
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestShellTerminal(t *testing.T) {
	addr := startShellServer(t)
	history := filepath.Join(t.TempDir(), "state", "history")
	const up, ctrlC, ctrlD = "\x1b[A", "\x03", "\x04"
	p := sitDown(t, history, "-s", addr)
	prompt := func(n int) string { return fmt.Sprintf("CONNECTED\x1b[0m) %d] ", n) }
	p.sees("warren shell ")
	p.sees("`help` lists the commands")
	p.sees("\x1b[2mconnected\x1b[0m") // before or behind the first prompt
	p.sees("[zk: " + addr + "(")
	p.sees(prompt(0))
	p.types("create /apple red\r")
	p.sees("Created /apple")
	p.sees(prompt(1))

	// Completion: a command, a path, the candidates.
	p.types("get /ap\t\r")
	p.sees("\x1b[36mred\x1b[0m\r\n")
	p.sees(prompt(2))
	p.types("create /apricot x\r")
	p.sees(prompt(3))
	p.types("getAc\t/ap\t")
	p.sees("apple    apricot\r\n")
	p.types("r\t\r")
	p.sees("'world,'anyone\r\n: \x1b[32mcdrwa\x1b[0m\r\n")
	p.sees(prompt(4))

	// The history, and a line that is given up.
	p.types(up + up + up)
	p.sees("get /apple")
	p.types("\r")
	p.sees("\x1b[36mred\x1b[0m\r\n")
	p.sees(prompt(5))
	p.types("delete /apple" + ctrlC)
	p.sees(prompt(5))
	p.types("ls /\r")
	p.sees("[apple, apricot, zookeeper]")
	p.sees(prompt(6))

	// A watch event is printed above the line that is being typed, which stays.
	p.types("get -w /apple\r")
	p.sees(prompt(7))
	p.types("ls /apr")
	p.sees("ls /apr")
	runs(t, "shell", "-s", addr, "set", "/apple", "green")
	p.sees("type:NodeDataChanged path:/apple")
	p.sees("ls /apr")
	p.types("icot\r")
	p.sees("[]\r\n")
	p.sees(prompt(8))

	// Ctrl-C ends a command, not the shell.
	p.types("watch /\r")
	p.sees("watching /, Ctrl-C ends")
	p.types(ctrlC)
	p.sees("Interrupted")
	p.sees(prompt(9))

	// A narrow terminal breaks the line anew, a wide one does not.
	p.resize(30, 10)
	p.sees("CONNECTED")
	p.types("get /apple\r")
	p.sees("\x1b[36mgreen\x1b[0m\r\n")
	p.sees("10] ")

	p.types("addauth digest bob:secret\r")
	p.sees("11] ")
	p.types("get /none\r")
	p.sees("Node does not exist: /none")
	p.sees("see what is there with `ls /`")
	p.sees("12] ")
	p.types("set /apple two words\r")
	p.sees(`set: too many arguments, from "words" on`)
	p.sees("put quotes around data with blanks, as in set /app 'two words'")
	p.sees("13] ")
	p.types("get /none\r")
	p.sees("14] ")
	p.types(ctrlD)
	require.Equal(t, 1, p.leaves())

	// The next shell has the history, without the password.
	text := must.ReadFile(t, history)
	require.Contains(t, string(text), "get -w /apple\nls /apricot\nwatch /\nget /apple\nget /none\n")
	require.NotContains(t, string(text), "secret")
	p = sitDown(t, history, "-s", addr, "-q")
	p.sees("0] ")
	p.types(up)
	p.sees("get /none")
	p.types("\x15quit\r")
	require.Equal(t, 0, p.leaves())
}

// Ctrl-R searches the lines that were typed, from the newest to the oldest.
func TestShellSearchesHistory(t *testing.T) {
	addr := startShellServer(t)
	const ctrlR, ctrlG, left = "\x12", "\x07", "\x1b[D"
	history := filepath.Join(t.TempDir(), "history")
	lines := "create /pear old\nget /pear\nls /\nget /zookeeper\nls /\nstat /p\x1bear\n"
	require.NoError(t, os.WriteFile(history, []byte(lines), 0o600))
	p := sitDown(t, history, "-s", addr)
	p.sees("CONNECTED\x1b[0m) 0] ")

	// The keys narrow the search, Ctrl-R goes on to older lines, Backspace starts it again, Enter runs what was found.
	p.types(ctrlR + "g")
	p.sees("(reverse-i-search)`g': get /zookeeper")
	p.types(ctrlR)
	p.sees("(reverse-i-search)`g': get /pear")
	p.types("x")
	p.sees("(failed reverse-i-search)`gx': get /pear")
	p.types("\x7f")
	p.sees("(reverse-i-search)`g': get /zookeeper")
	p.types("\x7fpea")
	p.sees("(reverse-i-search)`pea': get /pear") // not the line with an escape sequence
	p.types(ctrlR)
	p.sees("(reverse-i-search)`pea': create /pear old")
	p.types("\r")
	p.sees("Created /pear")
	p.sees("1] ")

	// A key that moves ends the search, and moves in the line.
	p.types(ctrlR + "ls" + left + "-s \x05\r") // at the last character; then to the end
	p.sees("numChildren")
	p.sees("2] ")

	// An event is printed above the search, which goes on. Ctrl-G gives it up: the line is there again.
	p.types("get -w /pear\r")
	p.sees("3] ")
	p.types("ls /pe")
	p.sees("ls /pe")
	p.types(ctrlR + "zoo")
	p.sees("`zoo': get /zookeeper")
	runs(t, "shell", "-s", addr, "set", "/pear", "new")
	p.sees("type:NodeDataChanged path:/pear")
	p.sees("`zoo': get /zookeeper")
	p.types("\x7f")
	p.sees("(reverse-i-search)`zo': get /zookeeper")
	p.types(ctrlG)
	p.sees("3] ")
	p.sees("ls /pe")
	p.types("ar\r")
	p.sees("[]\r\n")
	p.sees("4] ")
	p.types("\x04")
	require.Equal(t, 0, p.leaves())
	text := must.ReadFile(t, history)
	require.Contains(t, string(text), "create /pear old\nls -s /\nget -w /pear\nls /pear\n")
}

func TestShellColours(t *testing.T) {
	addr := startShellServer(t)
	p := sitDown(t, "", "-s", addr, "ls", "/none")
	require.Equal(t, 1, p.leaves())
	p.sees("\x1b[31mNode does not exist: /none\x1b[0m")
	t.Setenv("NO_COLOR", "1")
	p = sitDown(t, "", "-s", addr, "ls", "/")
	require.Zero(t, p.leaves())
	require.Empty(t, p.sees("[zookeeper]\r\n"), "the list and nothing else")
	p = sitDown(t, "", "-s", addr, "ls", "/none")
	require.Equal(t, 1, p.leaves())
	require.NotContains(t, p.sees("Node does not exist: /none"), "\x1b")
}

// A terminal sees colours and tables, and what clients have stored cannot write on it. With NO_COLOR or at a dumb
// terminal there are no escape sequences; a pipe sees what zkCli.sh prints.
func TestShellScreen(t *testing.T) {
	addr := startShellServer(t)
	evil := "data\x1b]0;title\x07\x1b[2J \u202eend"
	for _, words := range [][]string{{"create", "/app", evil}, {"create", "/app/config", "42"},
		{"create", "/app/config/a"}} {
		runs(t, append([]string{"shell", "-s", addr}, words...)...)
	}
	var variables []string
	shows := func(words ...string) string {
		p := sitDownWith(t, variables, append([]string{"-s", addr}, words...)...)
		require.Zero(t, p.leaves())
		shown := p.sees("numChildren")
		return strings.ReplaceAll(shown, "\r\n", "\n")
	}
	require.Contains(t, shows("get", "-s", "/app"),
		"\x1b[36mdata\\x1b]0;title\\a\\x1b[2J \\u202eend\x1b[0m\n\x1b[2mcZxid = \x1b[0m0x2\n")
	require.Contains(t, shows("ls", "-s", "/app"), "\x1b[34mconfig\x1b[0m  persistent")

	for _, v := range []string{"NO_COLOR=1", "TERM=dumb"} {
		t.Run(v, func(t *testing.T) {
			variables = []string{v}
			require.Equal(t, "data\\x1b]0;title\\a\\x1b[2J \\u202eend\ncZxid = 0x2\n",
				upTo(shows("get", "-s", "/app"), "ctime"))
			require.Regexp(t, `^NAME    KIND        VERSION  BYTES  CHILDREN  MODIFIED\n`+
				`config  persistent        0      2         1  20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\n\ncZxid = 0x2\n$`,
				upTo(shows("ls", "-s", "/app"), "ctime"))
		})
	}
	out := runs(t, "shell", "-s", addr, "ls", "-s", "/app")
	require.Equal(t, "[config]\ncZxid = 0x2\n", upTo(out, "ctime"))
	out = runs(t, "shell", "-s", addr, "get", "/app")
	require.Equal(t, evil+"\n", out)
}

// Output that is longer than the screen waits for a key. --pager=false switches that off.
func TestShellPager(t *testing.T) {
	addr := startShellServer(t)
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line-%02d", i))
	}
	for path, data := range map[string]string{"/long": strings.Join(lines, "\n"),
		"/fits": strings.Join(lines[:9], "\n"), "/wide": strings.Repeat("0123456789", 60)} {
		runs(t, "shell", "-s", addr, "create", path, data)
	}
	const more = "-- more: "
	p := sitDown(t, "", "-s", addr)
	p.sees("CONNECTED\x1b[0m) 0] ")
	p.resize(70, 10)
	p.types("get /long\r")
	shown := p.sees(more)
	require.Contains(t, shown, "line-08\r\n")
	require.NotContains(t, shown, "line-09")
	p.types("x ") // a key without a meaning, and a screen
	shown = p.sees(more)
	require.Contains(t, shown, "line-17\r\n")
	require.NotContains(t, shown, "line-18")
	p.types("\r")
	shown = p.sees(more)
	require.Contains(t, shown, "line-18\r\n")
	require.NotContains(t, shown, "line-19")
	p.types("q")
	require.NotContains(t, p.sees(" 1] "), "line-")
	p.types("get /long\r")
	p.sees(more)
	p.types("\x03")
	require.NotContains(t, p.sees(" 2] "), "line-")
	p.types("get /long\r")
	p.sees(more)
	p.types("a")
	p.sees("line-99")
	p.sees(" 3] ")
	p.resize(60, 6) // of the data, ten rows
	p.types("get /wide\r")
	require.Equal(t, 5*6, strings.Count(p.sees(more), "0123456789"))
	p.types(" ")
	require.Equal(t, 5*6, strings.Count(p.sees(" 4] "), "0123456789"))
	p.resize(70, 10)
	p.types("get /fits\r")
	require.NotContains(t, p.sees(" 5] "), more)
	p.types("\x04")
	require.Zero(t, p.leaves())

	p = sitDown(t, "", "-s", addr, "--pager=false")
	p.sees("CONNECTED\x1b[0m) 0] ")
	p.resize(70, 10)
	p.types("get /long\r")
	require.NotContains(t, p.sees("line-99"), more)
}

// upTo returns the text before a part of it.
func upTo(text, part string) string {
	before, _, _ := strings.Cut(text, part)
	return before
}

var updatePicture = flag.Bool("update-picture", false, "write docs/pictures/shell.ansi anew")

// TestShellPicture types the session that docs/pictures/shell.svg shows, and compares what the terminal shows with the
// text that the picture is drawn from. Addresses, zxids and times are those of the picture.
func TestShellPicture(t *testing.T) {
	addr := startShellServer(t)
	p := sitDown(t, "", "-s", addr)
	p.resize(100, 40)
	p.sees("CONNECTED\x1b[0m) 0] ")
	p.types("\r")
	p.sees("CONNECTED\x1b[0m) 0] ")
	for i, line := range []string{
		`create -p /shop/config '{"currency":"EUR","retries":3}'`,
		"create /shop/orders",
		"create /shop/orders/o-1 open",
		"create -e /shop/leader zk1:9092",
		"tree -s /shop",
		"ls -s /shop",
		"get /shop/config",
		"get /shop/confg",
	} {
		p.types(line + "\r")
		p.sees(fmt.Sprintf(") %d] ", i+1))
	}
	p.mu.Lock()
	shown := p.shown.String()
	p.mu.Unlock()
	begin := strings.LastIndex(shown[:strings.Index(shown, "create -p")], "[zk: ")
	shown = strings.NewReplacer("\r\n", "\n", addr, "127.0.0.1:2181").Replace(shown[begin:])
	for pattern, text := range map[string]string{
		`0x[0-9a-f]+`:                         "0x1c",
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`:      "2026-11-25 12:00:00",
		`\w{3} \w{3} \d\d [\d:]{8} \w+ \d{4}`: "Wed Nov 25 12:00:00 UTC 2026",
	} {
		shown = regexp.MustCompile(pattern).ReplaceAllString(shown, text)
	}
	require.NotRegexp(t, "\x1b\\[[0-9]*[^0-9m]|\r", shown, "the picture has no cursor that moves")
	const file = "../../../../docs/pictures/shell.ansi"
	if *updatePicture {
		require.NoError(t, os.WriteFile(file, []byte(shown), 0o644))
	}
	want := must.ReadFile(t, file)
	require.Equal(t, string(want), shown, "run go test -run ShellPicture -update-picture here, then make pictures")
}

// SIGTERM at the prompt leaves the terminal as it was.
func TestShellTerminalIsRestored(t *testing.T) {
	addr := startShellServer(t)
	master, terminal := cmdline.OpenTerminal(t)
	defer master.Close()
	defer terminal.Close()
	settings := func() (s unix.Termios) {
		raw := must.Do(terminal.SyscallConn())(t)
		require.NoError(t, raw.Control(func(fd uintptr) {
			got := must.Do(unix.IoctlGetTermios(int(fd), unix.TCGETS))(t)
			s = *got
		}))
		return s
	}
	before := settings()
	cmd := cmdline.Process(t, "shell", "-s", addr)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	require.NoError(t, cmd.Start())
	b := make([]byte, 256)
	for shown := ""; !strings.Contains(shown, "0] "); {
		n := must.Do(master.Read(b))(t)
		shown += string(b[:n])
	}
	require.NotEqual(t, before, settings())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	require.Equal(t, before, settings())
}
