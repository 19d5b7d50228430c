package serve

import (
	"context"
	"fmt"
	"io"
	"time"

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
}

// start says that clients can connect.
func (a *announcer) start() {
	st := a.status()
	a.told = a.sentence(&st)
	a.tell("READY=1\nSTATUS=" + a.told)
	a.hasServed = st.Serving
	if st.Serving {
		fmt.Fprintf(a.out, "warren %s serves clients on %s, data in %s\n", a.version, a.addr, a.dataDir)
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
		fmt.Fprintf(a.out, "warren %s serves clients on %s, data in %s\n", a.version, a.addr, a.dataDir)
	}
}

// run looks until ctx is done.
func (a *announcer) run(ctx context.Context) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.look()
		}
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
