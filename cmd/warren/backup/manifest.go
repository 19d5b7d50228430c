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

// ErrManifest marks a manifest that cannot be trusted.
var ErrManifest = errors.New("backup: damaged manifest")

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
}

// Manifest is what a backup holds, in the order in which it came.
type Manifest struct {
	Format int    `json:"format"`
	Source string `json:"source"`
	// Epoch is the highest epoch that a source had promised; it may have no txn. 0 if none is known.
	Epoch   int64   `json:"epoch,omitempty"`
	Entries []Entry `json:"entries"`
}

// last returns the newest txn, 0 for an empty backup, and the log entry that ends with it, nil if a snapshot does.
func (m *Manifest) last() (last proto.Zxid, end *Entry) {
	for i := range m.Entries {
		e := &m.Entries[i]
		if z := proto.Zxid(e.Last); z > last || z == last && e.Kind == KindLog {
			last, end = z, nil
			if e.Kind == KindLog {
				end = e
			}
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
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrManifest}, args...)...)
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
	sum, err := hex.DecodeString(e.SHA256)
	switch {
	case !ok || filepath.Base(e.File) != e.File:
		return errors.New("is no name of such a file")
	case err != nil || len(sum) != sha256.Size:
		return errors.New("has no checksum")
	case proto.Zxid(e.First) != first || e.Last < e.First || e.Bytes < 0:
		return errors.New("name, zxids and size do not fit")
	case e.Kind == KindSnapshot && (e.Last != e.First || e.Exact < e.First):
		return errors.New("a snapshot has one zxid, and is exact from there on")
	case e.Kind == KindLog && e.Txns < 1:
		return errors.New("a log has txns")
	}
	return nil
}

// Backup is a directory with a backup.
type Backup struct {
	fs       vfs.FS
	dir      string
	Manifest Manifest
}

// Open reads the manifest of a backup. A directory without one, or that does not exist, is an empty backup; other
// errors match ErrManifest or are the file system's.
func Open(fsys vfs.FS, dir string) (*Backup, error) {
	b := &Backup{fs: fsys, dir: dir, Manifest: Manifest{Format: formatVersion}}
	name := b.path(manifestName)
	text, err := vfs.ReadFile(fsys, name, manifestBytesMax)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case errors.Is(err, vfs.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	case err != nil:
		return nil, fmt.Errorf("backup: %w", err)
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b.Manifest = *m
	return b, nil
}

func (b *Backup) path(name string) string { return filepath.Join(b.dir, name) }

// save replaces the manifest, durably.
func (b *Backup) save() error {
	text, err := b.Manifest.encode()
	if err != nil {
		return err
	}
	tmp := b.path(tmpPrefix + manifestName)
	f, err := b.fs.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(b.fs.Rename(tmp, b.path(manifestName)), b.fs.SyncDir(b.dir))
}

// lock takes the directory for writing, and removes what an interrupted run has left.
func (b *Backup) lock() (io.Closer, error) {
	if err := b.fs.MkdirAll(b.dir); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	lock, err := b.fs.Lock(b.path(lockName))
	if err != nil {
		return nil, fmt.Errorf("backup: %s: %w", b.dir, err)
	}
	names, err := b.fs.List(b.dir)
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix) {
			err = errors.Join(err, b.fs.Remove(b.path(name)))
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("backup: %w", err)
	}
	return lock, nil
}
