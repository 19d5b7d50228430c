package meta

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func writeFile(t *testing.T, dir, name string, epoch int64) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), strconv.AppendInt(nil, epoch, 10), 0o600))
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	return string(must.ReadFile(t, filepath.Join(dir, name)))
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := must.ReadDir(t, dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func open(t *testing.T, o Options) *DB {
	t.Helper()
	db := must.Do(Open(o))(t)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestStandaloneHasNoEpochFiles(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir})
	require.NoError(t, db.SetAccepted(0))
	require.NoError(t, db.SetConfig(Config{Text: "x"}))
	require.NoError(t, db.PutSnapshot("snapshot.0", 0, 1, 1))
	require.NoError(t, db.Close())
	open(t, Options{Dir: dir})
	require.Equal(t, []string{FileName}, names(t, dir))
}

func TestEpochFilesAsJavaWritesThem(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir, Member: true})
	must.Do(db.Reconcile(0))(t)
	require.Equal(t, "0", readFile(t, dir, "acceptedEpoch"))
	require.Equal(t, "0", readFile(t, dir, "currentEpoch"))
	require.NoError(t, db.SetAccepted(17))
	require.Equal(t, "17", readFile(t, dir, "acceptedEpoch"))
	require.Equal(t, "0", readFile(t, dir, "currentEpoch"))
	require.NoError(t, db.SetCurrent(17, ""))
	require.Equal(t, "17", readFile(t, dir, "currentEpoch"))
	require.Equal(t, []string{"acceptedEpoch", "currentEpoch", FileName}, names(t, dir))
}

func TestLargerEpochCounts(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir, Member: true})
	require.NoError(t, db.SetAccepted(5))
	require.NoError(t, db.SetCurrent(5, ""))
	require.NoError(t, db.Close())

	// A Java server ran in between.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acceptedEpoch"), []byte("8\nanything"), 0o600))
	writeFile(t, dir, "currentEpoch", 7)
	db = open(t, Options{Dir: dir, Member: true})
	require.Equal(t, Epochs{Accepted: 8, Current: 7}, db.Epochs())
	require.NoError(t, db.Close())

	// A crash came before the files, or one was removed.
	writeFile(t, dir, "acceptedEpoch", 2)
	require.NoError(t, os.Remove(filepath.Join(dir, "currentEpoch")))
	db = open(t, Options{Dir: dir, Member: true})
	require.Equal(t, Epochs{Accepted: 8, Current: 7}, db.Epochs())
	require.Equal(t, "8", readFile(t, dir, "acceptedEpoch"))
	require.Equal(t, "7", readFile(t, dir, "currentEpoch"))
	require.NoError(t, db.Close())

	// A standalone server does not set the clock back either.
	writeFile(t, dir, "acceptedEpoch", 9)
	db = open(t, Options{Dir: dir})
	require.Equal(t, "9", readFile(t, dir, "acceptedEpoch"))
	require.ErrorIs(t, db.SetAccepted(8), ErrEpoch)
}

func TestEpochFilesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "x", " 5", "5 ", "-1", "5.0", "99999999999999999999"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "currentEpoch"), []byte(text), 0o600))
		_, err := Open(Options{Dir: dir, Member: true})
		require.ErrorIs(t, err, ErrEpoch, text)
		require.ErrorContains(t, err, "currentEpoch")
		open(t, Options{Dir: dir}) // a standalone server does not need them
	}
}

func TestAcceptedBelowCurrentIsRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "acceptedEpoch", 3)
	writeFile(t, dir, "currentEpoch", 4)
	_, err := open(t, Options{Dir: dir, Member: true}).Reconcile(proto.MakeZxid(4, 1))
	require.ErrorIs(t, err, ErrEpoch)
	require.ErrorContains(t, err, "acceptedEpoch 3 is below currentEpoch 4")
}

// An acceptedEpoch that no ensemble can have come to is refused, and not taken over: the file can be put right.
func TestAcceptedFarAboveCurrentIsRefused(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir, Member: true})
	require.NoError(t, db.SetAccepted(4))
	require.NoError(t, db.SetCurrent(4, ""))
	require.NoError(t, db.Close())
	writeFile(t, dir, "acceptedEpoch", 5+EpochLeap)
	_, err := Open(Options{Dir: dir, Member: true})
	require.ErrorIs(t, err, ErrEpoch)
	require.ErrorContains(t, err, "acceptedEpoch 1048581 is too far above currentEpoch 4: one of the two is damaged")
	writeFile(t, dir, "acceptedEpoch", 4)
	epochs := must.Do(open(t, Options{Dir: dir, Member: true}).Reconcile(proto.MakeZxid(4, 1)))(t)
	require.Equal(t, Epochs{4, 4}, epochs)

	// a new server that an old ensemble was about to bring up to date
	fresh := t.TempDir()
	writeFile(t, fresh, "acceptedEpoch", 5+EpochLeap)
	writeFile(t, fresh, "currentEpoch", 0)
	must.Do(open(t, Options{Dir: fresh, Member: true}).Reconcile(0))(t)
}

