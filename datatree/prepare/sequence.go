package prepare

import (
	"math"
	"strconv"
)

// sequenceDigits is the width to which a sequence number is padded, its sign included.
const sequenceDigits = 10

// appendSequence appends the suffix of a sequential znode: n in decimal, padded with zeros to
// ten characters, sign first. Source: server-semantics 3.5.
func appendSequence(b []byte, n int32) []byte {
	var digits [11]byte
	magnitude := int64(n)
	width := sequenceDigits
	if n < 0 {
		b = append(b, '-')
		magnitude = -magnitude
		width--
	}
	text := strconv.AppendInt(digits[:0], magnitude, 10)
	for range width - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

// nextSequence returns the parent's cversion after one more create. The counter stops at its
// limit instead of wrapping: a txn that carries a smaller number does not lower the parent, so a
// wrapped number would make the predicted digest wrong. raised is false at the limit, where
// neither cversion nor pzxid of the parent change. Source: server-semantics 3.5.
func nextSequence(c int32) (next int32, raised bool) {
	if c == math.MaxInt32 {
		return c, false
	}
	return c + 1, true
}

// nextVersion returns the version that follows v: it wraps at the limit of int32 and leaves out
// -1, which in requests means any. Source: server-semantics 3.6.
func nextVersion(v int32) int32 {
	if v == -2 {
		return 0
	}
	return v + 1 // wraps, as Go defines it for signed integers
}

// versionMatches reports whether a request that expects a version may go on.
func versionMatches(current, expected int32) bool {
	return expected == -1 || expected == current
}
