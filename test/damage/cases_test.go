package damage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// damage is one thing that happens to the files of a server.
type damage struct {
	name string
	do   func(t *testing.T, b *bench, dir string)
}

// file names one of the files, in the words of the table.
type file struct {
	role string
	name func(b *bench) string
}

func (b *bench) snap(i int) string { return b.snaps[(i+len(b.snaps))%len(b.snaps)] }
func (b *bench) log(i int) string  { return b.logs[(i+len(b.logs))%len(b.logs)] }

func named(name string) file { return file{name, func(*bench) string { return name }} }

func snap(role string, i int) file { return file{role, func(b *bench) string { return b.snap(i) }} }

func log(role string, i int) file { return file{role, func(b *bench) string { return b.log(i) }} }

var (
	newest, second, oldest = snap("newest snapshot", -1), snap("second snapshot", -2), snap("first snapshot", 0)
	lastLog, secondLog     = log("last log", -1), log("second last log", -2)
	metaDB                 = named("meta.db")
	accepted, current      = named("acceptedEpoch"), named("currentEpoch")
)

// words puts the words of the table in the place of names and numbers.
func (b *bench) words(s string) string {
	s = strings.ReplaceAll(s, version2(b.root, damaged)+"/", "")
	return numbers.ReplaceAllString(strings.ReplaceAll(s, b.root, ""), "N")
}

// edit changes the bytes of a file.
func edit(change func(content []byte) []byte) func(*testing.T, *bench, string) {
	return func(t *testing.T, _ *bench, path string) {
		text := must.ReadFile(t, path)
		require.NoError(t, os.WriteFile(path, edited(filepath.Base(path), text, change), 0o600))
	}
}

// change is what may happen to any file.
type change struct {
	name string
	do   func(t *testing.T, b *bench, path string)
}

// changes are those of its bytes, and of the file as a whole.
func changes() (list []change) {
	for _, e := range Edits {
		list = append(list, change{e.Name, edit(e.change)})
	}
	return append(list, wholes...)
}

var wholes = []change{
	{"removed", func(t *testing.T, _ *bench, path string) { require.NoError(t, os.Remove(path)) }},
	{"as it was earlier", func(t *testing.T, b *bench, path string) {
		from := filepath.Join(version2(b.earlier, damaged), filepath.Base(path))
		if _, err := os.Stat(from); err != nil { // it did not exist
			require.NoError(t, os.Remove(path))
			return
		}
		copyFile(t, from, path)
	}},
	{"of another server", func(t *testing.T, b *bench, path string) {
		from := filepath.Join(version2(b.base, 1), filepath.Base(path))
		if _, err := os.Stat(from); err != nil {
			require.NoError(t, os.Remove(path))
			return
		}
		copyFile(t, from, path)
	}},
}

func copyFile(t *testing.T, from, to string) {
	require.NoError(t, os.WriteFile(to, must.ReadFile(t, from), 0o600))
}

// all is the list.
func all() (list []damage) {
	for _, f := range []file{newest, second, lastLog, secondLog, metaDB, accepted, current} {
		for _, c := range changes() {
			list = append(list, damage{f.role + ": " + c.name, func(t *testing.T, b *bench, dir string) {
				c.do(t, b, filepath.Join(dir, f.name(b)))
			}})
		}
	}
	list = append(list, misnamed()...)
	list = append(list, forged()...)
	list = append(list, logs()...)
	list = append(list, epochs()...)
	return append(list, directories()...)
}

