package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// header parses the FileHeader and returns the identity of the ensemble in it. Only the magic is compared, as the
// reference does.
func (p *parser) header() (ensemble uint64, err error) {
	b, err := p.w.peek(headerSize)
	if err != nil {
		return 0, p.short("header", err)
	}
	if magic := int32(binary.BigEndian.Uint32(b)); magic != proto.MagicSnapshot {
		return 0, p.corrupt(0, fmt.Sprintf("magic is %#x, not %#x", uint32(magic), uint32(proto.MagicSnapshot)), nil)
	}
	if dbid := int64(binary.BigEndian.Uint64(b[8:])); dbid != noDbid {
		ensemble = uint64(dbid)
	}
	p.w.skip(headerSize)
	return ensemble, nil
}

// trailer parses the seals and the sections after the body. Nothing in the file says which sections there are:
// the number of bytes left does (storage 5.4).
func (p *parser) trailer(c *chunks) (t Trailer, err error) {
	if err = p.seal(c, 1); err != nil {
		return t, err
	}
	b, err := p.rest()
	if err != nil {
		return t, err
	}
	if len(b) >= digestV1Min && len(b) != lastZxidSize {
		if err = p.digest(c, b, &t); err != nil {
			return t, err
		}
		if b, err = p.rest(); err != nil {
			return t, err
		}
	}
	if len(b) == lastZxidSize {
		t.HasLastZxid, t.LastZxid = true, proto.Zxid(binary.BigEndian.Uint64(b))
		p.w.skip(8)
		if err = p.seal(c, 3); err != nil {
			return t, err
		}
		b = p.w.buf
	}
	if len(b) > 0 {
		return t, p.corrupt(0, fmt.Sprintf("%d bytes that are no section", len(b)), nil)
	}
	return t, nil
}

// digest parses the digest section at the front of b, and seal 2.
func (p *parser) digest(c *chunks, b []byte, t *Trailer) error {
	zxid := proto.Zxid(binary.BigEndian.Uint64(b))
	version := int32(binary.BigEndian.Uint32(b[8:]))
	size := 20
	if version <= digestVersion1 {
		n := int64(int32(binary.BigEndian.Uint32(b[12:])))
		if n < -1 || 16+n > int64(len(b)) {
			return p.corrupt(12, fmt.Sprintf("length of the digest is %d", n), proto.ErrLength)
		}
		size = 16 + int(max(n, 0))
	} else {
		if len(b) < digestSize {
			return p.corrupt(len(b), "ends inside the digest section", nil)
		}
		*t = Trailer{HasDigest: true, DigestZxid: zxid, DigestVersion: version,
			Digest: int64(binary.BigEndian.Uint64(b[12:]))}
	}
	p.w.skip(size)
	return p.seal(c, 2)
}

// seal compares the Adler-32 of everything so far with the one that follows. The high half of that one is zero.
// The reference does not compare the string after it.
func (p *parser) seal(c *chunks, n int) error {
	b, err := p.w.peek(sealSize)
	if err != nil {
		return p.short(fmt.Sprintf("seal %d", n), err)
	}
	got, want := uint64(c.sumBefore(p.w)), binary.BigEndian.Uint64(b)
	if got != want {
		return p.corrupt(0, fmt.Sprintf("seal %d is %#x, but the bytes before it sum to %#x", n, want, got), nil)
	}
	if !bytes.Equal(b[8:sealSize], terminator) {
		return p.corrupt(8, fmt.Sprintf("seal %d does not end with a slash", n), nil)
	}
	p.w.skip(sealSize)
	return nil
}

// rest returns all bytes that are left, which must be few.
func (p *parser) rest() ([]byte, error) {
	b, err := p.w.peek(trailerMax)
	switch {
	case err == nil:
		return nil, p.corrupt(0, "more bytes than any section has", nil)
	case err != errEnded:
		return nil, p.short("sections behind the znodes", err)
	}
	return b, nil
}
