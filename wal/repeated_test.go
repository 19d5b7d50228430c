package wal

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// A ZooKeeper follower that has lost its leader while it was synchronized logs txns again. They are replayed once, and
// the log goes on as any other.
func TestRepeatedTxns(t *testing.T) {
	e2 := proto.MakeZxid(2, 0)
	for name, c := range map[string]struct {
		files map[string][]byte
		from  proto.Zxid
		last  proto.Zxid // of the log, counted from 1 in epoch 2
		words int
	}{
		"in one file": {map[string][]byte{
			"log.200000001": logFile(batch(e2+1, e2+8, 20), batch(e2+1, e2+12, 20))}, e2 + 1, 12, 1},
		"from the file before": {map[string][]byte{"log.200000001": logFile(batch(e2+1, e2+3, 20)),
			"log.200000004": logFile(batch(e2+4, e2+8, 20), batch(e2+2, e2+9, 20),
				batch(e2+3, e2+9, 20))}, e2 + 1, 9, 1},
		"in part": {map[string][]byte{"log.200000001": logFile(batch(e2+1, e2+8, 20), batch(e2+3, e2+5, 20),
			batch(e2+3, e2+8, 20))}, e2 + 1, 8, 1},
		"that the snapshot has": {map[string][]byte{
			"log.200000004": logFile(batch(e2+4, e2+8, 20), batch(e2+2, e2+9, 20))}, e2 + 6, 9, 1},
		"in a file before": {map[string][]byte{
			"log.200000001": logFile(batch(e2+1, e2+3, 20), batch(e2+1, e2+3, 20)),
			"log.200000004": logFile(batch(e2+4, e2+8, 20))}, e2 + 1, 8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMem(t)
			for name, b := range c.files {
				writeFile(t, m, name, b)
			}
			report := must.Do(Verify(Options{FS: m, Dir: dir}, c.from, nil))(t)
			require.Len(t, report.Repeated, c.words)
			require.Empty(t, report.Repairs)
			l, zxids := open(t, Options{FS: m, Dir: dir}, c.from)
			var want []proto.Zxid
			for z := c.from; z <= e2+c.last; z++ {
				want = append(want, z)
			}
			require.Equal(t, want, zxids)
			require.Equal(t, e2+c.last, l.LastZxid())
			next := e2 + c.last + 1
			require.NoError(t, l.Append(batch(next, next, 20), next, next))
			require.NoError(t, l.Sync())
			it := must.Do(l.Records(c.from))(t)
			for _, z := range append(want, next) {
				require.Equal(t, z, must.Do(it.Next())(t).Zxid)
			}
			it.Close()
			p, ok := locate(t, l, e2+7)
			require.True(t, ok)
			require.Equal(t, e2+7, p.At)
			require.NoError(t, l.Truncate(e2+7))
			require.NoError(t, l.Close())
			l, zxids = open(t, Options{FS: m, Dir: dir}, c.from)
			require.Equal(t, want[:int(e2+7-c.from)+1], zxids)
			require.NoError(t, l.Close())
		})
	}
}

// A record that only looks like a repeated one is damage, as before.
func TestRepeatedTxnsThatDiffer(t *testing.T) {
	e2 := proto.MakeZxid(2, 0)
	for name, c := range map[string]struct {
		file   []byte
		reason string
	}{
		"another txn": {logFile(batch(e2+1, e2+8, 20), batch(e2+1, e2+3, 20), batch(e2+4, e2+9, 21)),
			"differs from it"},
		"another txn at the end of the run": {logFile(batch(e2+1, e2+8, 20), batch(e2+7, e2+7, 20),
			batch(e2+8, e2+8, 21)), "differs from it"},
		"another epoch": {logFile(batch(e2+1, e2+8, 20), batch(7, 9, 20)), "the record comes after txn"},
		"of no first one": {logFile(batch(e2+1, e2+8, 20), batch(e2, e2+9, 20)),
			"the record comes after a later txn"},
		"a file that jumps": {logFile(batch(e2+1, e2+300, 0), func() (b []byte) {
			for z := e2 + 299; z > e2+1; z -= 2 {
				b = append(b, batch(z, z, 0)...)
			}
			return b
		}()), "go back more than 100 times"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMem(t)
			writeFile(t, m, fileName(e2+1), c.file)
			_, _, err := tryOpen(t, Options{FS: m, Dir: dir}, 1)
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, c.reason)
		})
	}
}

// The file was written by a follower of ZooKeeper 3.8 whose leader, a ZooKeeper server too, went away twice.
func TestRepeatedByZooKeeper(t *testing.T) {
	const name = "log.100000ab7"
	m := newMem(t)
	file := must.ReadFile(t, "testdata/repeated/"+name)
	writeFile(t, m, name, file)
	first := proto.MakeZxid(1, 0xab7)
	var zxids []proto.Zxid
	report, err := Verify(Options{FS: m, Dir: dir}, first, func(r *Record) error {
		zxids = append(zxids, r.Zxid)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, zxids, 14)
	require.Equal(t, []proto.Zxid{first, first + 13}, []proto.Zxid{zxids[0], zxids[13]})
	require.Equal(t, []string{dir + "/" + name + " repeats 12 txns, which do not count"}, report.Repeated)
	sum := must.Do(Scan(m, filepath.Join(dir, name), func(*Record) error { return nil }))(t)
	require.Equal(t, 12, sum.Repeated)
	require.Equal(t, 26, sum.Records)
	require.Equal(t, first+13, sum.Last)
}
