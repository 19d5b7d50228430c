package backup

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed94657493/warren/wal/vfs"
)

// Objects is a store of objects by name, such as those of a bucket below a prefix. A Backup uses it from one
// goroutine.
type Objects interface {
	// String names the store in messages.
	String() string
	// Put stores size bytes of r under a name, all of them or none.
	Put(ctx context.Context, name string, r io.Reader, size int64) error
	// Replace stores an object if version is that of the object that is there, "" if there is none. Else the error is
	// ErrReplaced. A store that cannot compare versions replaces any.
	Replace(ctx context.Context, name string, content []byte, version string) error
	// Get opens an object. The error is fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) (*Object, error)
	// List calls fn for each object, until it returns an error.
	List(ctx context.Context, fn func(ObjectInfo) error) error
	// Remove removes an object. That there is none is no error.
	Remove(ctx context.Context, name string) error
}

// Object is an object that is read.
type Object struct {
	io.ReadCloser
	Size    int64 // -1 if the store does not say it
	Version string
}

// ObjectInfo describes an object.
type ObjectInfo struct {
	Name    string
	Size    int64
	Changed time.Time
}

// ErrReplaced means that another run has replaced the manifest since this one has read it. What this run has stored
// is in no manifest.
var ErrReplaced = errors.New("backup: another run has changed the backup meanwhile: run it again")

// errKey means that a backup is encrypted and that no key opens it.
var errKey = errors.New("backup: encrypted, and no key opens it")

// recent is how long an object that no manifest names may be about to be named by a run that goes on.
const recent = 24 * time.Hour

// listedMax bounds the objects of one backup, as the manifest bounds those that it names.
const listedMax = 10 * entriesMax

// objects is the store of a backup in a store of objects. Each file is an object whose name ends with a part of the
// SHA-256 of its bytes, and is never replaced by another; so two runs at once do not spoil each other's files. Only
// the manifest is replaced, as the last step of a run.
type objects struct {
	ctx     context.Context // of all requests
	objects Objects
	keys    Keys
	fs      vfs.FS
	scratch string // a folder for the files that are written and read
	version string // of the manifest that was read, "" if there is none
}

// ObjectOptions say how a backup in a store of objects is reached.
type ObjectOptions struct {
	FS vfs.FS
	// Scratch is an empty folder for copies of the files that a run writes or reads. The caller removes it.
	Scratch string
	Keys    Keys
}

// OpenObjects reads the manifest of a backup in a store of objects, as Open does of one in a folder. ctx ends all
// that the backup does there.
func OpenObjects(ctx context.Context, o Objects, opts ObjectOptions) (*Backup, error) {
	return open(opts.FS, &objects{ctx: ctx, objects: o, keys: opts.Keys, fs: opts.FS, scratch: opts.Scratch})
}

func (s *objects) String() string { return s.objects.String() }

func (s *objects) path(name string) string { return filepath.Join(s.scratch, name) }

// begin implements store. Runs on other machines are told apart by the version of the manifest.
func (s *objects) begin() (io.Closer, error) { return s.fs.Lock(s.path(lockName)) }

func (s *objects) manifest() ([]byte, error) {
	object, err := s.objects.Get(s.ctx, manifestName)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(object, manifestBytesMax+1))
	if err := errors.Join(err, object.Close()); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", s, manifestName, err)
	}
	if len(text) > manifestBytesMax {
		return nil, fmt.Errorf("%s/%s: %w: larger than %d bytes", s, manifestName, vfs.ErrTooLarge, manifestBytesMax)
	}
	s.version = object.Version
	return text, nil
}

func (s *objects) replace(text []byte) error {
	if err := s.objects.Replace(s.ctx, manifestName, text, s.version); err != nil && !errors.Is(err, ErrReplaced) {
		return err
	}
	there, err := s.manifest() // an answer that was lost lets a repeated request find its own manifest
	if err == nil && !bytes.Equal(there, text) {
		return ErrReplaced
	}
	return err
}

func (s *objects) work(file string) string { return s.path(tmpPrefix + file) }

// nameSumDigits is how many digits of the SHA-256 of what is stored a name ends with.
const nameSumDigits = 32

// sealedSuffix ends the names of encrypted objects.
const sealedSuffix = ".age"

func (s *objects) name(e *Entry) string {
	_, sum := storedAs(e)
	name := e.File + "." + sum[:nameSumDigits]
	if e.Sealed != nil {
		name += sealedSuffix
	}
	return name
}

