package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

var gzipMagic = []byte{0x1f, 0x8b}

// castagnoli is the polynomial of Meta.Checksum, which processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The most bytes that one byte of a compressed file can stand for: the best ratios of deflate and snappy.
const (
	gzipRatioMax   = 1032
	snappyRatioMax = 22
)

// Load reads the snapshot file at path into sink and verifies every seal. The name says how it is compressed. It
// returns ErrCorrupt for a file that is not a whole snapshot, or not the one that its name says (ErrName), and the
// error of the sink or of the disk unchanged.
// The sink may have received records before any of these errors.
func Load(fs vfs.FS, path string, sink Sink) (Trailer, error) {
	t, _, err := load(fs, path, sink, chunkBytes)
	return t, err
}

// sums is the observed length of a file and the CRC-32C of its bytes as they are on disk.
type sums struct {
	size int64
	crc  uint32
}

// ReadEnsemble returns the identity of the ensemble that the snapshot file at path comes from, 0 if it has none. It
// reads and verifies the header alone.
func ReadEnsemble(fs vfs.FS, path string) (ensemble uint64, err error) {
	_, _, err = parse(fs, path, nil, chunkMin, func(p *parser, _ *chunks) (Trailer, error) {
		ensemble, err = p.header()
		return Trailer{}, err
	})
	return ensemble, err
}

// Begins reports whether the first bytes of the file at path are those of a snapshot, or of one that is compressed as
// the name says.
func Begins(fs vfs.FS, path string) (begins bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return false, fmt.Errorf("snapshot: %w", err)
	}
	defer f.Close()
	magic := binary.BigEndian.AppendUint32(nil, uint32(proto.MagicSnapshot))
	switch compressionOf(path) {
	case Gzip:
		magic = gzipMagic
	case Snappy:
		magic = snappyMagic
	}
	head := make([]byte, len(magic))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("snapshot: %w", err)
	}
	return bytes.Equal(head[:n], magic), nil
}

// load is Load with the size of the chunks. It also returns the sums of the file.
func load(fs vfs.FS, path string, sink Sink, chunk int) (t Trailer, seen sums, err error) {
	return parse(fs, path, sink, chunk, (*parser).all)
}

// parse lets fn parse a file, and returns the sums of the file.
func parse(fs vfs.FS, path string, sink Sink, chunk int,
	fn func(*parser, *chunks) (Trailer, error)) (t Trailer, seen sums, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return t, seen, fmt.Errorf("snapshot: %w", err)
	}
	defer func() {
		if e := f.Close(); e != nil && err == nil {
			err = fmt.Errorf("snapshot: %w", e)
		}
	}()
	size, err := f.Size()
	if err != nil {
		return t, seen, fmt.Errorf("snapshot: %w", err)
	}
	compression := compressionOf(path)
	raw := &rawReader{f: f}
	c := readChunks(unpacked(raw, compression), chunkFor(size, compression, chunk))
	p := parser{
		w:    &window{next: c.next, limit: unpackedMax(size, compression)},
		file: filepath.Base(path),
		sink: sink,
	}
	t, err = fn(&p, c)
	c.close()
	return t, raw.sums, err
}

// all parses a whole file.
func (p *parser) all(c *chunks) (Trailer, error) {
	ensemble, err := p.header()
	if err != nil {
		return Trailer{}, err
	}
	if err := p.body(); err != nil {
		return Trailer{}, err
	}
	t, err := p.trailer(c)
	t.Ensemble = ensemble
	if err == nil {
		err = t.CheckName(p.file)
	}
	return t, err
}

// chunkFor returns the size of chunks for a file: no more than it can fill.
func chunkFor(size int64, c Compression, chunk int) int {
	return int(max(min(int64(chunk), unpackedMax(size, c)), min(chunkMin, int64(chunk))))
}

// unpackedMax bounds how many bytes a file of size bytes holds uncompressed.
func unpackedMax(size int64, c Compression) int64 {
	switch c {
	case Gzip:
		return size * gzipRatioMax
	case Snappy:
		return size * snappyRatioMax
	default:
		return size
	}
}

// rawReader reads a file from its start and sums its bytes.
type rawReader struct {
	f io.Reader
	sums
}

func (r *rawReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.crc = crc32.Update(r.crc, castagnoli, p[:n])
	r.size += int64(n)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}

// unpacked returns a reader of the file's uncompressed bytes. An error of decompression says at which offset of
// the file it was noticed.
func unpacked(raw *rawReader, c Compression) io.Reader {
	switch c {
	case Gzip:
		return &unpacker{raw: raw, open: func() (io.Reader, error) {
			return gzip.NewReader(bufio.NewReaderSize(raw, 64<<10))
		}}
	case Snappy:
		return &unpacker{raw: raw, open: func() (io.Reader, error) {
			return newSnappyReader(bufio.NewReaderSize(raw, 64<<10)), nil
		}}
	default:
		return raw
	}
}

// unpacker decompresses raw and adds to an error how far it had read.
type unpacker struct {
	raw  *rawReader
	open func() (io.Reader, error)
	r    io.Reader
}

func (u *unpacker) Read(p []byte) (n int, err error) {
	if u.r == nil {
		if u.r, err = u.open(); err != nil {
			return 0, u.wrap(noEOF(err))
		}
	}
	n, err = u.r.Read(p)
	if err != nil && err != io.EOF {
		err = u.wrap(err)
	}
	return n, err
}

func (u *unpacker) wrap(err error) error {
	var re *readError
	if errors.As(err, &re) {
		return re
	}
	return &unpackError{at: u.raw.size, err: err}
}

// unpackError says that the compression of a file is damaged at or before byte at of it.
type unpackError struct {
	at  int64
	err error
}

func (e *unpackError) Error() string {
	return fmt.Sprintf("compression is damaged before byte %d of the file: %v", e.at, e.err)
}

func (e *unpackError) Unwrap() error { return e.err }