func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir})
	first := db.Identity()
	require.NoError(t, db.Close())

	db = open(t, Options{Dir: dir, ServerID: 2, Member: true}) // a standalone server joins an ensemble
	require.EqualValues(t, 2, db.Identity().ServerID)
	require.Equal(t, first.Instance, db.Identity().Instance)
	require.ErrorIs(t, must.Err(Open(Options{Dir: dir, ServerID: 2})), ErrLocked)
	require.NoError(t, db.Close())

	_, err := Open(Options{Dir: dir, ServerID: 3, Member: true})
	require.ErrorIs(t, err, ErrWrongServer)
	require.ErrorContains(t, err, "server 2, this is server 3")
	require.EqualValues(t, 2, open(t, Options{Dir: dir}).Identity().ServerID)
}

// fill makes a meta.db with something of everything and returns its bytes.
func fill(t *testing.T, dir string) []byte {
	t.Helper()
	db := open(t, Options{Dir: dir, ServerID: 1, Member: true})
	for i := range 6 {
		require.NoError(t, db.PutSnapshot(fmt.Sprintf("snapshot.%d", i), proto.Zxid(i), 10, 20))
	}
	require.NoError(t, db.SetAccepted(6))
	require.NoError(t, db.SetCurrent(5, ""))
	require.NoError(t, db.SetConfig(Config{Version: 4, Text: "server.1=a:1:2;3"}))
	require.NoError(t, db.DropSnapshot("snapshot.0"))
	require.NoError(t, db.Close())
	return []byte(readFile(t, dir, FileName))
}

// Whatever byte of meta.db is damaged, the epochs hold, nothing panics, and every value that is read was written
// before.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	good := fill(t, dir)
	all := os.Getenv("WARREN_META_EVERY_BYTE") != ""
	rng := rand.New(rand.NewPCG(1, 1))
	check := func(what string, bad []byte) (rebuilt bool) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), bad, 0o600))
		db, err := Open(Options{Dir: dir, ServerID: 1, Member: true})
		require.NoError(t, err, what)
		require.Equal(t, Epochs{Accepted: 6, Current: 5}, db.Epochs(), what)
		if c, ok := db.Config(); ok {
			require.EqualValues(t, 4, c.Version, what)
			require.Equal(t, "server.1=a:1:2;3", c.Text)
		}
		for _, s := range db.Snapshots() {
			require.Equal(t, fmt.Sprintf("snapshot.%d", s.Zxid), s.Name, what)
			require.EqualValues(t, 10, s.Size, what)
			require.EqualValues(t, 20, s.Checksum, what)
		}
		require.NoError(t, db.SetConfig(Config{Version: 9}), what) // it can be written, too
		require.NoError(t, db.PutSnapshot("snapshot.9", 9, 9, 9), what)
		require.NoError(t, db.Close(), what)
		if db.Rebuilt() != nil {
			require.ErrorIs(t, db.Rebuilt(), ErrDamaged)
			require.Equal(t, string(bad), readFile(t, dir, damagedFile))
		}
		return db.Rebuilt() != nil
	}
	require.False(t, check("undamaged", good))
	rebuilt, tried := 0, 0
	for i := range good {
		if !all && (rng.IntN(8) > 0 || good[i] == 0 && rng.IntN(40) > 0) {
			continue // most of the file is unused
		}
		bad := append([]byte{}, good...)
		bad[i] ^= 1 << rng.IntN(8)
		tried++
		if check(fmt.Sprintf("byte %d", i), bad) {
			rebuilt++
		}
	}
	for n := 0; n < len(good); n += 1021 {
		cut := check(fmt.Sprintf("cut at %d", n), good[:n])
		require.True(t, cut || n > len(good)/2, "cut at %d of %d", n, len(good))
	}
	require.True(t, check("zeros", make([]byte, len(good))))
	require.Greater(t, rebuilt, 5)
	t.Logf("%d of %d flips made meta.db anew", rebuilt, tried)
}

