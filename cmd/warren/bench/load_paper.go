package bench

import (
	"context"
	"fmt"
	"time"
)

// paperLoad is the throughput figure of the ZooKeeper paper (Hunt and others, USENIX ATC 2010) and
// of the project's GenerateLoad: every client reads and sets one znode of its own of 1 KB with
// 100 requests outstanding, at read ratios from 0 to 100 percent.
var paperLoad = Load{
	name:    "paper",
	summary: "the ZooKeeper paper's sweep: 0..100 % reads, 1 KB, one znode per client, 100 outstanding",
	flags:   []string{"outstanding", "size", "duration", "warmup", "rate", "slice", "step", "seed", "keep"},
	defaults: func(p *Params) {
		p.Connections, p.Outstanding, p.Size, p.Duration = 50, 100, Size{1024, 1024}, 5*time.Second
	},
	prepare: preparePaper,
}

func preparePaper(ctx context.Context, t *Target, p Params) (Trial, error) {
	p.Znodes = p.Connections
	s, err := newStage(ctx, t, p, true, false)
	if err != nil {
		return nil, err
	}
	m := mixTrial{stage: s, name: "paper"}
	m.setMix(mustMix("get=50,set=50"))
	for i, src := range m.sources {
		src.own = i
	}
	return &paperTrial{mixTrial: m}, nil
}

type paperTrial struct{ mixTrial }

// Measure implements Trial: one Row for each read ratio, each for d.
func (t *paperTrial) Measure(ctx context.Context, d time.Duration) ([]*Row, error) {
	var rows []*Row
	for _, reads := range readRatios(t.params.Step) {
		t.setMix(mustMix(fmt.Sprintf("get=%d,set=%d", reads, 100-reads)))
		row, err := t.measure(ctx, fmt.Sprintf("%d %% reads", reads), d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// readRatios returns 0, step, ... and 100.
func readRatios(step int) []int {
	var ratios []int
	for r := 0; r < 100; r += step {
		ratios = append(ratios, r)
	}
	return append(ratios, 100)
}
