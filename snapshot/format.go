package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// Compression is how a snapshot's bytes are packed. It is chosen by the writer's configuration and
// recognised by the reader from the name (storage 5.6).
type Compression string

// The compressions, as zookeeper.snapshot.compression.method names them.
const (
	Plain  Compression = ""
	Gzip   Compression = "gz"
	Snappy Compression = "snappy"
)

// Valid reports whether c is one of the compressions.
func (c Compression) Valid() bool { return c == Plain || c == Gzip || c == Snappy }

const (
	namePrefix = "snapshot."
	tmpPrefix  = "tmp." // in front of a whole name: part 0 is then not "snapshot", so Java ignores it

	headerSize     = 16
	sealSize       = 8 + 5         // Adler-32, ustring "/"
	digestSize     = 20 + sealSize // zxid, version, digest
	lastZxidSize   = 8 + sealSize  // zxid
	digestV1Min    = 16 + sealSize // zxid, version, empty ustring
	trailerMax     = 512           // any trailer is smaller, also one with a digest of version 1
	sessionSize    = 12            // id, timeout
	aclEntryMin    = 12            // key, count
	aclMin         = 12            // perms and two empty strings
	nodeFixed      = 8 + 60        // ACL key, StatPersisted
	fieldMax       = 1 << 30       // longest path, data or ACL list, in bytes (storage 2)
	digestVersion1 = 1             // up to here the digest is a hex ustring
)

// terminator is the ustring "/" that ends the znodes and every seal.
var terminator = []byte{0, 0, 0, 1, '/'}

// ErrCorrupt marks every error that says that a file is not a whole snapshot.
var ErrCorrupt = errors.New("snapshot: corrupt")

// stream is what errors call a stream, which has no name.
const stream = "stream"

// CorruptError says where a file stops being a snapshot. It matches ErrCorrupt.
type CorruptError struct {
	File   string // name or path; empty for a stream
	Offset int64  // in the uncompressed bytes, except that a damaged compression counts the file's own
	What   string // what is wrong there
	Err    error  // cause, or nil
}

// Error names the file, the offset, what is wrong and the cause.
func (e *CorruptError) Error() string {
	s := fmt.Sprintf("snapshot: %s is corrupt at byte %d: %s", cmp.Or(e.File, stream), e.Offset, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns ErrCorrupt and the cause.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Err}
}

// FileName returns the name of a snapshot at zxid, in the form ZooKeeper gives it.
func FileName(zxid proto.Zxid, c Compression) string {
	name := namePrefix + strconv.FormatUint(uint64(zxid), 16)
	if c != Plain {
		name += "." + string(c)
	}
	return name
}

// ParseName returns the zxid in the name of a snapshot and how it is compressed. ok is false for other names, and
// for those ending in .tmp: an interrupted atomic write of a Java server leaves such a file, and a Java server
// would load it. Source: storage 1.2.
func ParseName(name string) (zxid proto.Zxid, c Compression, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) < 2 || parts[0] != "snapshot" {
		return 0, Plain, false
	}
	n, err := strconv.ParseUint(parts[1], 16, 63)
	if err != nil {
		return 0, Plain, false
	}
	if strings.EqualFold(parts[len(parts)-1], "tmp") {
		return 0, Plain, false
	}
	return proto.Zxid(n), compressionOf(name), true
}

// compressionOf returns how a file is compressed, which its last extension says.
func compressionOf(name string) Compression {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		return Gzip
	case ".snappy":
		return Snappy
	default:
		return Plain
	}
}

// isOwnTmp reports whether name is that of a snapshot which a Store was still writing.
func isOwnTmp(name string) bool { return strings.HasPrefix(name, tmpPrefix+namePrefix) }

// plausible is the cheap test of storage 5.5 over a file's first and last bytes.
func plausible(c Compression, size int64, head, tail []byte) bool {
	switch c {
	case Gzip:
		return bytes.HasPrefix(head, gzipMagic)
	case Snappy:
		return bytes.HasPrefix(head, snappyMagic)
	default:
		return size >= 10 && bytes.HasSuffix(tail, terminator)
	}
}
