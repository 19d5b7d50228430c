package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// Of a file with keys that is larger than any, no part is taken: those behind it could not read the backup.
func TestKeysAreReadToTheEnd(t *testing.T) {
	mem := vfs.NewMem()
	one := must.Do(age.GenerateX25519Identity())(t)
	line := one.Recipient().String() + "\n"
	put(t, mem, "/k", []byte(line+strings.Repeat("#\n", keysBytesMax/2)+line))
	require.ErrorIs(t, must.Err(ReadKeys(mem, "/k", "")), vfs.ErrTooLarge)
	put(t, mem, "/k", []byte(line+line))
	require.Len(t, must.Do(ReadKeys(mem, "/k", ""))(t).recipients, 2)
}

// bucket is a store of objects in memory. fail, if not nil, is asked before every change.
type bucket struct {
	objects map[string][]byte
	changed map[string]time.Time
	fail    func(op, name string) error
	spoil   func(name string, b []byte) []byte // what Put makes of it
	gets    int
}

func newBucket() *bucket {
	return &bucket{objects: map[string][]byte{}, changed: map[string]time.Time{}}
}

func (b *bucket) String() string { return "s3://b/p" }

func (b *bucket) ask(op, name string) error {
	if b.fail != nil {
		return b.fail(op, name)
	}
	return nil
}

func (b *bucket) Put(_ context.Context, name string, r io.Reader, size int64) error {
	if err := b.ask("put", name); err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err != nil || int64(len(text)) != size {
		return fmt.Errorf("put %s: %d bytes, not %d: %w", name, len(text), size, err)
	}
	if b.spoil != nil {
		text = b.spoil(name, text)
	}
	b.objects[name], b.changed[name] = text, time.Now()
	return nil
}

func (b *bucket) version(name string) string {
	if text, ok := b.objects[name]; ok {
		return fingerprint(text)
	}
	return ""
}

func (b *bucket) Replace(_ context.Context, name string, content []byte, version string) error {
	if err := b.ask("replace", name); err != nil {
		return err
	}
	if version != b.version(name) {
		return ErrReplaced
	}
	b.objects[name] = slices.Clone(content)
	return nil
}

