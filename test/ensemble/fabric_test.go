package ensemble

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// fabric is a network of namespaces on one bridge, of which the test itself has the last address.
type fabric struct {
	t      testing.TB
	name   string // prefix of everything it makes
	subnet string // the first three bytes of all addresses
	other  string // those of the second addresses, if a test wants them
	n      int
	late   []*delayLine // where the kernel has no netem
}

// newFabric makes n namespaces, or returns nil if this process may not.
func newFabric(t testing.TB, n int) *fabric {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	id := rand.IntN(1 << 16)
	f := &fabric{t: t, name: fmt.Sprintf("wrn%04x", id), subnet: fmt.Sprintf("10.%d.%d", 100+id>>8%100, id&0xff),
		other: fmt.Sprintf("10.%d.%d", id>>8%100, id&0xff), n: n}
	if err := run("ip", "link", "add", f.name, "type", "bridge"); err != nil {
		t.Logf("no network namespaces: %v", err)
		return nil
	}
	t.Cleanup(f.remove)
	f.must("ip", "addr", "add", f.subnet+".254/24", "dev", f.name)
	f.must("ip", "link", "set", f.name, "up")
	for i := 1; i <= n; i++ {
		ns, port := f.namespace(i), f.port(i)
		f.must("ip", "netns", "add", ns)
		f.must("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns)
		f.must("ip", "link", "set", port, "master", f.name, "up")
		f.must("ip", "-n", ns, "addr", "add", f.addr(i)+"/24", "dev", "eth0")
		f.must("ip", "-n", ns, "link", "set", "eth0", "up")
		f.must("ip", "-n", ns, "link", "set", "lo", "up")
	}
	return f
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func (f *fabric) must(name string, args ...string) {
	f.t.Helper()
	if err := run(name, args...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fabric) remove() {
	f.endDelays()
	for i := 1; i <= f.n; i++ {
		_ = run("ip", "netns", "del", f.namespace(i)) // it may not be there yet
	}
	_ = run("ip", "link", "del", f.name)
}

func (f *fabric) namespace(i int) string { return fmt.Sprintf("%s-%d", f.name, i) }
func (f *fabric) port(i int) string      { return fmt.Sprintf("%sp%d", f.name, i) }
func (f *fabric) addr(i int) string      { return fmt.Sprintf("%s.%d", f.subnet, i) }

// drop discards what i sends to j from now on; what was on its way arrives, and so does what j sends.
func (f *fabric) drop(i, j int) {
	_ = run("ip", "-n", f.namespace(i), "route", "add", "blackhole", f.addr(j)+"/32") // there already
}

// deafen lets all that other servers send to server i get lost on the way, by a wrong Ethernet address, until hears
// is called. What server i sends arrives.
func (f *fabric) deafen(i int) {
	f.neighbour(i, "replace", "lladdr", "02:00:00:00:00:01", "nud", "permanent")
}

// hears ends deafen.
func (f *fabric) hears(i int) { f.neighbour(i, "del") }

func (f *fabric) neighbour(i int, what string, words ...string) {
	for j := 1; j <= f.n; j++ {
		if j != i {
			f.must("ip", append([]string{"-n", f.namespace(j), "neigh", what, f.addr(i), "dev", "eth0"}, words...)...)
		}
	}
}

// isolate cuts i off from all other servers, not from clients.
func (f *fabric) isolate(i int) {
	for j := 1; j <= f.n; j++ {
		if j != i {
			f.drop(i, j)
			f.drop(j, i)
		}
	}
}

// second gives every namespace one more address, in a network of its own on the same bridge.
func (f *fabric) second() {
	for i := 1; i <= f.n; i++ {
		f.must("ip", "-n", f.namespace(i), "addr", "add", f.secondAddr(i)+"/24", "dev", "eth0")
	}
}

func (f *fabric) secondAddr(i int) string { return fmt.Sprintf("%s.%d", f.other, i) }

// without discards what is sent to one address of each namespace by the others.
func (f *fabric) without(addr func(int) string) { f.route("add", addr) }

// with ends what without has done.
func (f *fabric) with(addr func(int) string) { f.route("del", addr) }

func (f *fabric) route(what string, addr func(int) string) {
	for i := 1; i <= f.n; i++ {
		for j := 1; j <= f.n; j++ {
			if i != j {
				f.must("ip", "-n", f.namespace(i), "route", what, "blackhole", addr(j)+"/32")
			}
		}
	}
}

// heal ends all that drop and slow have done.
func (f *fabric) heal() {
	for i := 1; i <= f.n; i++ {
		for j := 1; j <= f.n; j++ {
			_ = run("ip", "-n", f.namespace(i), "route", "del", "blackhole", f.addr(j)+"/32") // most are not there
		}
		_ = run("tc", "-n", f.namespace(i), "qdisc", "del", "dev", "eth0", "root")
	}
	f.endDelays()
}

// slow adds a delay to all that i sends. It reports false if this machine cannot.
func (f *fabric) slow(i int, delay time.Duration) bool {
	f.t.Helper()
	if run("tc", "-n", f.namespace(i), "qdisc", "replace", "dev", "eth0", "root", "netem", "delay",
		delay.String()) == nil {
		return true
	}
	l, err := startDelayLine(f.namespace(i), netip.MustParseAddr(f.addr(i)), delay)
	if err != nil {
		f.t.Logf("nothing can be made late: %v", err)
		return false
	}
	f.late = append(f.late, l)
	return true
}

func (f *fabric) endDelays() {
	for _, l := range f.late {
		l.end()
	}
	f.late = nil
}
