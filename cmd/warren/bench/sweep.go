package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// sweep makes one request for each of the numbers from, from+step, ... below to: setting up,
// removing, and the phases of loads that do everything once.
type sweep struct {
	from, to, step int
	kind           Kind
	op             proto.OpCode
	body           func(b []byte, i int) []byte
}

// next implements requester.
func (s *sweep) next(b []byte, xid int32) ([]byte, Kind, bool) {
	if s.from >= s.to {
		return b, 0, false
	}
	i := s.from
	s.from += s.step
	return s.body(appendHeader(b, xid, s.op), i), s.kind, true
}

// sweepWindow is how many requests a lane has in flight while it sets up or removes.
const sweepWindow = 256

// forAll sends one request for each number below n, spread over all lanes, with window requests
// in flight on each, and returns what came back. The recorder's window is open throughout.
func (f *fleet) forAll(
	ctx context.Context, n, window int, kind Kind, op proto.OpCode, body func(b []byte, i int) []byte,
) (*Sample, error) {
	rec := newRecorder(false)
	rec.open(0)
	d := &drive{window: window, rec: rec, source: func(lane int) requester {
		return &sweep{from: lane, to: n, step: len(f.lanes), kind: kind, op: op, body: body}
	}}
	if err := f.finish(ctx, d); err != nil {
		return nil, err
	}
	return rec.collect(), nil
}

// must is forAll for setting up and removing: any error code but tolerate is an error.
func (f *fleet) must(
	ctx context.Context, what string, n int, op proto.OpCode, tolerate proto.ErrCode,
	body func(b []byte, i int) []byte,
) error {
	sample, err := f.forAll(ctx, n, sweepWindow, Create, op, body)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for code, count := range sample.total().Errors {
		if code != tolerate {
			return fmt.Errorf("bench: %s: %d of %d requests: %w", what, count, n, code)
		}
	}
	return nil
}

// create builds the root, the directories of the shared znodes, and what else of the tree is asked for.
func (t *tree) create(ctx context.Context, f *fleet, shared, homes bool, data []byte) error {
	_, err := f.lanes[0].call(ctx, proto.OpCreate, func(b []byte) []byte {
		return appendCreate(b, []byte(t.root), nil, proto.ModePersistent)
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", t.root, err)
	}
	if homes {
		err := f.must(ctx, "creating parents", len(f.lanes), proto.OpCreate, proto.OK, func(b []byte, i int) []byte {
			return appendCreate(b, t.home(i), nil, proto.ModePersistent)
		})
		if err != nil {
			return err
		}
	}
	err = f.must(ctx, "creating directories", t.dirs(), proto.OpCreate, proto.OK, func(b []byte, i int) []byte {
		return appendCreate(b, t.dir(i), nil, proto.ModePersistent)
	})
	if err != nil || !shared {
		return err
	}
	return f.must(ctx, "creating znodes", t.n, proto.OpCreate, proto.OK, func(b []byte, i int) []byte {
		return appendCreate(b, t.path(i), data, proto.ModePersistent)
	})
}

// removeBatch is how many paths are collected before they are deleted.
const removeBatch = 50_000

// remove deletes the root and the two levels below it, whatever they hold.
func (t *tree) remove(ctx context.Context, f *fleet) error {
	if err := f.recover(ctx, t.root); err != nil {
		return err
	}
	dirs, err := children(ctx, f.lanes[0], t.root)
	if errors.Is(err, proto.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	var paths []string
	flush := func() error {
		err := f.must(ctx, "removing znodes", len(paths), proto.OpDelete, proto.ErrNoNode,
			func(b []byte, i int) []byte {
				return appendDelete(b, []byte(paths[i]))
			})
		paths = paths[:0]
		return err
	}
	for _, dir := range dirs {
		names, err := children(ctx, f.lanes[0], t.root+"/"+dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			paths = append(paths, t.root+"/"+dir+"/"+name)
		}
		if len(paths) >= removeBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	for _, dir := range dirs {
		paths = append(paths, t.root+"/"+dir)
	}
	if err := flush(); err != nil {
		return err
	}
	_, err = f.lanes[0].call(ctx, proto.OpDelete, func(b []byte) []byte { return appendDelete(b, []byte(t.root)) })
	return err
}

// children lists a znode.
func children(ctx context.Context, l *lane, path string) ([]string, error) {
	body, err := l.call(ctx, proto.OpGetChildren,
		func(b []byte) []byte { return appendPathWatch(b, []byte(path), false) })
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", path, err)
	}
	var resp proto.GetChildrenResponse
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("bench: listing %s: %w", path, err)
	}
	names := make([]string, len(resp.Children))
	for i, name := range resp.Children {
		names[i] = name.String()
	}
	return names, nil
}

// syncAll makes every server a lane is connected to catch up with what was written before.
func (f *fleet) syncAll(ctx context.Context, path string) error {
	return f.must(ctx, "sync", len(f.lanes), proto.OpSync, proto.OK, func(b []byte, _ int) []byte {
		return proto.AppendBuffer(b, []byte(path))
	})
}
