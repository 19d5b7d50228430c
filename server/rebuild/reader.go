package rebuild

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Dirs are the directories of a server.
type Dirs struct {
	FS        vfs.FS
	Snapshots string     // dataDir/version-2
	Log       string     // dataLogDir/version-2
	Last      proto.Zxid // the last txn that counts: the log may hold later ones that are not agreed on
}

// Pace shares the processor with others: after so much work comes so much rest. The zero value is no rest.
type Pace struct{ Work, Rest time.Duration }

// Reader reads the files of a server that may run, at a pace, until its context ends. It changes nothing. A file that
// was purged meanwhile gives an error that is fs.ErrNotExist.
type Reader struct {
	Dirs
	ctx   context.Context
	pace  Pace
	began time.Time // of the present stretch of work
}

// NewReader returns a reader of the files in directories.
func NewReader(ctx context.Context, d Dirs, p Pace) *Reader {
	return &Reader{Dirs: d, ctx: ctx, pace: p, began: time.Now()}
}

// rest rests if enough was done, and returns an error if nothing more is wanted.
func (r *Reader) rest() error {
	if r.pace.Rest > 0 && time.Since(r.began) > r.pace.Work {
		time.Sleep(r.pace.Rest)
		r.began = time.Now()
	}
	return r.ctx.Err()
}

// errLast ends the scan of a file.
var errLast = errors.New("the last txn that counts")

// Scan hands each record of a file of the log to fn, whose error ends it and is returned. Repeated records are left
// out. It reads not a byte after the last txn that counts: the server may be writing there.
func (r *Reader) Scan(name string, fn func(*wal.Record) error) error {
	_, err := wal.Scan(r.FS, filepath.Join(r.Log, name), func(rec *wal.Record) error {
		if rec.Repeated {
			return nil
		}
		if rec.Zxid > r.Last {
			return errLast
		}
		if err := r.rest(); err != nil {
			return err
		}
		if err := fn(rec); err != nil {
			return err
		}
		if rec.Zxid == r.Last {
			return errLast
		}
		return nil
	})
	if errors.Is(err, errLast) {
		return nil
	}
	return err
}

// Load hands the content of a snapshot to a sink, whose error ends it and is returned.
func (r *Reader) Load(name string, s snapshot.Sink) (snapshot.Trailer, error) {
	return snapshot.Load(r.FS, filepath.Join(r.Snapshots, name), &paced{s, r, 0})
}

// paced is a sink that is given znodes at the pace of a reader.
type paced struct {
	snapshot.Sink
	r     *Reader
	nodes int
}

// Node implements snapshot.Sink.
func (p *paced) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	if p.nodes++; p.nodes%256 == 0 {
		if err := p.r.rest(); err != nil {
			return err
		}
	}
	return p.Sink.Node(path, data, aclKey, st)
}
