package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
)

// snappyBlock is how many bytes a block holds uncompressed, at most.
const snappyBlock = 32768

var (
	snappyMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}
	// snappyHeader is the magic, version 1, and the oldest version that can read it, 1.
	snappyHeader = append(bytes.Clone(snappyMagic), 0, 0, 0, 1, 0, 0, 0, 1)
)

// snappyWriter writes the stream of snappy-java: a header, then blocks of a length and that many
// bytes of raw snappy. There is no end mark and no checksum. Source: storage 5.6.
type snappyWriter struct {
	w     io.Writer
	block []byte // what is not yet written, less than snappyBlock bytes
	out   []byte
}

func newSnappyWriter(w io.Writer) *snappyWriter {
	return &snappyWriter{w: w, block: make([]byte, 0, snappyBlock), out: bytes.Clone(snappyHeader)}
}

// Write takes p and writes the blocks that are full.
func (s *snappyWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), snappyBlock-len(s.block))
		s.block = append(s.block, rest[:n]...)
		rest = rest[n:]
		if len(s.block) == snappyBlock {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// Close writes the last block. It does not close the writer below.
func (s *snappyWriter) Close() error { return s.flush() }

// flush writes the content of out (the header, once) and the block.
func (s *snappyWriter) flush() error {
	if len(s.block) > 0 {
		at := len(s.out)
		s.out = append(s.out, 0, 0, 0, 0)
		need := at + 4 + snappy.MaxEncodedLen(len(s.block))
		if cap(s.out) < need {
			s.out = append(make([]byte, 0, need), s.out...)
		}
		packed := snappy.Encode(s.out[at+4:need], s.block)
		binary.BigEndian.PutUint32(s.out[at:], uint32(len(packed)))
		s.out = s.out[:at+4+len(packed)]
		s.block = s.block[:0]
	}
	_, err := s.w.Write(s.out)
	s.out = s.out[:0]
	return err
}

var errSnappyHeader = errors.New("not a snappy stream of version 1")

// snappyReader reads what snappyWriter writes.
type snappyReader struct {
	r      io.Reader
	packed []byte // buffer for one block as it is in the file
	block  []byte // buffer for one block
	rest   []byte // what of block is not yet read
	opened bool
}

func newSnappyReader(r io.Reader) *snappyReader {
	return &snappyReader{
		r:      r,
		packed: make([]byte, snappy.MaxEncodedLen(snappyBlock)),
		block:  make([]byte, snappyBlock),
	}
}

// Read returns io.EOF at the end of a whole block and io.ErrUnexpectedEOF inside one.
func (s *snappyReader) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *snappyReader) next() error {
	if !s.opened {
		var h [16]byte
		if _, err := io.ReadFull(s.r, h[:]); err != nil {
			return noEOF(err)
		}
		if !bytes.Equal(h[:], snappyHeader) {
			return errSnappyHeader
		}
		s.opened = true
	}
	var length [4]byte
	if _, err := io.ReadFull(s.r, length[:]); err != nil {
		return err // io.EOF: nothing follows the last block
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 0 || int64(n) > int64(len(s.packed)) {
		return fmt.Errorf("snappy block of %d bytes, at most %d are possible", int32(n), len(s.packed))
	}
	if _, err := io.ReadFull(s.r, s.packed[:n]); err != nil {
		return noEOF(err)
	}
	size, err := snappy.DecodedLen(s.packed[:n])
	if err != nil {
		return err
	}
	if size == 0 || size > snappyBlock {
		return fmt.Errorf("snappy block unpacks to %d bytes, at most %d are allowed", size, snappyBlock)
	}
	s.rest, err = snappy.Decode(s.block, s.packed[:n])
	return err
}

// noEOF turns an end of file into an unexpected one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
