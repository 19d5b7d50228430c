package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// checkBatch returns an error unless framed is made of whole framed records whose zxids are first
// to last, each following the one before, and first following prev. It does not look at
// checksums.
func checkBatch(framed []byte, prev, first, last proto.Zxid) error {
	if len(framed) == 0 {
		return fmt.Errorf("%w: it is empty", ErrRecord)
	}
	if !Follows(prev, first) {
		return fmt.Errorf("%w: %v after %v", ErrOrder, first, prev)
	}
	z := prev
	for off := 0; off < len(framed); {
		b := framed[off:]
		if len(b) < recordMin {
			return fmt.Errorf("%w: %d bytes at offset %d", ErrRecord, len(b), off)
		}
		length := int(binary.BigEndian.Uint32(b[8:]))
		if length < payloadMin || length >= payloadMax || length > len(b)-overhead || b[prefixSize+length] != endByte {
			return fmt.Errorf("%w: length %d at offset %d of %d", ErrRecord, length, off, len(framed))
		}
		next := zxidOf(b[prefixSize:])
		if !Follows(z, next) || off == 0 && next != first {
			return fmt.Errorf("%w: %v after %v at offset %d of a batch from %v to %v", ErrOrder, next,
				z, off, first, last)
		}
		z = next
		off += overhead + length
	}
	if z != last {
		return fmt.Errorf("%w: a batch from %v to %v ends at %v", ErrOrder, first, last, z)
	}
	return nil
}
