package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// refusal is what clients were told that were not served.
type refusal struct {
	knows string            // which servers they know
	by    map[string]string // what they say, by their programs
}

// clientWait is how long a client waits for a server. One that has not been served after glance is probably refused,
// which is worth a look with all programs.
const clientWait, glance = 20 * time.Second, 2 * time.Second

// program creates a znode as a client of some servers. Its exit code is not 0 if it cannot.
type program struct {
	name string
	args func(h *hosts, servers string) []string
}

// programs are all of them.
var programs = []program{
	{"warren shell", func(h *hosts, servers string) []string {
		return []string{cluster.Binary(h.t), "shell", "-s", servers, "--connect-wait", clientWait.String(), "create",
			"-e", "-s", "/seen"}
	}},
	goClient(clientWait),
	{"kazoo", func(_ *hosts, servers string) []string {
		return []string{"/usr/bin/python3", "-c", kazooClient, servers, fmt.Sprint(clientWait.Seconds())}
	}},
	{"zkCli.sh", func(_ *hosts, servers string) []string {
		return []string{"/usr/share/zookeeper/bin/zkCli.sh", "-server", servers, "create", "-e", "-s", "/seen"}
	}},
}

// clientOf is the variable with which the program of this test is a client, and clientWaits says for how long.
const clientOf, clientWaits = "WARREN_CLIENT_OF", "WARREN_CLIENT_WAITS"

// goClient is a client that waits so long.
func goClient(wait time.Duration) program {
	return program{"Go client", func(h *hosts, servers string) []string {
		own := must.Do(os.Executable())(h.t)
		return []string{"env", clientOf + "=" + servers, clientWaits + "=" + wait.String(), own}
	}}
}

// beClient creates a znode as a Go program does, and returns the exit code.
func beClient(servers string) int {
	wait, err := time.ParseDuration(os.Getenv(clientWaits))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c, err := client.Dial(ctx, servers)
	if err == nil {
		_, err = c.Create(ctx, "/seen", nil, client.EphemeralSequential)
		_ = c.Close()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

const kazooClient = `
import logging, sys
from kazoo.client import KazooClient
logging.disable()
c = KazooClient(sys.argv[1])
try:
    c.start(float(sys.argv[2]))
    c.create("/seen", ephemeral=True, sequence=True)
except Exception as e:
    print("%s: %s" % (type(e).__name__, e) if str(e) else type(e).__name__)
    sys.exit(1)
`

// clients are what clients are told that are not served: those that know all servers or, if these are served, those
// that know one.
func (h *hosts) clients(a *accident) (all []refusal) {
	h.t.Helper()
	every := cluster.Addrs(h.nodes)
	lists := []string{strings.Join(every, ",")}
	for i, addr := range every {
		if !slices.Contains(a.silent, i) {
			lists = append(lists, addr)
		}
	}
	unserved := make([]bool, len(lists)) // at a glance
	var asked sync.WaitGroup
	for i, servers := range lists {
		asked.Go(func() { _, unserved[i] = h.tells(goClient(glance), servers) })
	}
	asked.Wait()
	ofAll := refusal{"all servers", map[string]string{}}
	if h.beside != nil {
		ofAll.knows = "all servers, on its machine"
	}
	if unserved[0] && h.refuseAll(a, lists[0], ofAll.by) { // no server serves, so one of them does not
		return []refusal{ofAll}
	}
	one, refused := make([]refusal, len(lists)), make([]bool, len(lists))
	for i, servers := range lists {
		if i > 0 && unserved[i] {
			one[i] = refusal{"only this server", map[string]string{}}
			asked.Go(func() { refused[i] = h.refuseAll(a, servers, one[i].by) })
		}
	}
	asked.Wait()
	for i := range one {
		if refused[i] {
			all = append(all, one[i])
		}
	}
	return all
}

// noise is what zkCli.sh and the JVM write beside the answer.
var noise = regexp.MustCompile(
	`^(Connecting to |\d{4}-\d\d-\d\d |\s*at |WATCHER::|WatchedEvent |Welcome to |JLine |SLF4J: )`)

// refuseAll reports whether these servers refuse every program, and notes what the programs say. On a busy machine one
// may have given up before it was served, so all are asked again while some are served and others are not.
func (h *hosts) refuseAll(a *accident, servers string, by map[string]string) bool {
	var served []string
	for range 5 {
		var mu sync.Mutex
		var asked sync.WaitGroup
		served = nil
		refused := 0
		for _, p := range programs {
			if _, err := exec.LookPath(p.args(h, servers)[0]); err != nil {
				mu.Lock()
				by[p.name] = ""
				mu.Unlock()
				continue
			}
			asked.Go(func() {
				text, is := h.tells(p, servers)
				mu.Lock()
				defer mu.Unlock()
				if by[p.name] = text; is {
					refused++
				} else {
					served = append(served, p.name)
				}
			})
		}
		asked.Wait()
		if len(served) == 0 || refused == 0 {
			return len(served) == 0
		}
	}
	assert.Empty(h.t, served, "%s: these are served, and other programs are not", a.name)
	return true
}

// tells runs a program, and returns what it says if it is not served; nothing if it is not installed.
func (h *hosts) tells(p program, servers string) (text string, refused bool) {
	args := p.args(h, servers)
	cmd := h.command(args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var ended *exec.ExitError
	assert.True(h.t, err == nil || errors.As(err, &ended), "%v", err)
	var said []string
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); line != "" && !noise.MatchString(line) {
			said = append(said, line)
		}
	}
	quote := "`"
	if text = plain(strings.Join(said, " ")); strings.Contains(text, quote) {
		quote = "``"
	}
	return quote + text + quote, err != nil
}