func TestDamagedFileWithoutEpochFiles(t *testing.T) {
	dir := t.TempDir()
	good := fill(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, "acceptedEpoch")))
	require.NoError(t, os.Remove(filepath.Join(dir, "currentEpoch")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), good[:100], 0o600))
	_, err := Open(Options{Dir: dir, ServerID: 1, Member: true})
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "remove meta.db")
	require.Equal(t, string(good[:100]), readFile(t, dir, FileName))

	db := open(t, Options{Dir: dir}) // a standalone server promises nothing
	require.ErrorIs(t, db.Rebuilt(), ErrDamaged)
	require.Equal(t, Epochs{}, db.Epochs())
}

// A process that was killed has left what is not durable yet. What the next one goes by is made durable first.
func TestOpenMakesDurableWhatItReads(t *testing.T) {
	dir, mem := t.TempDir(), vfs.NewMem()
	require.NoError(t, mem.MkdirAll(dir))
	var did []string
	broken := ""
	do := func(what string) error {
		did = append(did, what)
		if what == broken {
			return errors.New("broken")
		}
		return nil
	}
	mem.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncDir {
			return do("directory")
		}
		return nil
	})
	o := Options{Dir: dir, FS: mem, Member: true, sync: func(f *os.File) error {
		require.Equal(t, FileName, filepath.Base(f.Name()))
		return do("meta.db")
	}}
	db := must.Do(Open(o))(t)
	require.NoError(t, db.SetAccepted(1))
	require.NoError(t, db.Close())
	did = nil
	db = must.Do(Open(o))(t)
	require.NoError(t, db.Close())
	require.Equal(t, []string{"directory", "meta.db"}, did[:2])
	for _, broken = range did[:2] {
		require.ErrorContains(t, must.Err(Open(o)), "broken")
	}
}

// The power fails at every operation on the epoch files: earlier promises hold, and the promise in progress is
// there or not.
func TestCrashInEpochFiles(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	for crash := 0; ; crash++ {
		dir := t.TempDir()
		mem := vfs.NewMem()
		require.NoError(t, mem.MkdirAll(dir))
		db, err := Open(Options{Dir: dir, FS: mem, Member: true})
		require.NoError(t, err)
		var at *vfs.Mem
		n := 0
		mem.Hook(func(op vfs.Op) error {
			if op.Kind.Changes() {
				if n++; n == crash {
					at = mem.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: 50})
					return fmt.Errorf("power lost")
				}
			}
			return nil
		})
		said := Epochs{}
		for epoch := int64(1); epoch <= 2 && err == nil; epoch++ {
			if err = db.SetAccepted(epoch); err == nil {
				said.Accepted = epoch
				if err = db.SetCurrent(epoch, ""); err == nil {
					said.Current = epoch
				}
			}
		}
		if at == nil && crash > 0 {
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.Greater(t, crash, 16)
			return
		}
		if err != nil {
			require.Error(t, db.SetAccepted(9), "broken for good")
		} else {
			at = mem
		}
		require.NoError(t, db.Close())
		mem.Hook(nil)
		check := func(file string) { // with meta.db, and with the files alone
			again, err := Open(Options{Dir: dir, FS: at, Member: true})
			require.NoError(t, err, file)
			e := again.Epochs()
			require.GreaterOrEqual(t, e.Accepted, said.Accepted, "crash %d: %s", crash, at)
			require.GreaterOrEqual(t, e.Current, said.Current, "crash %d: %s", crash, at)
			require.LessOrEqual(t, e.Accepted, said.Accepted+1)
			require.LessOrEqual(t, e.Current, e.Accepted)
			require.NoError(t, again.Close())
		}
		alone := filepath.Join(dir, FileName)
		whole := must.ReadFile(t, alone)
		before := at.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: 100})
		check("both")
		at = before
		require.NoError(t, os.Remove(alone))
		check("files alone")
		require.NoError(t, os.WriteFile(alone, whole, 0o600))
	}
}