// isObject reports whether a name is one that the method name gives.
func isObject(name string) bool {
	name = strings.TrimSuffix(name, sealedSuffix)
	at := len(name) - nameSumDigits
	if at < 1 || name[at-1] != '.' || strings.Contains(name, "/") {
		return false
	}
	_, err := hex.DecodeString(name[at:])
	return err == nil && isFile(name[:at-1])
}

// storedAs is the size and the SHA-256 of the object of an entry.
func storedAs(e *Entry) (size int64, sum string) {
	if e.Sealed != nil {
		return e.Sealed.Bytes, e.Sealed.SHA256
	}
	return e.Bytes, e.SHA256
}

// keep implements store: what was stored is read back and compared.
func (s *objects) keep(e *Entry, path string) error {
	upload := path
	if s.keys.seals() {
		upload = path + sealedSuffix
		sealed, err := s.keys.seal(s.fs, path, upload)
		if err != nil {
			return err
		}
		e.Sealed = sealed
	}
	if err := s.put(e, upload); err != nil {
		return err
	}
	if err := s.check(e); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if upload != path {
		if err := s.fs.Remove(upload); err != nil {
			return err
		}
	}
	return s.fs.Rename(path, s.path(e.File)) // what fetch returns
}

func (s *objects) put(e *Entry, path string) error {
	f, err := s.fs.Open(path)
	if err != nil {
		return err
	}
	size, _ := storedAs(e)
	err = s.objects.Put(s.ctx, s.name(e), io.NewSectionReader(f, 0, size), size)
	return errors.Join(err, f.Close())
}

func (s *objects) get(e *Entry) (*Object, error) {
	name := s.name(e)
	object, err := s.objects.Get(s.ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", s, name, err)
	}
	if size, _ := storedAs(e); object.Size >= 0 && object.Size != size {
		changed := changedError(fmt.Sprintf("has %d bytes, not %d", object.Size, size))
		return nil, errors.Join(fmt.Errorf("%s/%s: %w", s, name, changed), object.Close())
	}
	return object, nil
}

func (s *objects) check(e *Entry) error {
	object, err := s.get(e)
	if err != nil {
		return err
	}
	size, sum := storedAs(e)
	if err := errors.Join(compare(object, size, sum), object.Close()); err != nil {
		return fmt.Errorf("%s/%s: %w", s, s.name(e), err)
	}
	return nil
}

// fetch implements store: it copies the object, once, and decrypts it.
func (s *objects) fetch(e *Entry) (string, error) {
	path := s.path(e.File)
	if _, err := s.fs.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if free, _, err := s.fs.Free(s.scratch); err != nil || free < e.Bytes {
		return "", errors.Join(err,
			fmt.Errorf("%s takes %d bytes, and %s has %d left: %w", e.File, e.Bytes, s.scratch, free, vfs.ErrNoSpace))
	}
	if e.Sealed != nil && len(s.keys.identities) == 0 {
		return "", errKey
	}
	object, err := s.get(e)
	if err != nil {
		return "", err
	}
	err = s.receive(e, object)
	if err := errors.Join(err, object.Close()); err != nil {
		return "", fmt.Errorf("%s/%s: %w", s, s.name(e), err)
	}
	return path, nil
}

// receive writes what an object holds into the scratch folder. It writes one byte more than the entry has at most, so
// that a file that is too long is found to be.
func (s *objects) receive(e *Entry, object io.Reader) error {
	size, _ := storedAs(e)
	plain := io.LimitReader(object, size+1)
	if e.Sealed != nil {
		var err error
		if plain, err = s.keys.open(plain); err != nil {
			return err
		}
	}
	tmp := s.work(e.File)
	f, err := s.fs.Create(tmp)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(plain, e.Bytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.fs.Remove(tmp))
	}
	return s.fs.Rename(tmp, s.path(e.File))
}

func (s *objects) list() ([]Stored, error) {
	var all []Stored
	err := s.objects.List(s.ctx, func(o ObjectInfo) error {
		if !isObject(o.Name) {
			return nil
		}
		if len(all) == listedMax {
			return fmt.Errorf("%s: more than %d objects", s, listedMax)
		}
		all = append(all, Stored{Name: o.Name, Bytes: o.Size, Recent: time.Since(o.Changed) < recent})
		return nil
	})
	return all, err
}

func (s *objects) remove(names []string) (err error) {
	for _, name := range names {
		err = errors.Join(err, s.objects.Remove(s.ctx, name))
	}
	return err
}

func (s *objects) note(name string) error {
	text := time.Now().UTC().Format(time.RFC3339) + "\n" // a store may refuse an object without bytes
	return s.objects.Put(s.ctx, name, strings.NewReader(text), int64(len(text)))
}

func (s *objects) noted(name string) (bool, error) {
	object, err := s.objects.Get(s.ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, object.Close()
}