// misnamed are snapshots under names that are not theirs.
func misnamed() (list []damage) {
	names := []struct {
		role string
		zxid func(b *bench, own proto.Zxid) proto.Zxid
	}{
		{"the txn after its own", func(_ *bench, own proto.Zxid) proto.Zxid { return own + 1 }},
		{"the last txn", func(b *bench, _ proto.Zxid) proto.Zxid { return b.last }},
		{"a later txn than the last", func(b *bench, _ proto.Zxid) proto.Zxid { return b.last + 500 }},
		{"the next epoch", func(b *bench, _ proto.Zxid) proto.Zxid { return proto.MakeZxid(b.last.Epoch()+1, 0) }},
		{"a txn of the next epoch", func(b *bench, _ proto.Zxid) proto.Zxid {
			return proto.MakeZxid(b.last.Epoch()+1, 5)
		}},
		{"the last txn of all epochs", func(*bench, proto.Zxid) proto.Zxid { return 0x7fffffff_ffffffff }},
		{"an earlier txn", func(_ *bench, own proto.Zxid) proto.Zxid { return max(own-3, 1) }},
	}
	for _, f := range []file{newest, second, oldest} {
		for _, n := range names {
			for _, how := range []string{"renamed", "copied"} {
				list = append(list, damage{fmt.Sprintf("%s: %s to %s", f.role, how, n.role),
					func(t *testing.T, b *bench, dir string) {
						own, _, _ := snapshot.ParseName(f.name(b))
						from := filepath.Join(dir, f.name(b))
						to := filepath.Join(dir, snapshot.FileName(n.zxid(b, own), snapshot.Plain))
						if how == "copied" {
							copyFile(t, from, to)
						} else {
							require.NoError(t, os.Rename(from, to))
						}
					}})
			}
		}
	}
	for _, pair := range [][2]file{{oldest, newest}, {second, newest}, {newest, second}, {oldest, second}} {
		list = append(list, damage{pair[1].role + ": overwritten by the " + pair[0].role,
			func(t *testing.T, b *bench, dir string) {
				copyFile(t, filepath.Join(dir, pair[0].name(b)), filepath.Join(dir, pair[1].name(b)))
			}})
	}
	list = append(list, damage{"newest and second snapshot: exchanged", func(t *testing.T, b *bench, dir string) {
		exchange(t, filepath.Join(dir, b.snap(-1)), filepath.Join(dir, b.snap(-2)))
	}})
	return list
}

func exchange(t *testing.T, a, b string) {
	require.NoError(t, os.Rename(a, a+".x"))
	require.NoError(t, os.Rename(b, a))
	require.NoError(t, os.Rename(a+".x", b))
}

// source writes a state under the claims of another one.
type source struct {
	*datatree.Walker
	last     proto.Zxid
	digest   int64
	ensemble uint64
}

func (s source) Next(b []byte) ([]byte, bool) { return s.Walker.Next(b, 1<<20) }
func (s source) End() (proto.Zxid, int64)     { return s.last, s.digest }

// forge rewrites a snapshot with seals that hold. change may change the tree, and what the file says of it.
func forge(f file, change func(b *bench, state *datatree.State, s *source)) func(*testing.T, *bench, string) {
	return func(t *testing.T, b *bench, dir string) {
		path := filepath.Join(dir, f.name(b))
		zxid, _, _ := snapshot.ParseName(f.name(b))
		loader := datatree.NewLoader(datatree.Config{})
		trailer := must.Do(snapshot.Load(vfs.OS(), path, loader))(t)
		state := must.Do(loader.Done(zxid))(t)
		s := source{last: trailer.DigestZxid, digest: trailer.Digest, ensemble: trailer.Ensemble}
		change(b, state, &s)
		s.Walker = state.NewWalker()
		defer s.Walker.Close()
		store, err := snapshot.NewStore(snapshot.Options{FS: vfs.OS(), Dir: dir,
			Ensemble: func() uint64 { return s.ensemble }})
		require.NoError(t, err)
		must.Do(store.Write(zxid, s))(t)
	}
}

// lose takes a znode out of a tree, without a trace in the zxid.
func lose(state *datatree.State) {
	h := proto.TxnHeader{Zxid: state.LastZxid(), Type: proto.OpDelete}
	body := proto.DeleteTxn{Path: []byte("/phase-0/n7")}
	payload := body.AppendTo(h.AppendTo(nil))
	if _, _, err := state.Apply(payload, nil, nil, false); err != nil {
		panic(err)
	}
}

// forged are snapshots whose seals hold and whose content is wrong.
func forged() (list []damage) {
	for _, f := range []file{newest, second} {
		list = append(list,
			damage{f.role + ": a znode less, digest as before", forge(f,
				func(_ *bench, state *datatree.State, _ *source) { lose(state) })},
			damage{f.role + ": a znode less, and its digest", forge(f,
				func(_ *bench, state *datatree.State, s *source) { lose(state); s.digest = state.Digest() })},
			damage{f.role + ": of another ensemble", forge(f,
				func(_ *bench, _ *datatree.State, s *source) { s.ensemble++ })},
			damage{f.role + ": another digest", forge(f,
				func(_ *bench, _ *datatree.State, s *source) { s.digest++ })},
			damage{f.role + ": ends a txn later", forge(f,
				func(_ *bench, _ *datatree.State, s *source) { s.last++ })},
			damage{f.role + ": ends after the log", forge(f,
				func(b *bench, _ *datatree.State, s *source) { s.last = b.last + 7 })},
			damage{f.role + ": without the sections at its end", func(t *testing.T, b *bench, dir string) {
				beheaded(t, filepath.Join(dir, f.name(b)), false)
			}},
			damage{f.role + ": without the sections at its end, and without an ensemble",
				func(t *testing.T, b *bench, dir string) { beheaded(t, filepath.Join(dir, f.name(b)), true) }},
		)
	}
	return append(list, damage{"first snapshot: without sections, as a later txn than the last",
		func(t *testing.T, b *bench, dir string) {
			to := filepath.Join(dir, snapshot.FileName(b.last+500, snapshot.Plain))
			copyFile(t, filepath.Join(dir, b.snap(0)), to)
			beheaded(t, to, false)
		}})
}

// beheaded takes the sections after seal 1 from a snapshot: so end files of releases before 3.6.
func beheaded(t *testing.T, path string, anonymous bool) {
	text := must.ReadFile(t, path)
	const sections = 20 + 13 + 8 + 13
	body := text[:len(text)-sections-13]
	if anonymous {
		copy(body[8:16], bytes.Repeat([]byte{0xff}, 8))
	}
	out := binary.BigEndian.AppendUint64(slices.Clone(body), uint64(adler32.Checksum(body)))
	out = append(out, 0, 0, 0, 1, '/')
	require.NoError(t, os.WriteFile(path, out, 0o600))
}

// logs are logs under other names, and logs that end early where a record ends.
func logs() []damage {
	rename := func(f file, by proto.Zxid) func(*testing.T, *bench, string) {
		return func(t *testing.T, b *bench, dir string) {
			first, _, _ := wal.FileZxid(f.name(b))
			require.NoError(t, os.Rename(filepath.Join(dir, f.name(b)),
				filepath.Join(dir, fmt.Sprintf("log.%x", uint64(first+by)))))
		}
	}
	return []damage{
		{"last log: renamed to a later txn", rename(lastLog, 10)},
		{"last log: renamed to a txn after its end", rename(lastLog, 1000)},
		{"last log: renamed to an earlier txn", rename(lastLog, ^proto.Zxid(1))},
		{"second last log: renamed to a later txn", rename(secondLog, 10)},
		{"last log: overwritten by the second last", func(t *testing.T, b *bench, dir string) {
			copyFile(t, filepath.Join(dir, b.log(-2)), filepath.Join(dir, b.log(-1)))
		}},
		{"second last log: overwritten by the last", func(t *testing.T, b *bench, dir string) {
			copyFile(t, filepath.Join(dir, b.log(-1)), filepath.Join(dir, b.log(-2)))
		}},
		{"last two logs: exchanged", func(t *testing.T, b *bench, dir string) {
			exchange(t, filepath.Join(dir, b.log(-1)), filepath.Join(dir, b.log(-2)))
		}},
		{"last log: a copy behind it", func(t *testing.T, b *bench, dir string) {
			copyFile(t, filepath.Join(dir, b.log(-1)), filepath.Join(dir, fmt.Sprintf("log.%x", uint64(b.last+1))))
		}},
		{"last log: ends after its first record", shorten(lastLog, 1)},
		{"last log: ends after five records", shorten(lastLog, 5)},
		{"second last log: ends after five records", shorten(secondLog, 5)},
		{"last log: a record less in the middle", func(t *testing.T, b *bench, dir string) {
			path := filepath.Join(dir, b.log(-1))
			ends := records(t, path)
			text := must.ReadFile(t, path)
			text = slices.Delete(text, int(ends[3]), int(ends[4]))
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}},
		{"last log: a record twice", func(t *testing.T, b *bench, dir string) {
			path := filepath.Join(dir, b.log(-1))
			ends := records(t, path)
			text := must.ReadFile(t, path)
			text = slices.Insert(text, int(ends[4]), text[ends[3]:ends[4]]...)
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}},
	}
}

