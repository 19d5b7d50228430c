package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// ErrTooLarge means that the state does not fit into the memory that it may take.
var ErrTooLarge = errors.New("the tree is larger than it may be for this")

// Dirs are the directories of a server.
type Dirs struct {
	FS        vfs.FS
	Snapshots string     // dataDir/version-2
	Log       string     // dataLogDir/version-2
	Last      proto.Zxid // the last txn that counts: the log may hold later ones that are not agreed on
}

// Limits bound what At takes.
type Limits struct {
	Bytes int64 // of paths and data, with what each znode costs
	// Work and Rest share the processor with others: after so much work comes so much rest. 0 is no rest.
	Work, Rest time.Duration
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
	r := &reader{ctx: ctx, d: d, l: l, began: time.Now()}
	var failed error
	for _, m := range list {
		if m.Zxid > target.Zxid || from.Zxid != 0 && m.Zxid > from.Zxid {
			continue
		}
		replay, err := r.replay(m, names, target, from, sink)
		if err == nil {
			return replay, nil
		}
		if !errors.Is(err, ErrNoTarget) {
			return nil, err
		}
		failed = err
	}
	if failed == nil {
		failed = fmt.Errorf("%w: no snapshot on this server is that old", ErrNoTarget)
	}
	return nil, failed
}

// reader reads files of a server with its limits.
type reader struct {
	ctx   context.Context
	d     Dirs
	l     Limits
	began time.Time // of the present stretch of work
	bytes int64
}

// pace rests if enough was done, and returns an error if nothing more is wanted.
func (r *reader) pace() error {
	if r.l.Rest > 0 && time.Since(r.began) > r.l.Work {
		time.Sleep(r.l.Rest)
		r.began = time.Now()
	}
	return r.ctx.Err()
}

// take counts what a record may add to the memory.
func (r *reader) take(n int) error {
	if r.bytes += int64(n) + znodeBytes; r.bytes > r.l.Bytes {
		return r.tooLarge()
	}
	return nil
}

func (r *reader) tooLarge() error {
	return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, r.l.Bytes>>20)
}

// bounded is a loader within limits.
type bounded struct {
	*datatree.Loader
	r     *reader
	count int
}

// Node implements snapshot.Sink.
func (b *bounded) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	if err := b.r.take(len(path) + len(data)); err != nil {
		return err
	}
	if b.count++; b.count%256 == 0 {
		if err := b.r.pace(); err != nil {
			return err
		}
	}
	return b.Loader.Node(path, data, aclKey, st)
}

func (r *reader) replay(m snapshot.Meta, names []string, target, from Target, sink datatree.Sink) (*Replay, error) {
	r.bytes = 0
	loader := datatree.NewLoader(datatree.Config{})
	trailer, err := snapshot.Load(r.d.FS, filepath.Join(r.d.Snapshots, m.Name), &bounded{Loader: loader, r: r})
	if err != nil {
		return nil, err
	}
	base := BaseOf(m.Name, m.Zxid, &trailer)
	if base.Exact > target.Zxid || from.Zxid != 0 && base.Exact > from.Zxid {
		return nil, fmt.Errorf("%w: %s is exact only from %v", ErrNoTarget, m.Name, base.Exact)
	}
	state, err := loader.Done(m.Zxid)
	if err != nil {
		return nil, err
	}
	replay, err := New(state, base, names, target)
	if err != nil {
		return nil, err
	}
	replay.Sink = sink
	if err := r.log(replay, target); err != nil {
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

// log replays the log up to the target, and not a byte further: the server may be writing there.
func (r *reader) log(replay *Replay, target Target) error {
	if replay.State.LastZxid() >= target.Zxid {
		return nil
	}
	files, err := wal.Names(r.d.FS, r.d.Log)
	if err != nil {
		return err
	}
	for _, name := range wal.Needed(files, replay.State.LastZxid()+1) {
		_, err := wal.Scan(r.d.FS, filepath.Join(r.d.Log, name), func(rec *wal.Record) error {
			if err := r.pace(); err != nil {
				return err
			}
			if err := replay.Apply(rec); err != nil {
				return err
			}
			if s := replay.State; s.DataSize()+znodeBytes*int64(s.NumNodes()) > r.l.Bytes {
				return r.tooLarge()
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
