package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

const (
	manifestName = "manifest.json"
	lockName     = ".lock"
	tmpPrefix    = "tmp."

	formatVersion    = 1
	manifestBytesMax = 64 << 20
	entriesMax       = 10_000
)

// errManifest marks a manifest that cannot be trusted.
var errManifest = errors.New("backup: damaged manifest")

// errFull means that a backup may hold no more files. With more, its manifest could not be read.
var errFull = errors.New("backup: it has as many files as it may have: prune it, or begin another one")

// Zxid is a zxid that is written in hex.
type Zxid proto.Zxid

// String returns the zxid as ZooKeeper prints it.
func (z Zxid) String() string { return proto.Zxid(z).String() }

// MarshalText implements encoding.TextMarshaler.
func (z Zxid) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *Zxid) UnmarshalText(b []byte) error {
	digits, ok := strings.CutPrefix(string(b), "0x")
	v, err := strconv.ParseUint(digits, 16, 63)
	if !ok || err != nil {
		return fmt.Errorf("%q is no zxid", b)
	}
	*z = Zxid(v)
	return nil
}

// Kind is what a file holds.
type Kind string

// The kinds.
const (
	KindSnapshot Kind = "snapshot"
	KindLog      Kind = "log"
)

// Entry is one file of a backup.
type Entry struct {
	Kind   Kind   `json:"kind"`
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// First and Last are the zxids of the txns in a log. A snapshot has the zxid that it is named for in both.
	First Zxid `json:"first"`
	Last  Zxid `json:"last"`
	// Exact is the zxid up to which the log is needed to make a snapshot exact. Only of snapshots.
	Exact Zxid `json:"exact,omitempty"`
	// Txns is their number. Only of logs.
	Txns int `json:"txns,omitempty"`
	// FirstTime and LastTime are the times of the first and the last txn, in ms since 1970. Only of logs.
	FirstTime int64 `json:"firstTime,omitempty"`
	LastTime  int64 `json:"lastTime,omitempty"`
	// LastSum is the SHA-256 of the last txn, by which the next run knows that the history is the same. Only of logs.
	LastSum string `json:"lastSum,omitempty"`
	// Digest is the digest of the tree at DigestZxid; DigestZxid is 0 if none is known.
	Digest     int64 `json:"digest,omitempty"`
	DigestZxid Zxid  `json:"digestZxid,omitempty"`
	// Taken is when the run began that added the file.
	Taken time.Time `json:"taken"`
	// Sealed is what is stored of an encrypted file; nil if the file is stored as it is.
	Sealed *Sealed `json:"sealed,omitempty"`
}

// Sealed is an encrypted file.
type Sealed struct {
	Method string `json:"method"` // methodAge
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// methodAge is the format of age-encryption.org, version 1.
const methodAge = "age"

// Manifest is what a backup holds, in the order in which it came.
type Manifest struct {
	Format int    `json:"format"`
	Source string `json:"source"`
	// SourceLog is the directory of the log, if it was another one than Source.
	SourceLog string `json:"sourceLog,omitempty"`
	// Epoch is the highest epoch that a source had promised; it may have no txn. 0 if none is known.
	Epoch   int64   `json:"epoch,omitempty"`
	Entries []Entry `json:"entries"`
}

// of returns the entries of a kind.
func (m *Manifest) of(kind Kind) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range m.Entries {
			if e := &m.Entries[i]; e.Kind == kind && !yield(e) {
				return
			}
		}
	}
}

// last returns the newest txn, 0 for an empty backup, and the entry that ends with it: a log, if there is one.
func (m *Manifest) last() (last proto.Zxid, end *Entry) {
	for i := range m.Entries {
		e := &m.Entries[i]
		if z := proto.Zxid(e.Last); z > last || z == last && e.Kind == KindLog {
			last, end = z, e
		}
	}
	return last, end
}

// Last is the last txn of the backup, 0 if the backup is empty.
func (m *Manifest) Last() proto.Zxid {
	last, _ := m.last()
	return last
}

// encode returns the file: JSON, and the checksum of it.
func (m *Manifest) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	sum := sha256.Sum256(b)
	return fmt.Appendf(b, "sha256 %x\n", sum), nil
}