func TestFullDiskForEpochFiles(t *testing.T) {
	for nth := range 4 {
		dir := t.TempDir()
		mem := vfs.NewMem()
		require.NoError(t, mem.MkdirAll(dir))
		db := must.Do(Open(Options{Dir: dir, FS: mem, Member: true}))(t)
		require.NoError(t, db.SetAccepted(1))
		kind := []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename}[nth]
		mem.FailNth(kind, 0, vfs.ErrNoSpace)
		require.ErrorIs(t, db.SetAccepted(2), vfs.ErrNoSpace)
		require.Equal(t, Epochs{Accepted: 1}, db.Epochs())
		require.NoError(t, db.SetConfig(Config{Version: 1}))
		mem.Hook(nil)
		require.NoError(t, db.SetAccepted(2))
		require.NoError(t, db.Close())
		require.Empty(t, mem.OpenFiles())
		again := must.Do(Open(Options{Dir: dir, FS: mem, Member: true}))(t)
		require.Equal(t, Epochs{Accepted: 2}, again.Epochs())
		require.NoError(t, again.Close())
	}
}

func TestMemFailure(t *testing.T) {
	lost := fmt.Errorf("power lost")
	for _, survives := range []bool{false, true} {
		m := NewMem(1)
		require.NoError(t, m.SetAccepted(1))
		m.FailNext(lost, survives)
		require.ErrorIs(t, m.SetAccepted(2), lost)
		require.ErrorIs(t, m.SetAccepted(3), lost, "unknown for good")
		require.Equal(t, Epochs{Accepted: 1}, m.Epochs())
		m.Crash()
		want := Epochs{Accepted: 1}
		if survives {
			want.Accepted = 2
		}
		require.Equal(t, want, m.Epochs())
	}
	m := NewMem(1)
	m.FailNext(vfs.ErrNoSpace, false)
	require.ErrorIs(t, m.SetAccepted(2), vfs.ErrNoSpace)
	require.NoError(t, m.SetAccepted(2))
	require.NoError(t, m.PutSnapshot("snapshot.1", 1, 1, 1))
	m.LoseSnapshots()
	m.Crash()
	require.Empty(t, m.Snapshots())
}

func FuzzCheckPages(f *testing.F) {
	dir := f.TempDir()
	db := must.Do(Open(Options{Dir: dir}))(f)
	require.NoError(f, db.PutSnapshot("snapshot.1", 1, 1, 1))
	require.NoError(f, db.Close())
	b := must.ReadFile(f, filepath.Join(dir, FileName))
	require.NoError(f, checkPages(b))
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, flips []byte) {
		bad := slices.Clone(b)
		for ; len(flips) >= 4; flips = flips[4:] { // page, offset, value
			at := int(flips[0])%(len(bad)/4096)*4096 + int(flips[1])%8*256 + int(flips[2])
			bad[at] ^= flips[3]
		}
		_ = checkPages(bad)
		if len(flips) > 0 {
			_ = checkPages(flips)
		}
	})
}

// A member with the id 0 differs from a server that was always standalone, and from another member.
func TestServerZero(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir})
	require.Equal(t, NoServer, db.Identity().ServerID)
	require.NoError(t, db.Close())

	db = open(t, Options{Dir: dir, Member: true}) // a standalone server joins an ensemble
	require.Zero(t, db.Identity().ServerID)
	require.NoError(t, db.Close())
	require.ErrorIs(t, must.Err(Open(Options{Dir: dir, ServerID: 3, Member: true})), ErrWrongServer)
	require.Zero(t, open(t, Options{Dir: dir}).Identity().ServerID, "standalone again")
	require.Equal(t, NoServer, must.Do(Peek(vfs.OS(), t.TempDir()))(t).Identity.ServerID)
}

// TestStoredIDs fixes the ids in a record, where 0 is a standalone server.
func TestStoredIDs(t *testing.T) {
	for id, want := range map[int64]int64{int64(NoServer): 0, 0: -1, 1: 1, 255: 255} {
		require.Equal(t, want, storedID(id))
		require.Equal(t, id, storedID(want))
	}
}

// The two formats of the record, byte by byte: every later version must be able to read every record, and a
// server that is not blank writes the record of the time before the mark.
func TestRecordBytes(t *testing.T) {
	rec := record{accepted: 7, current: unset, identity: Identity{ServerID: 3, Instance: "ab", CreatedMs: 9},
		config: Config{Version: 5, Text: "x"}, hasConfig: true}
	const fields = "0000000000000007" + "ffffffffffffffff" + "0000000000000003" + "000000026162" + "0000000000000009" +
		"01" + "0000000000000005" + "0000000178"
	for _, blank := range []bool{false, true} {
		rec.blank = blank
		want := "00000001" + fields
		if blank {
			want = "00000002" + fields
		}
		b := must.Do(hex.DecodeString(want))(t)
		require.Equal(t, seal(b), rec.encode())
		var r record
		require.NoError(t, r.decode(seal(b)))
		require.Equal(t, rec, r)
	}
	b := rec.encode()
	b = b[:len(b)-4]
	b[3] = 3
	var r record
	require.EqualError(t, r.decode(seal(b)), "format 3 of the record is unknown, want 1 or 2")
}