func (b *bucket) Get(_ context.Context, name string) (*Object, error) {
	b.gets++
	text, ok := b.objects[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &Object{ReadCloser: io.NopCloser(bytes.NewReader(text)), Size: int64(len(text)),
		Version: b.version(name)}, nil
}

func (b *bucket) List(_ context.Context, fn func(ObjectInfo) error) error {
	for _, name := range slices.Sorted(maps.Keys(b.objects)) {
		if err := fn(ObjectInfo{Name: name, Size: int64(len(b.objects[name])), Changed: b.changed[name]}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bucket) Remove(_ context.Context, name string) error {
	if err := b.ask("remove", name); err != nil {
		return err
	}
	delete(b.objects, name)
	return nil
}

// named returns the name of the one object that begins so.
func (b *bucket) named(t *testing.T, prefix string) string {
	t.Helper()
	names := slices.DeleteFunc(slices.Collect(maps.Keys(b.objects)),
		func(n string) bool { return !strings.HasPrefix(n, prefix) })
	require.Len(t, names, 1)
	return names[0]
}

// in opens the backup in a bucket with an empty scratch folder of mem.
func (b *bucket) in(t *testing.T, mem *vfs.Mem, keys Keys) (*Backup, error) {
	t.Helper()
	scratch := fmt.Sprintf("/scratch-%d", rand.Uint64())
	require.NoError(t, mem.MkdirAll(scratch))
	return OpenObjects(t.Context(), b, ObjectOptions{FS: mem, Scratch: scratch, Keys: keys})
}

func mustOpen(t *testing.T, b *bucket, mem *vfs.Mem, keys Keys) *Backup {
	t.Helper()
	backup := must.Do(b.in(t, mem, keys))(t)
	return backup
}

// newKeys returns keys of one pair, and those that only encrypt.
func newKeys(t *testing.T) (both, public Keys) {
	t.Helper()
	pair := must.Do(age.GenerateX25519Identity())(t)
	public = Keys{recipients: []age.Recipient{pair.Recipient()}}
	return Keys{recipients: public.recipients, identities: []age.Identity{pair}}, public
}

// TestObjects goes through the life of a backup in a bucket, in the clear and encrypted by a machine that cannot
// decrypt.
func TestObjects(t *testing.T) {
	both, public := newKeys(t)
	for name, keys := range map[string]struct{ write, read Keys }{"in the clear": {}, "encrypted": {public, both}} {
		t.Run(name, func(t *testing.T) {
			mem, src := memFixture(t, "02-snapshot-and-log")
			whole := get(t, mem, "/s/log.35")
			put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x37))
			store := newBucket()
			out := must.Do(mustOpen(t, store, mem, keys.write).Add(src, Options{}))(t)
			require.Equal(t, proto.Zxid(0x37), out.Last)
			put(t, mem, "/s/log.35", whole)
			out = must.Do(mustOpen(t, store, mem, keys.write).Add(src, Options{}))(t)
			require.Len(t, out.Added, 1)
			require.Len(t, store.objects, 4)

			b := mustOpen(t, store, mem, keys.read)
			v := b.Verify()
			require.Empty(t, v.Problems)
			require.Equal(t, proto.Zxid(0x3e), v.Ranges[0].To)
			// The same moment as from a folder.
			mustAdd(t, mem, src, Options{})
			inFolder := opened(t, mem, "/b")
			for _, z := range []proto.Zxid{0x34, 0x37, 0x3a, 0} {
				to := Destination{FS: mem, SnapDir: fmt.Sprintf("/f%d", z), LogDir: fmt.Sprintf("/f%d", z)}
				want := must.Do(inFolder.Restore(to, Target{Zxid: z}))(t)
				to.SnapDir, to.LogDir = fmt.Sprintf("/o%d", z), fmt.Sprintf("/o%d", z)
				require.Equal(t, want, must.Do(b.Restore(to, Target{Zxid: z}))(t))
			}

			if keys.write.seals() {
				for name, text := range store.objects {
					if name != manifestName {
						require.True(t, strings.HasSuffix(name, ".age"), name)
						require.NotContains(t, string(text), "zookeeper")
					}
				}
				require.ErrorIs(t, must.Err(mustOpen(t, store, mem, public).
					Restore(Destination{FS: mem, SnapDir: "/n", LogDir: "/n"}, Target{})), errKey)
				other, _ := newKeys(t)
				require.ErrorIs(t, must.Err(mustOpen(t, store, mem, other).
					Restore(Destination{FS: mem, SnapDir: "/n", LogDir: "/n"}, Target{})), errKey)
			}
		})
	}
}

// TestRestoredOnce notes in the bucket which directory was restored into. A note that may be there, because the answer
// to it was lost, does not keep the restore from being run again; once the data was there, it does.
func TestRestoredOnce(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	store := newBucket()
	must.Do(mustOpen(t, store, mem, Keys{}).Add(src, Options{}))(t)
	b := mustOpen(t, store, mem, Keys{})
	to := Destination{FS: mem, SnapDir: "/o/version-2", LogDir: "/o/version-2", Once: "pod-0"}
	store.fail = func(op, name string) error {
		require.Equal(t, "put restored.pod-0", op+" "+name)
		store.objects[name] = []byte("x")
		return errors.New("no answer")
	}
	require.ErrorContains(t, must.Err(b.Restore(to, Target{})), "no answer")
	var unfinished *datadir.Unfinished
	require.ErrorAs(t, datadir.Check(mem, "/o/version-2"), &unfinished)
	store.fail = nil
	must.Do(b.Restore(to, Target{}))(t)
	require.NoError(t, datadir.Check(mem, "/o/version-2"))
	require.ErrorIs(t, must.Err(b.Restore(to, Target{})), ErrNotEmpty)

	lost := to
	lost.SnapDir, lost.LogDir = "/p/version-2", "/p/version-2"
	_, err := b.Restore(lost, Target{})
	require.ErrorIs(t, err, ErrRestoredBefore)
	require.ErrorContains(t, err, "s3://b/p/restored.pod-0")
	other := lost
	other.Once = "pod-1"
	must.Do(b.Restore(other, Target{}))(t)

	// Notes are no files of the backup: it is whole, and nothing removes them.
	require.Empty(t, b.Verify().Problems)
	require.Empty(t, must.Do(b.RemoveStrays())(t))
	require.Contains(t, store.objects, "restored.pod-0")
}

// TestFailedRequests fails each request that changes the bucket, once: the backup stays what it was before the run,
// and the next run completes it.
func TestFailedRequests(t *testing.T) {
	failed := errors.New("no")
	for n := 0; ; n++ {
		mem, src := memFixture(t, "02-snapshot-and-log")
		whole := get(t, mem, "/s/log.35")
		put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x37))
		store := newBucket()
		must.Do(mustOpen(t, store, mem, Keys{}).Add(src, Options{}))(t)
		put(t, mem, "/s/log.35", whole)

		asked := 0
		store.fail = func(op, name string) error {
			if asked++; asked > n {
				return failed
			}
			return nil
		}
		_, err := mustOpen(t, store, mem, Keys{}).Add(src, Options{Full: true})
		store.fail = nil
		if asked <= n {
			require.NoError(t, err)
			require.Greater(t, n, 1)
			return
		}
		require.ErrorIs(t, err, failed)
		v := mustOpen(t, store, mem, Keys{}).Verify()
		require.Empty(t, v.Problems)
		require.Equal(t, proto.Zxid(0x37), v.Ranges[0].To)
		out := must.Do(mustOpen(t, store, mem, Keys{}).Add(src, Options{}))(t)
		require.Equal(t, proto.Zxid(0x3e), out.Last)
		require.Empty(t, mem.OpenFiles())
	}
}

