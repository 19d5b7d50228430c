package bench

import (
	"context"
	"time"

	"github.com/seed94657493/warren/proto"
)

// fillLoad creates --znodes znodes once: how fast a tree grows, and with --pid what it takes.
var fillLoad = Load{
	name:    "fill",
	summary: "creates --znodes znodes of --size and --path-length; with --keep they stay",
	flags:   []string{"outstanding", "size", "znodes", "path-length", "rounds", "seed", "keep"},
	defaults: func(p *Params) {
		p.Connections, p.Outstanding, p.Znodes, p.Size = 4, 200, 100_000, Size{100, 100}
		p.Warmup = 0
	},
	prepare: prepareFill,
}

func prepareFill(ctx context.Context, t *Target, p Params) (Trial, error) {
	s, err := newStage(ctx, t, p, false, false)
	if err != nil {
		return nil, err
	}
	return &fillTrial{stage: s}, nil
}

type fillTrial struct {
	*stage
	filled bool
}

// Measure implements Trial. From the second time on it removes what the last one created first.
func (t *fillTrial) Measure(ctx context.Context, _ time.Duration) ([]*Row, error) {
	if t.filled {
		err := t.fleet.must(ctx, "removing znodes", t.tree.n, proto.OpDelete, proto.ErrNoNode,
			func(b []byte, i int) []byte {
				return appendDelete(b, t.tree.path(i))
			})
		if err != nil {
			return nil, err
		}
	}
	t.filled = true
	before, err := readProcesses("/proc", t.target.PIDs)
	if err != nil {
		return nil, err
	}
	data := newMixture(t.tree, newChooser(mustMix("create=1")), t.params.Size, t.params.Seed, 0).data
	size := t.params.Size
	row, err := t.sweep(ctx, "fill", t.params.Outstanding, Create, proto.OpCreate, func(b []byte, i int) []byte {
		// A spread of sizes that does not depend on which lane comes first.
		return appendCreate(b, t.tree.path(i), data[:size.pick(uint64(i)*0x9e3779b97f4a7c15>>16)],
			proto.ModePersistent)
	})
	if err != nil {
		return nil, err
	}
	if row.Servers != nil && row.Operations > 0 {
		grown := row.Servers.ResidentMiB*(1<<20) - float64(before.rss)
		row.Figures = append(row.Figures,
			Figure{"resident growth per znode", grown / float64(row.Operations), "bytes"})
	}
	return []*Row{row}, nil
}

// sweep measures one request for each shared znode.
func (s *stage) sweep(
	ctx context.Context, name string, window int, kind Kind, op proto.OpCode, body func(b []byte, i int) []byte,
) (*Row, error) {
	s.target.progress(name)(0, s.tree.n)
	meter, err := s.target.begin()
	if err != nil {
		return nil, err
	}
	sample, err := s.fleet.forAll(ctx, s.tree.n, window, kind, op, body)
	if err != nil {
		return nil, err
	}
	return meter.endWith(name, sample)
}
