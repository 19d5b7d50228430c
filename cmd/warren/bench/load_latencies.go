package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/seed94657493/warren/proto"
)

// latenciesLoad does what zk-latencies of zk-smoketest does: each of --znodes znodes is created,
// set, read and deleted, permanent and ephemeral, and watched, once with one request at a time
// and once with --outstanding in flight.
var latenciesLoad = Load{
	name: "latencies",
	summary: "zk-latencies: create, set, get, delete, ephemerals and watches of 10,000 znodes of 25 bytes, one " +
		"by one and pipelined",
	flags: []string{"outstanding", "size", "znodes", "path-length", "rounds", "keep"},
	defaults: func(p *Params) {
		p.Connections, p.Outstanding, p.Znodes, p.Size, p.Warmup = 1, 100, 10_000, Size{25, 25}, 0
	},
	prepare: prepareLatencies,
}

func prepareLatencies(ctx context.Context, t *Target, p Params) (Trial, error) {
	s, err := newStage(ctx, t, p, false, false)
	if err != nil {
		return nil, err
	}
	return &latenciesTrial{s}, nil
}

type latenciesTrial struct{ *stage }

// Measure implements Trial: one Row for each phase.
func (t *latenciesTrial) Measure(ctx context.Context, _ time.Duration) ([]*Row, error) {
	data := make([]byte, t.params.Size.Max)
	create := func(mode proto.CreateMode) func([]byte, int) []byte {
		return func(b []byte, i int) []byte { return appendCreate(b, t.tree.path(i), data, mode) }
	}
	set := func(b []byte, i int) []byte { return appendSet(b, t.tree.path(i), data) }
	get := func(b []byte, i int) []byte { return appendPathWatch(b, t.tree.path(i), false) }
	watch := func(b []byte, i int) []byte { return appendPathWatch(b, t.tree.path(i), true) }
	remove := func(b []byte, i int) []byte { return appendDelete(b, t.tree.path(i)) }
	phases := []struct {
		name string
		kind Kind
		op   proto.OpCode
		body func(b []byte, i int) []byte
	}{
		{"create permanent", Create, proto.OpCreate, create(proto.ModePersistent)},
		{"set", Set, proto.OpSetData, set},
		{"get", Get, proto.OpGetData, get},
		{"delete permanent", Delete, proto.OpDelete, remove},
		{"create ephemeral", Ephemeral, proto.OpCreate, create(proto.ModeEphemeral)},
		{"watch", Watch, proto.OpGetData, watch},
		{"delete ephemeral, watched", Delete, proto.OpDelete, remove},
	}
	var rows []*Row
	for _, window := range []int{1, t.params.Outstanding} {
		for _, phase := range phases {
			name := fmt.Sprintf("%s (%s)", phase.name, mode(window))
			row, err := t.sweep(ctx, name, window, phase.kind, phase.op, phase.body)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func mode(window int) string {
	if window == 1 {
		return "sync"
	}
	return fmt.Sprintf("async %d", window)
}
