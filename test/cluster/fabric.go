package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Fabric is a network of namespaces on one bridge, of which the test itself has the last address.
type Fabric struct {
	t      testing.TB
	name   string // prefix of everything it makes
	subnet string // the first three bytes of all addresses
	other  string // those of the second addresses, if a test wants them
	n      int
}

// NewFabric makes n namespaces, or returns nil if this process may not.
func NewFabric(t testing.TB, n int) *Fabric {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	id := rand.IntN(1 << 16)
	f := &Fabric{t: t, name: fmt.Sprintf("wrn%04x", id), subnet: fmt.Sprintf("10.%d.%d", 100+id>>8%100, id&0xff),
		other: fmt.Sprintf("10.%d.%d", id>>8%100, id&0xff), n: n}
	if err := Run("ip", "link", "add", f.name, "type", "bridge"); err != nil {
		t.Logf("no network namespaces: %v", err)
		return nil
	}
	t.Cleanup(f.remove)
	f.must("ip", "addr", "add", f.subnet+".254/24", "dev", f.name)
	f.must("ip", "link", "set", f.name, "up")
	for i := 1; i <= n; i++ {
		ns, port := f.Namespace(i), f.port(i)
		f.must("ip", "netns", "add", ns)
		f.must("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns)
		f.must("ip", "link", "set", port, "master", f.name, "up")
		f.must("ip", "-n", ns, "addr", "add", f.Addr(i)+"/24", "dev", "eth0")
		f.must("ip", "-n", ns, "link", "set", "eth0", "up")
		f.must("ip", "-n", ns, "link", "set", "lo", "up")
	}
	return f
}

// Run runs a program. The error has what it has written.
func Run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func (f *Fabric) must(name string, args ...string) {
	f.t.Helper()
	if err := Run(name, args...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *Fabric) remove() {
	for i := 1; i <= f.n; i++ {
		_ = Run("ip", "netns", "del", f.Namespace(i)) // it may not be there yet
	}
	_ = Run("ip", "link", "del", f.name)
}

// Namespace is the name of a namespace, and Addr its address.
func (f *Fabric) Namespace(i int) string { return fmt.Sprintf("%s-%d", f.name, i) }
func (f *Fabric) port(i int) string      { return fmt.Sprintf("%sp%d", f.name, i) }
func (f *Fabric) Addr(i int) string      { return fmt.Sprintf("%s.%d", f.subnet, i) }

// Drop discards what i sends to j from now on; what was on its way arrives, and so does what j sends.
func (f *Fabric) Drop(i, j int) {
	_ = Run("ip", "-n", f.Namespace(i), "route", "add", "blackhole", f.Addr(j)+"/32") // there already
}

// Deafen lets all that other servers send to server i get lost on the way, by a wrong Ethernet address, until Hears
// is called. What server i sends arrives.
func (f *Fabric) Deafen(i int) { f.others(i, func(j int) { f.mislead(j, i) }) }

// Hears ends Deafen.
func (f *Fabric) Hears(i int) { f.others(i, func(j int) { f.neighbour(j, i, "del") }) }

// Sever lets all packets between server i and the others get lost on the way, until Mend is called.
func (f *Fabric) Sever(i int) {
	f.Deafen(i)
	f.others(i, func(j int) { f.mislead(i, j) })
}

// Mend ends Sever.
func (f *Fabric) Mend(i int) {
	f.Hears(i)
	f.others(i, func(j int) { f.neighbour(i, j, "del") })
}

// others calls fn for each server but i.
func (f *Fabric) others(i int, fn func(j int)) {
	for j := 1; j <= f.n; j++ {
		if j != i {
			fn(j)
		}
	}
}

// mislead gives i a wrong Ethernet address of j.
func (f *Fabric) mislead(i, j int) {
	f.neighbour(i, j, "replace", "lladdr", "02:00:00:00:00:01", "nud", "permanent")
}

func (f *Fabric) neighbour(i, j int, what string, words ...string) {
	f.must("ip", append([]string{"-n", f.Namespace(i), "neigh", what, f.Addr(j), "dev", "eth0"}, words...)...)
}

// Isolate cuts i off from all other servers, not from clients: what is sent fails at once.
func (f *Fabric) Isolate(i int) {
	f.others(i, func(j int) {
		f.Drop(i, j)
		f.Drop(j, i)
	})
}

// Second gives every namespace one more address, in a network of its own on the same bridge.
func (f *Fabric) Second() {
	for i := 1; i <= f.n; i++ {
		f.must("ip", "-n", f.Namespace(i), "addr", "add", f.SecondAddr(i)+"/24", "dev", "eth0")
	}
}

// SecondAddr is the address that Second gives a namespace.
func (f *Fabric) SecondAddr(i int) string { return fmt.Sprintf("%s.%d", f.other, i) }

// Without discards what is sent to one address of each namespace by the others.
func (f *Fabric) Without(addr func(int) string) { f.route("add", addr) }

// With ends what Without has done.
func (f *Fabric) With(addr func(int) string) { f.route("del", addr) }

func (f *Fabric) route(what string, addr func(int) string) {
	for i := 1; i <= f.n; i++ {
		for j := 1; j <= f.n; j++ {
			if i != j {
				f.must("ip", "-n", f.Namespace(i), "route", what, "blackhole", addr(j)+"/32")
			}
		}
	}
}

// Heal ends all that Drop has done.
func (f *Fabric) Heal() {
	for i := 1; i <= f.n; i++ {
		for j := 1; j <= f.n; j++ {
			_ = Run("ip", "-n", f.Namespace(i), "route", "del", "blackhole", f.Addr(j)+"/32") // most are not there
		}
	}
}