// records returns where the records of a log end.
func records(t *testing.T, path string) (ends []int64) {
	_, err := wal.Scan(vfs.OS(), path, func(r *wal.Record) error {
		if r.Offset > 16 {
			ends = append(ends, r.Offset)
		}
		return nil
	})
	require.NoError(t, err)
	return ends
}

func shorten(f file, n int) func(*testing.T, *bench, string) {
	return func(t *testing.T, b *bench, dir string) {
		path := filepath.Join(dir, f.name(b))
		require.NoError(t, os.Truncate(path, records(t, path)[n-1]))
	}
}

// epochs are epoch files with numbers that are not theirs, and what is left without meta.db.
func epochs() (list []damage) {
	for _, f := range []file{accepted, current} {
		for _, text := range []string{"0", "-1", "1", "1000", "999999999999999999999", "2\n", " 2", "two"} {
			list = append(list, damage{fmt.Sprintf("%s: %q", f.role, text), func(t *testing.T, b *bench, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, f.name(b)), []byte(text), 0o600))
			}})
			list = append(list, damage{fmt.Sprintf("meta.db gone, %s: %q", f.role, text),
				func(t *testing.T, b *bench, dir string) {
					require.NoError(t, os.WriteFile(filepath.Join(dir, f.name(b)), []byte(text), 0o600))
					require.NoError(t, os.Remove(filepath.Join(dir, "meta.db")))
				}})
		}
	}
	gone := func(names ...string) func(*testing.T, *bench, string) {
		return func(t *testing.T, _ *bench, dir string) {
			for _, name := range names {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
	}
	return append(list,
		damage{"epoch files: removed", gone("acceptedEpoch", "currentEpoch")},
		damage{"meta.db and epoch files: removed", gone("meta.db", "acceptedEpoch", "currentEpoch")},
		damage{"meta.db zeroed, epoch files removed", func(t *testing.T, b *bench, dir string) {
			edit(zero(0, 1, 1<<30))(t, b, filepath.Join(dir, "meta.db"))
			gone("acceptedEpoch", "currentEpoch")(t, b, dir)
		}},
		damage{"epoch files: exchanged", func(t *testing.T, _ *bench, dir string) {
			exchange(t, filepath.Join(dir, "acceptedEpoch"), filepath.Join(dir, "currentEpoch"))
		}})
}

// directories are changes of many files at once.
func directories() []damage {
	remove := func(prefix string, keep func(b *bench, name string) bool) func(*testing.T, *bench, string) {
		return func(t *testing.T, b *bench, dir string) {
			entries := must.ReadDir(t, dir)
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), prefix) && !keep(b, e.Name()) {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, e.Name())))
				}
			}
		}
	}
	none := func(*bench, string) bool { return false }
	replace := func(from func(b *bench) string, keep ...string) func(*testing.T, *bench, string) {
		return func(t *testing.T, b *bench, dir string) {
			remove("", func(_ *bench, name string) bool { return slices.Contains(keep, name) })(t, b, dir)
			entries := must.ReadDir(t, from(b))
			for _, e := range entries {
				if !slices.Contains(keep, e.Name()) {
					copyFile(t, filepath.Join(from(b), e.Name()), filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	past := func(b *bench) string { return version2(b.earlier, damaged) }
	foreign := func(b *bench) string { return version2(b.base, 1) }
	return []damage{
		{"all snapshots: removed", remove("snapshot.", none)},
		{"all logs: removed", remove("log.", none)},
		{"snapshots and logs: removed", func(t *testing.T, b *bench, dir string) {
			remove("snapshot.", none)(t, b, dir)
			remove("log.", none)(t, b, dir)
		}},
		{"all snapshots but the first: removed",
			remove("snapshot.", func(b *bench, name string) bool { return name == b.snap(0) })},
		{"all snapshots but the newest: removed",
			remove("snapshot.", func(b *bench, name string) bool { return name == b.snap(-1) })},
		{"all logs but the last: removed",
			remove("log.", func(b *bench, name string) bool { return name == b.log(-1) })},
		{"all logs but the first: removed",
			remove("log.", func(b *bench, name string) bool { return name == b.log(0) })},
		{"the directory: removed", remove("", none)},
		{"the directory: as it was earlier", replace(past)},
		{"the directory: as it was earlier, but for meta.db", replace(past, "meta.db")},
		{"the directory: as it was earlier, but for the epochs",
			replace(past, "meta.db", "acceptedEpoch", "currentEpoch")},
		{"the directory: of another server", replace(foreign)},
		{"the directory: of another server, but for meta.db", replace(foreign, "meta.db")},
		{"meta.db and second last log: removed", func(t *testing.T, b *bench, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "meta.db")))
			require.NoError(t, os.Remove(filepath.Join(dir, b.log(-2))))
		}},
		{"meta.db and second last log: removed, newest snapshot cut", func(t *testing.T, b *bench, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "meta.db")))
			require.NoError(t, os.Remove(filepath.Join(dir, b.log(-2))))
			edit(cut(func(n int) int { return n - 1 }))(t, b, filepath.Join(dir, b.snap(-1)))
		}},
		{"second last log: removed, newest snapshot cut to a byte, meta.db as it was earlier",
			func(t *testing.T, b *bench, dir string) {
				require.NoError(t, os.Remove(filepath.Join(dir, b.log(-2))))
				edit(cut(func(int) int { return 1 }))(t, b, filepath.Join(dir, b.snap(-1)))
				copyFile(t, filepath.Join(version2(b.earlier, damaged), "meta.db"), filepath.Join(dir, "meta.db"))
			}},
		{"all snapshots: zeroed", func(t *testing.T, b *bench, dir string) {
			for _, name := range b.snaps {
				edit(zero(0, 1, 1<<30))(t, b, filepath.Join(dir, name))
			}
		}},
		{"all snapshots: a byte flipped", func(t *testing.T, b *bench, dir string) {
			for _, name := range b.snaps {
				edit(flip(1, 2))(t, b, filepath.Join(dir, name))
			}
		}},
		{"all logs: a byte flipped", func(t *testing.T, b *bench, dir string) {
			for _, name := range b.logs {
				edit(flip(1, 2))(t, b, filepath.Join(dir, name))
			}
		}},
		{"all snapshots: a znode less, digests as before", func(t *testing.T, b *bench, dir string) {
			for i := 1; i < len(b.snaps); i++ {
				forge(snap("", i), func(_ *bench, s *datatree.State, _ *source) { lose(s) })(t, b, dir)
			}
		}},
	}
}
