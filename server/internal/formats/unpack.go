package formats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
)

// Packing is how data is compressed.
type Packing string

// The packings. Xerial is what Kafka and snappy-java write.
const (
	Plain        Packing = "none"
	Gzip         Packing = "gzip"
	SnappyFramed Packing = "snappy, framed"
	SnappyXerial Packing = "snappy, xerial"
	SnappyRaw    Packing = "snappy"
)

var (
	gzipMagic   = []byte{0x1f, 0x8b, 8}
	framedMagic = []byte("\xff\x06\x00\x00sNaPpY")
	xerialMagic = []byte("\x82SNAPPY\x00")
)

// xerialHeader is the magic and two versions.
const xerialHeader = 16

// errPacked means that data is not what its beginning promises.
var errPacked = errors.New("the compressed data is damaged")

// Unpack undoes the packing that data shows, and returns up to most bytes of the content. cut tells that there is
// more. Data that is not packed is returned as it is. Raw snappy has no mark: it is assumed only if data is no text,
// and its content is.
func Unpack(data []byte, most int) (plain []byte, how Packing, cut bool, err error) {
	switch {
	case bytes.HasPrefix(data, gzipMagic):
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, Gzip, false, errPacked
		}
		plain, cut, err = readUpTo(r, most)
		return plain, Gzip, cut, err
	case bytes.HasPrefix(data, framedMagic):
		plain, cut, err = readUpTo(snappy.NewReader(bytes.NewReader(data)), most)
		return plain, SnappyFramed, cut, err
	case bytes.HasPrefix(data, xerialMagic):
		plain, cut, err = xerial(data, most)
		return plain, SnappyXerial, cut, err
	case len(data) > 2 && !isText(data):
		if n, err := snappy.DecodedLen(data); err == nil && n > 0 && n <= most {
			if plain, err := snappy.Decode(nil, data); err == nil && isText(plain) {
				return plain, SnappyRaw, false, nil
			}
		}
	}
	return data, Plain, false, nil
}

// readUpTo reads most bytes, and looks whether there is one more.
func readUpTo(r io.Reader, most int) (plain []byte, cut bool, err error) {
	plain, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, false, errPacked
	}
	if len(plain) > most {
		return plain[:most], true, nil
	}
	return plain, false, nil
}

// xerial reads blocks of a length and that many bytes of raw snappy.
func xerial(data []byte, most int) (plain []byte, cut bool, err error) {
	if len(data) < xerialHeader {
		return nil, false, errPacked
	}
	for rest := data[xerialHeader:]; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, false, errPacked
		}
		n := binary.BigEndian.Uint32(rest)
		if rest = rest[4:]; int64(n) > int64(len(rest)) {
			return nil, false, errPacked
		}
		size, err := snappy.DecodedLen(rest[:n])
		switch {
		case err != nil:
			return nil, false, errPacked
		case size > most-len(plain):
			return plain, true, nil
		}
		block, err := snappy.Decode(nil, rest[:n])
		if err != nil {
			return nil, false, errPacked
		}
		plain, rest = append(plain, block...), rest[n:]
	}
	return plain, false, nil
}

// isText reports whether data is text that can be shown.
func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }
