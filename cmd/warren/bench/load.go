package bench

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Load is one kind of work that can be measured.
type Load struct {
	name     string
	summary  string          // what the load does, in one line
	flags    []string        // of Params that have an effect on this load, besides everyFlag
	defaults func(p *Params) // changes the parameters that are this load's own
	// prepare opens the sessions and creates the znodes that Measure needs. What it has created when it fails it
	// removes.
	prepare func(ctx context.Context, t *Target, p Params) (Trial, error)
}

// Name is the argument of the command.
func (l Load) Name() string { return l.name }

// Flags lists the flags of Params that have an effect on the load.
func (l Load) Flags() []string { return slices.Concat(l.flags, everyFlag) }

// Trial is a load that is ready to run on one target. Its methods are called by one goroutine.
type Trial interface {
	// Warm runs the load for about d without measuring it.
	Warm(ctx context.Context, d time.Duration) error
	// Measure runs the load and returns one Row for each part of it, always the same names in the
	// same order. A load without an end of its own runs for d.
	Measure(ctx context.Context, d time.Duration) ([]*Row, error)
	// Close removes the znodes and ends the sessions.
	Close(ctx context.Context) error
}

// everyFlag lists the flags that have an effect on every load.
var everyFlag = []string{"connections", "timeout", "source"}

// endless is implemented by a Trial whose Measure runs for as long as it is told, so that two
// targets can take turns by the slice.
type endless interface{ isEndless() }

// loads lists every load in the order of the help text.
var loads = []Load{
	mixLoad("get", "getData of existing znodes", func(p *Params) { p.Mix = mustMix("get=1") }),
	mixLoad("set", "setData of existing znodes", func(p *Params) { p.Mix = mustMix("set=1") }),
	mixLoad("create", "create of persistent sequential znodes", func(p *Params) {
		p.Mix, p.Znodes, p.Outstanding, p.Connections = mustMix("seq=1"), 1, 1, 64
	}),
	mixLoad("mixed", "the kinds of --mix; the default load", func(p *Params) {}),
	paperLoad,
	mixLoad("rk-create", "raftkeeper-bench create: 100-byte creates, synchronous clients", func(p *Params) {
		p.Mix, p.Znodes, p.Outstanding, p.Connections, p.Size = mustMix("create=1"), 1, 1, 100, Size{100, 100}
	}),
	mixLoad("rk-mixed", "raftkeeper-bench mixed: 1 create, 8 set, 45 get, 45 list, 1 delete over 100 znodes",
		func(p *Params) {
			p.Mix, p.Znodes = mustMix("create=1,set=8,get=45,children=45,delete=1"), 100
			p.Outstanding, p.Connections, p.Size = 1, 100, Size{100, 100}
		}),
	mixLoad("prod-mix",
		"ClickHouse's production mix: 38 get, 34 create, 9 set, 11 multi, 4 list, values of 0-162 bytes",
		func(p *Params) {
			p.Mix, p.Size = mustMix("get=38,create=34,set=9,multi=11,children=4"), Size{0, 162}
			p.Connections, p.Outstanding = 32, 20
		}),
	latenciesLoad,
	fanoutLoad,
	stormLoad,
	fillLoad,
	connectionsLoad,
}

// Find returns the load of a name.
func Find(name string) (Load, error) {
	i := slices.IndexFunc(loads, func(l Load) bool { return l.name == name })
	if i < 0 {
		return Load{}, fmt.Errorf("bench: unknown load %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	return loads[i], nil
}

// Names returns the names of all loads.
func Names() []string {
	names := make([]string, len(loads))
	for i, l := range loads {
		names[i] = l.name
	}
	return names
}

// Describe returns one line for each load with its own defaults, for the help text.
func Describe() string {
	var b strings.Builder
	for _, l := range loads {
		fmt.Fprintf(&b, "  %-16s %s\n", l.name, l.summary)
	}
	return b.String()
}

// DefaultsOf returns the parameters of a load before any flag.
func DefaultsOf(l Load) Params {
	p := DefaultParams()
	l.defaults(&p)
	return p
}

// Target is a set of servers of one ensemble, or one server.
type Target struct {
	Name    string
	Servers []string // host:port; connections are spread over them in turn
	PIDs    []int    // processes of the servers, if CPU and memory are to be measured
	// Progress is told what goes on; it may be nil.
	Progress func(phase string, done, of int64)
}

func (t *Target) progress(phase string) func(done, of int) {
	return func(done, of int) {
		if t.Progress != nil {
			t.Progress(phase, int64(done), int64(of))
		}
	}
}

// stage is what most trials share: a fleet and a tree of its own.
type stage struct {
	target *Target
	params Params
	fleet  *fleet
	tree   *tree
}

// newStage opens the sessions and builds the tree.
func newStage(ctx context.Context, t *Target, p Params, shared, homes bool) (*stage, error) {
	s := &stage{target: t, params: p}
	var err error
	if s.tree, err = newTree(newRoot(), p.Znodes, p.PathLength); err != nil {
		return nil, err
	}
	d, err := newDialer(t, p)
	if err != nil {
		return nil, err
	}
	if s.fleet, err = newFleet(ctx, d, p.Connections, t.progress("connecting")); err != nil {
		return nil, err
	}
	err = s.tree.create(ctx, s.fleet, shared, homes, make([]byte, p.Size.Max))
	if err == nil {
		err = s.fleet.syncAll(ctx, s.tree.root)
	}
	if err != nil {
		return nil, closing(err, s)
	}
	return s, nil
}

// Warm implements Trial for a load that is not warmed up: there is nothing to warm, as for fill, or it is cold by
// nature, as a storm, or its first phase warms those after it, as in zk-latencies.
func (s *stage) Warm(context.Context, time.Duration) error { return nil }

// cleanupTimeout bounds the removal of what was created.
const cleanupTimeout = 10 * time.Minute

// closing closes t after err, which it returns; cleaning up does not end with what ended the work.
func closing(err error, t interface{ Close(context.Context) error }) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if also := t.Close(ctx); also != nil {
		return fmt.Errorf("%w; also while cleaning up: %w", err, also)
	}
	return err
}

// Close implements Trial.
func (s *stage) Close(ctx context.Context) error {
	defer s.fleet.close()
	if s.params.Keep {
		return nil
	}
	s.target.progress("removing znodes")(0, 0)
	return s.tree.remove(ctx, s.fleet)
}

// newDialer makes the dialer of a target and raises the limit of open files.
func newDialer(t *Target, p Params) (*dialer, error) {
	if err := raiseFileLimit(p.Connections); err != nil {
		return nil, err
	}
	d := &dialer{servers: t.Servers, timeoutMs: int32(p.Timeout.Milliseconds()), dial: dialTCP}
	for _, s := range p.Sources {
		d.sources = append(d.sources, net.ParseIP(s))
	}
	return d, nil
}