// parseManifest is the inverse of encode, and checks what it reads.
func parseManifest(b []byte) (*Manifest, error) {
	damaged := func(format string, args ...any) (*Manifest, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{errManifest}, args...)...)
	}
	i := bytes.LastIndex(b, []byte("sha256 "))
	if i < 0 {
		return damaged("it does not end with a checksum")
	}
	body, sum := b[:i], sha256.Sum256(b[:i])
	if string(b[i:]) != fmt.Sprintf("sha256 %x\n", sum) {
		return damaged("the checksum does not match")
	}
	m := new(Manifest)
	if err := json.Unmarshal(body, m); err != nil {
		return damaged("%v", err)
	}
	if m.Format != formatVersion {
		return damaged("format %d is not %d", m.Format, formatVersion)
	}
	if m.Epoch < 0 {
		return damaged("epoch %d", m.Epoch)
	}
	if len(m.Entries) > entriesMax {
		return damaged("%d entries are more than %d", len(m.Entries), entriesMax)
	}
	names := map[string]bool{}
	for i := range m.Entries {
		e := &m.Entries[i]
		if err := e.check(); err != nil {
			return damaged("entry %d, %q: %v", i, e.File, err)
		}
		if names[e.File] {
			return damaged("entry %d, %q: comes twice", i, e.File)
		}
		names[e.File] = true
	}
	return m, nil
}

// check says what an entry contradicts.
func (e *Entry) check() error {
	var first proto.Zxid
	var ok bool
	switch e.Kind {
	case KindSnapshot:
		first, _, ok = snapshot.ParseName(e.File)
	case KindLog:
		first, _, ok = wal.FileZxid(e.File)
	default:
		return fmt.Errorf("kind %q is not known", e.Kind)
	}
	switch {
	case !ok || filepath.Base(e.File) != e.File:
		return errors.New("is no name of such a file")
	case !isSum(e.SHA256):
		return errors.New("has no checksum")
	case e.Sealed != nil && (e.Sealed.Method != methodAge || e.Sealed.Bytes < 0 || !isSum(e.Sealed.SHA256)):
		return errors.New("is encrypted in a way that is not known")
	case proto.Zxid(e.First) != first || e.Last < e.First || e.Bytes < 0:
		return errors.New("name, zxids and size do not fit")
	case e.Kind == KindSnapshot && (e.Last != e.First || e.Exact < e.First):
		return errors.New("a snapshot has one zxid, and is exact from there on")
	case e.Kind == KindLog && e.Txns < 1:
		return errors.New("a log has txns")
	}
	return nil
}

// isSum reports whether a text is a SHA-256 in lower case.
func isSum(s string) bool {
	sum, err := hex.DecodeString(s)
	return err == nil && len(sum) == sha256.Size && strings.ToLower(s) == s
}

// Backup is a backup in a store.
type Backup struct {
	fs       vfs.FS // of the files that the store gives and takes
	store    store
	Manifest Manifest
}

// Open reads the manifest of a backup in a folder. A folder without one, or that does not exist, is an empty backup;
// other errors match errManifest or are the file system's.
func Open(fsys vfs.FS, dir string) (*Backup, error) { return open(fsys, &folder{fs: fsys, dir: dir}) }

func open(fsys vfs.FS, s store) (*Backup, error) {
	b := &Backup{fs: fsys, store: s, Manifest: Manifest{Format: formatVersion}}
	text, err := s.manifest()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case errors.Is(err, vfs.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	case err != nil:
		return nil, fmt.Errorf("backup: %w", err)
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w: put back a copy of that file, or make a new backup in another place", s,
			manifestName, err)
	}
	b.Manifest = *m
	return b, nil
}

// save replaces the manifest, durably.
func (b *Backup) save() error {
	text, err := b.Manifest.encode()
	if err != nil {
		return err
	}
	return b.store.replace(text)
}

// beginAdding is begin for a run that adds a snapshot and a log at most.
func (b *Backup) beginAdding() (io.Closer, error) {
	if len(b.Manifest.Entries)+2 > entriesMax {
		return nil, errFull
	}
	return b.begin()
}

// begin prepares the store for writing.
func (b *Backup) begin() (io.Closer, error) {
	c, err := b.store.begin()
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return c, nil
}
