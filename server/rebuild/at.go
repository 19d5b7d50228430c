package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
)

// ErrTooLarge means that the state does not fit into the memory that it may take.
var ErrTooLarge = errors.New("the tree is larger than it may be for this")

// Limits bound what At takes.
type Limits struct {
	Bytes int64 // of paths and data, with what each znode costs
	Pace
}

// znodeBytes is about what a znode costs beside its path and data.
const znodeBytes = 100

// At brings back the state at a target, from the newest snapshot at or before from that makes it possible; from is 0
// for the target itself. The sink receives every change that is replayed. A gap, a damaged file and a file that was
// purged meanwhile are errors.
func At(ctx context.Context, d Dirs, target Target, from Target, l Limits, sink datatree.Sink) (*Replay, error) {
	if target.Zxid == 0 || target.Zxid > d.Last {
		target.Zxid = d.Last
	}
	list, err := snapshot.List(d.FS, d.Snapshots)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	b := &bounded{Reader: NewReader(ctx, d, l.Pace), most: l.Bytes}
	var failed error
	for _, m := range list {
		if m.Zxid > target.Zxid || from.Zxid != 0 && m.Zxid > from.Zxid {
			continue
		}
		replay, err := b.replay(m, names, target, from, sink)
		if err == nil {
			return replay, nil
		}
		if !errors.Is(err, ErrNoTarget) {
			return nil, err
		}
		failed = err
	}
	failed = cmp.Or(failed, fmt.Errorf("%w: no snapshot on this server is that old", ErrNoTarget))
	return nil, failed
}

// bounded is a reader that builds a tree of at most so many bytes.
type bounded struct {
	*Reader
	most int64
}

func (b *bounded) tooLarge() error {
	return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, b.most>>20)
}

// loader builds the tree of a snapshot within the bound.
type loader struct {
	*datatree.Loader
	b     *bounded
	bytes int64
}

// Node implements snapshot.Sink.
func (l *loader) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	if l.bytes += int64(len(path)+len(data)) + znodeBytes; l.bytes > l.b.most {
		return l.b.tooLarge()
	}
	return l.Loader.Node(path, data, aclKey, st)
}

func (b *bounded) replay(m snapshot.Meta, names []string, target, from Target, sink datatree.Sink) (*Replay, error) {
	l := &loader{Loader: datatree.NewLoader(datatree.Config{}), b: b}
	trailer, err := b.Load(m.Name, l)
	if err != nil {
		return nil, err
	}
	base := BaseOf(m.Name, m.Zxid, &trailer)
	if base.Exact > target.Zxid || from.Zxid != 0 && base.Exact > from.Zxid {
		return nil, fmt.Errorf("%w: %s is exact only from %v", ErrNoTarget, m.Name, base.Exact)
	}
	state, err := l.Done(m.Zxid)
	if err != nil {
		return nil, err
	}
	replay, err := New(state, base, names, target)
	if err != nil {
		return nil, err
	}
	replay.Sink = sink
	if err := b.log(replay, target); err != nil {
		return nil, err
	}
	if err := replay.Exact(); err != nil {
		return nil, err
	}
	// A snapshot is named for a txn of which it does not know the time.
	if target.TimeMs > 0 && replay.LastTime == 0 && m.Zxid > 0 {
		return nil, fmt.Errorf("%w: no txn after %s is that old", ErrNoTarget, m.Name)
	}
	return replay, nil
}

// log replays the log up to the target.
func (b *bounded) log(replay *Replay, target Target) error {
	if replay.State.LastZxid() >= target.Zxid {
		return nil
	}
	files, err := wal.Names(b.FS, b.Log)
	if err != nil {
		return err
	}
	for _, name := range wal.Needed(files, replay.State.LastZxid()+1) {
		err := b.Scan(name, func(rec *wal.Record) error {
			if err := replay.Apply(rec); err != nil {
				return err
			}
			if s := replay.State; s.DataSize()+znodeBytes*int64(s.NumNodes()) > b.most {
				return b.tooLarge()
			}
			if replay.State.LastZxid() >= target.Zxid {
				return ErrReached
			}
			return nil
		})
		switch {
		case errors.Is(err, ErrReached):
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s was purged meanwhile", ErrGap, name)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if last := replay.State.LastZxid(); last < target.Zxid {
		return fmt.Errorf("%w: the log ends with %v", ErrGap, last)
	}
	return nil
}
