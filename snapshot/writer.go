package snapshot

import (
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// writeSlice is how much of a body is gathered, summed and written at a time.
const writeSlice = 256 << 10

// encoder turns a body into the uncompressed bytes of a file, sums them and hands them on.
type encoder struct {
	w   io.Writer
	sum hash.Hash32
}

// noDbid is the dbid of a snapshot that does not name its ensemble. ZooKeeper writes it.
const noDbid = -1

// encode writes header, body, seals and sections to w, the section with the last zxid unless omit. between is
// called after each slice. It returns an error if the state ends before the zxid that the snapshot is to be named for.
func encode(w io.Writer, zxid proto.Zxid, src Source, ensemble uint64, omit bool, between func() error) error {
	e := encoder{w: w, sum: adler32.New()}
	header := proto.FileHeader{Magic: proto.MagicSnapshot, Version: proto.FileVersion, Dbid: noDbid}
	if ensemble != 0 {
		header.Dbid = int64(ensemble)
	}
	b := header.AppendTo(make([]byte, 0, writeSlice+writeSlice/4))
	for done := false; !done; b = b[:0] {
		b, done = gather(b, src, writeSlice)
		if err := e.write(b); err != nil {
			return err
		}
		if err := between(); err != nil {
			return err
		}
	}
	lastZxid, digest := src.End()
	if lastZxid < zxid {
		return fmt.Errorf("the state ends with txn %v, before %v", lastZxid, zxid)
	}
	b = e.appendSeal(b)
	b = proto.AppendInt64(b, int64(lastZxid))
	b = proto.AppendInt32(b, proto.DigestVersion)
	b = proto.AppendInt64(b, digest)
	if err := e.write(b); err != nil {
		return err
	}
	b = e.appendSeal(b[:0])
	if omit {
		return e.write(b)
	}
	b = proto.AppendInt64(b, int64(lastZxid))
	if err := e.write(b); err != nil {
		return err
	}
	return e.write(e.appendSeal(b[:0]))
}

func (e *encoder) write(b []byte) error {
	e.sum.Write(b)
	_, err := e.w.Write(b)
	return err
}

// appendSeal appends the Adler-32 of all bytes written so far, and the terminator.
func (e *encoder) appendSeal(b []byte) []byte {
	b = proto.AppendInt64(b, int64(e.sum.Sum32()))
	return append(b, terminator...)
}

// rawWriter writes a file from its start, sums its bytes, and syncs it after every syncBytes bytes.
type rawWriter struct {
	f         vfs.File
	syncBytes int64
	dirty     int64 // written since the last sync
	sums
}

func (r *rawWriter) Write(p []byte) (int, error) {
	n, err := r.f.Write(p)
	r.crc = crc32.Update(r.crc, castagnoli, p[:n])
	r.size += int64(n)
	r.dirty += int64(n)
	if err == nil && r.dirty >= r.syncBytes {
		err = r.sync()
	}
	return n, err
}

func (r *rawWriter) sync() error {
	r.dirty = 0
	return r.f.Sync()
}

// packed returns a writer that compresses into w. Closing it does not close w.
func packed(w io.Writer, c Compression) io.WriteCloser {
	switch c {
	case Gzip:
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic(fmt.Sprintf("snapshot: gzip level: %v", err)) // a constant
		}
		return z
	case Snappy:
		return newSnappyWriter(w)
	default:
		return plainWriter{w}
	}
}

type plainWriter struct{ io.Writer }

func (plainWriter) Close() error { return nil }
