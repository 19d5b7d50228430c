package bench

import (
	"fmt"
	"math"
	"net"
	"time"

	"github.com/spf13/pflag"
)

// Params says what a run does. Each load has its own defaults; see DefaultsOf.
type Params struct {
	Connections int           // sessions, one TCP connection each
	Outstanding int           // requests in flight per connection
	Mix         Mix           // kinds by weight
	Size        Size          // bytes of znode data
	Znodes      int           // shared znodes, or znodes to create
	PathLength  int           // bytes of the path of every shared znode; 0 is as short as it gets
	Duration    time.Duration // measured time of each target; of each step of a sweep
	Warmup      time.Duration // load before it, not measured
	Rate        float64       // requests a second over all connections; 0 is as fast as replies come
	Timeout     time.Duration // session timeout asked for
	Rounds      int           // repetitions of loads that are events, such as watch-fanout
	Watches     int           // watches a session holds in reconnect-storm
	Slice       time.Duration // with two targets: how long each runs before it is the other's turn
	Step        int           // read percentage between two points of the paper's sweep
	Seed        uint64        // of every random choice
	Keep        bool          // leave the znodes in place
	Sources     []string      // local addresses to connect from; empty chooses
}

// DefaultParams returns the parameters that most loads share.
func DefaultParams() Params {
	return Params{
		Connections: 16, Outstanding: 64, Mix: mustMix("get=90,set=10"), Size: Size{128, 128}, Znodes: 1000,
		Duration: 10 * time.Second, Warmup: 2 * time.Second, Timeout: 30 * time.Second, Rounds: 10, Watches: 10,
		Slice: 3 * time.Second, Step: 10, Seed: 1,
	}
}

// Register binds p to flags whose defaults are the values in p.
func (p *Params) Register(f *pflag.FlagSet) {
	f.IntVarP(&p.Connections, "connections", "c", p.Connections, "sessions, one TCP connection each")
	f.IntVarP(&p.Outstanding, "outstanding", "o", p.Outstanding,
		"requests in flight per connection; with --rate, the maximum")
	f.VarP(&p.Mix, "mix", "m",
		"kinds of requests by weight: get, set, create, seq, ephemeral, exists, children, delete, multi, sync, watch")
	f.VarP(&p.Size, "size", "s", "data of a znode in `bytes`, or a range such as 0-162")
	f.IntVarP(&p.Znodes, "znodes", "n", p.Znodes,
		"znodes that are read and set; for fill and latencies: znodes to create")
	f.IntVar(&p.PathLength, "path-length", p.PathLength,
		"length of the znodes' paths in bytes; 0: as short as possible")
	f.DurationVarP(&p.Duration, "duration", "d", p.Duration, "measured time of each target (of each step of a sweep)")
	f.DurationVarP(&p.Warmup, "warmup", "w", p.Warmup, "load before the measured time")
	f.Float64VarP(&p.Rate, "rate", "r", p.Rate,
		"requests a second over all connections (open loop); 0 sends when replies come (closed loop)")
	f.DurationVar(&p.Timeout, "timeout", p.Timeout, "session timeout to ask for")
	f.IntVar(&p.Rounds, "rounds", p.Rounds,
		"repetitions of watch-fanout and reconnect-storm, and of loads of a fixed length with --compare")
	f.IntVar(&p.Watches, "watches", p.Watches, "watches each session holds in reconnect-storm")
	f.DurationVar(&p.Slice, "slice", p.Slice, "with --compare: how long one target runs before it is the other's turn")
	f.IntVar(&p.Step, "step", p.Step, "distance between two points of the paper's sweep, in percent of reads")
	f.Uint64Var(&p.Seed, "seed", p.Seed, "seed of every random choice")
	f.BoolVar(&p.Keep, "keep", p.Keep, "leave the znodes in place")
	f.StringSliceVar(&p.Sources, "source", p.Sources,
		"local `addresses` to connect from (default: as many of 127.0.0.0/8 as a loopback target needs)")
}

// Validate reports the first value that cannot be run, by its flag.
func (p *Params) Validate() error {
	positive := []struct {
		flag  string
		value int
	}{{"connections", p.Connections}, {"outstanding", p.Outstanding}, {"znodes", p.Znodes}, {"rounds", p.Rounds},
		{"step", p.Step}}
	for _, v := range positive {
		if v.value < 1 {
			return fmt.Errorf("bench: --%s %d: it must be at least 1", v.flag, v.value)
		}
	}
	switch {
	case p.Connections > 1_000_000:
		return fmt.Errorf("bench: --connections %d: it must be at most 1000000", p.Connections)
	case p.Outstanding > maxOutstanding:
		return fmt.Errorf("bench: --outstanding %d: it must be at most %d", p.Outstanding, maxOutstanding)
	case p.Znodes > 100_000_000:
		return fmt.Errorf("bench: --znodes %d: it must be at most 100000000", p.Znodes)
	case p.Watches < 0 || p.Watches > 10_000:
		return fmt.Errorf("bench: --watches %d: it must be between 0 and 10000", p.Watches)
	case p.Step > 100:
		return fmt.Errorf("bench: --step %d: it must be at most 100", p.Step)
	case p.PathLength < 0 || p.PathLength > 10_000:
		return fmt.Errorf("bench: --path-length %d: it must be between 0 and 10000", p.PathLength)
	case p.Rate < 0 || math.IsNaN(p.Rate) || p.Rate > 1e9:
		return fmt.Errorf("bench: --rate %v: it must be between 0 and 1e9", p.Rate)
	case p.Duration <= 0:
		return fmt.Errorf("bench: --duration %v: it must be more than 0, such as 10s", p.Duration)
	case p.Warmup < 0:
		return fmt.Errorf("bench: --warmup %v: it must be at least 0", p.Warmup)
	case p.Slice <= 0:
		return fmt.Errorf("bench: --slice %v: it must be more than 0, such as 1s", p.Slice)
	case p.Timeout < time.Millisecond || p.Timeout > math.MaxInt32*time.Millisecond:
		return fmt.Errorf("bench: --timeout %v: it must be from 1ms to 596h", p.Timeout)
	}
	for _, s := range p.Sources {
		if net.ParseIP(s) == nil {
			return fmt.Errorf("bench: --source %q is not an address", s)
		}
	}
	return nil
}