// An accepted record is written back with the same meaning, even if it was encoded differently.
func FuzzRecord(f *testing.F) {
	rec := newRecord(1, time.Now())
	f.Add(rec.encode())
	rec.blank = true
	f.Add(rec.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, seal(bytes.Clone(b))} {
			var r, again record
			if r.decode(b) == nil {
				require.NoError(t, again.decode(r.encode()))
				require.Equal(t, r, again)
			}
		}
	})
}

// Addresses whose checksum does not match are lost, and nothing else is.
func TestDamagedAddresses(t *testing.T) {
	o := Options{Dir: t.TempDir(), ServerID: 3, Member: true}
	db := must.Do(Open(o))(t)
	require.NoError(t, db.SetAddresses(map[string][]string{"zk-1.example": {"10.0.0.1"}}))
	require.NoError(t, db.SetAccepted(5))
	require.NoError(t, db.update(func(tx *bbolt.Tx) error {
		return tx.Bucket(recordBucket).Put(addressesKey, []byte("zk-1.example 10.0.0.1\nnone"))
	}))
	require.NoError(t, db.Close())
	db = must.Do(Open(o))(t)
	defer db.Close()
	require.NoError(t, db.Rebuilt())
	require.Empty(t, db.Addresses())
	require.Equal(t, Epochs{Accepted: 5}, db.Epochs())
}

// TestMarkOutlivesMetaDB: a blank server whose meta.db is damaged or removed is blank still, and one that counts
// again is not, whatever happens to its meta.db.
func TestMarkOutlivesMetaDB(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("no database"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), Member: true, ServerID: 1}
			for _, blank := range []bool{true, false, true} {
				db := must.Do(Open(o))(t)
				require.NoError(t, db.SetAccepted(3))
				require.NoError(t, db.SetBlank(blank))
				require.NoError(t, db.Close())
				require.NoError(t, spoil(filepath.Join(o.Dir, FileName)))
				db = must.Do(Open(o))(t)
				require.Equal(t, name == "damaged", db.Rebuilt() != nil)
				require.Equal(t, blank, db.Blank())
				require.NoError(t, db.Close())
				db = must.Do(Open(o))(t)
				require.Equal(t, blank, db.Blank(), "and after that")
				require.NoError(t, db.Close())
			}
		})
	}
}

// A file that is destroyed while it is open costs the changes from then on, and holds up neither them nor the end.
func TestDestroyedWhileOpen(t *testing.T) {
	for name, destroy := range map[string]func(*os.File, []byte) error{
		"zeros": func(f *os.File, b []byte) error {
			_, err := f.WriteAt(make([]byte, len(b)), 0)
			return err
		},
		"zeros behind the first page": func(f *os.File, b []byte) error {
			_, err := f.WriteAt(make([]byte, len(b)-4096), 4096)
			return err
		},
		"ones": func(f *os.File, b []byte) error {
			_, err := f.WriteAt(bytes.Repeat([]byte{0xff}, len(b)), 0)
			return err
		},
		"cut": func(f *os.File, _ []byte) error { return f.Truncate(5000) },
		"text": func(f *os.File, b []byte) error {
			_, err := f.WriteAt(bytes.Repeat([]byte("x"), len(b)), 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := must.Do(Open(Options{Dir: dir, Member: true}))(t)
			require.NoError(t, db.SetAccepted(3))
			path := filepath.Join(dir, FileName)
			b := must.ReadFile(t, path)
			f := must.Do(os.OpenFile(path, os.O_RDWR, 0))(t)
			require.NoError(t, destroy(f, b))
			require.NoError(t, f.Close())
			done := make(chan struct{})
			go func() {
				defer close(done)
				require.ErrorContains(t, db.SetLineage("l"), "damaged")
				require.Error(t, db.SetAccepted(4))
				require.Error(t, db.PutSnapshot("snapshot.1", 1, 1, 1))
				require.NoError(t, db.Close())
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("it hangs")
			}
			require.Equal(t, "3", readFile(t, dir, "acceptedEpoch"))
			again := open(t, Options{Dir: dir, Member: true})
			require.ErrorIs(t, again.Rebuilt(), ErrDamaged)
			require.EqualValues(t, 3, again.Epochs().Accepted)
		})
	}
}