// TestReadBack lets the bucket store something else than it was given.
func TestReadBack(t *testing.T) {
	for name, spoil := range map[string]func(string, []byte) []byte{
		"cut":     func(_ string, b []byte) []byte { return b[:len(b)-1] },
		"longer":  func(_ string, b []byte) []byte { return append(b, 0) },
		"changed": func(_ string, b []byte) []byte { return append(b[:len(b)-1:len(b)-1], b[len(b)-1]^1) },
	} {
		mem, src := memFixture(t, "02-snapshot-and-log")
		store := newBucket()
		store.spoil = spoil
		require.ErrorContains(t, must.Err(mustOpen(t, store, mem, Keys{}).Add(src, Options{})), "read back", name)
		require.NotContains(t, store.objects, manifestName, name)
	}
}

// TestTwoRuns lets two machines add to one backup at once: the one that comes second has changed nothing.
func TestTwoRuns(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	store := newBucket()
	late := mustOpen(t, store, mem, Keys{})
	must.Do(mustOpen(t, store, mem, Keys{}).Add(src, Options{Limit: 0x37}))(t)
	require.ErrorIs(t, must.Err(late.Add(src, Options{})), ErrReplaced)
	require.Empty(t, late.Manifest.Entries)
	b := mustOpen(t, store, mem, Keys{})
	require.Equal(t, proto.Zxid(0x37), b.Manifest.Last())
	require.Empty(t, b.Verify().Problems)

	require.NoError(t, must.Err(b.Add(src, Options{})), "a run that has read the manifest goes on")
	require.Empty(t, mustOpen(t, store, mem, Keys{}).Verify().Problems)
}

// TestHostileObjects changes, exchanges and lengthens what is stored: it is never restored, and never fills the disk.
func TestHostileObjects(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	both, public := newKeys(t)
	for _, keys := range []struct{ write, read Keys }{{}, {public, both}} {
		store := newBucket()
		must.Do(mustOpen(t, store, mem, keys.write).Add(src, Options{}))(t)
		snapshot, log := store.named(t, "snapshot.34."), store.named(t, "log.35.")
		good := maps.Clone(store.objects)
		spoilt := 0
		for _, name := range []string{snapshot, log} {
			for how, b := range map[string][]byte{
				"changed": slices.Replace(slices.Clone(good[name]), 300, 301, good[name][300]^4),
				"cut":     good[name][:len(good[name])-1],
				"longer":  append(slices.Clone(good[name]), make([]byte, 1<<20)...),
				"empty":   {},
				"other":   good[map[string]string{snapshot: log, log: snapshot}[name]],
				"missing": nil,
			} {
				store.objects = maps.Clone(good)
				if store.objects[name] = b; b == nil {
					delete(store.objects, name)
				}
				used := mem.Used()
				b := mustOpen(t, store, mem, keys.read)
				_, err := b.Restore(Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}, Target{})
				require.Error(t, err, "%s %s", name, how)
				require.NotEmpty(t, b.Verify().Problems, "%s %s", name, how)
				require.Less(t, mem.Used()-used, int64(1<<20), "%s %s", name, how)
				spoilt++
			}
		}
		require.Equal(t, 12, spoilt)
		require.ErrorIs(t, must.Err(mem.Stat("/r")), fs.ErrNotExist)

		store.objects = maps.Clone(good)
		store.objects[manifestName] = make([]byte, manifestBytesMax+1)
		require.ErrorIs(t, must.Err(store.in(t, mem, Keys{})), errManifest)
	}
}

// TestScratchIsTooSmall is told before a byte is copied.
func TestScratchIsTooSmall(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	store := newBucket()
	must.Do(mustOpen(t, store, mem, Keys{}).Add(src, Options{}))(t)
	b := mustOpen(t, store, mem, Keys{})
	mem.SetCapacity(mem.Used() + 100)
	gets := store.gets
	_, err := b.Restore(Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}, Target{})
	require.ErrorIs(t, err, vfs.ErrNoSpace)
	require.Equal(t, gets, store.gets)
}

// FuzzSealed gives anything to the decryption of an object.
func FuzzSealed(f *testing.F) {
	pair := must.Do(age.GenerateX25519Identity())(f)
	keys := Keys{recipients: []age.Recipient{pair.Recipient()}, identities: []age.Identity{pair}}
	var sealed bytes.Buffer
	require.NoError(f, keys.encrypt(&sealed, strings.NewReader("what is secret")))
	f.Add(sealed.Bytes())
	f.Add([]byte("age-encryption.org/v1\n-> X25519 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		plain, err := keys.open(bytes.NewReader(b))
		if err == nil {
			_, _ = io.Copy(io.Discard, plain)
		}
	})
}
