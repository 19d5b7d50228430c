package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server"
)

// announceEvery is how often it is looked whether a server serves clients.
const announceEvery = 500 * time.Millisecond

// announcer says whether a server serves clients: on standard output when it starts and when it serves for the first
// time, to the service manager whenever that changes.
type announcer struct {
	status    func() server.Status
	version   string
	addr      string
	dataDir   string
	out       io.Writer
	tell      func(state string) // to the service manager
	told      string
	hasServed bool
	hints     string // what a person can do next, printed once
}

// start says that clients can connect.
func (a *announcer) start() {
	st := a.status()
	a.told = a.sentence(&st)
	a.tell("READY=1\nSTATUS=" + a.told)
	a.hasServed = st.Serving
	if st.Serving {
		a.serves()
		return
	}
	fmt.Fprintf(a.out, "warren %s listens for clients on %s, data in %s, and serves them when there is a leader\n",
		a.version, a.addr, a.dataDir)
}

// look says what has changed.
func (a *announcer) look() {
	st := a.status()
	if text := a.sentence(&st); text != a.told {
		a.told = text
		a.tell("STATUS=" + text)
	}
	if st.Serving && !a.hasServed {
		a.hasServed = true
		a.serves()
	}
}

func (a *announcer) serves() {
	fmt.Fprintf(a.out, "warren %s serves clients on %s, data in %s\n%s", a.version, a.addr, a.dataDir, a.hints)
}

// nextSteps returns lines for a person at a terminal. clients and admin are addresses, nil without such a port;
// console tells whether the admin port has the console.
func nextSteps(clients, admin net.Addr, console bool) (lines string) {
	if admin != nil && console {
		lines = "console  http://" + reachable(admin) + "/console/\n"
	}
	if clients != nil {
		lines += "try      " + callable(os.Args[0]) + " shell -s " + reachable(clients) + " ls /\n"
	}
	return lines
}

// callable is what a person types to call this program, which was called by a name or a path: its name if the shell
// finds it by that, else the path. The name is warren, even if a link with another one was called.
func callable(called string) string {
	const name = "warren"
	if _, err := exec.LookPath(name); err == nil || strings.TrimSuffix(filepath.Base(called), ".exe") != name {
		return name
	}
	return called
}

// reachable returns an address to connect to on this machine: localhost if the port is open on all addresses.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return a.String()
}

// run looks until ctx is done.
func (a *announcer) run(ctx context.Context) {
	for cli.Pause(ctx, announceEvery) == nil {
		a.look()
	}
}

func (a *announcer) sentence(st *server.Status) string {
	switch {
	case st.Serving && st.Mode == "read-only":
		return "serves read-only clients on " + a.addr + ": " + st.WaitsFor
	case st.Serving:
		return "serves clients on " + a.addr
	case st.WaitsFor != "":
		return "serves no client: " + st.WaitsFor
	}
	return "serves no client yet"
}
