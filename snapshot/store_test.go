package snapshot

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestWriteThenLoad(t *testing.T) {
	for _, c := range compressions {
		for _, n := range []int{0, 1, 5, 1000, 20000} {
			t.Run(fmt.Sprintf("%s/%d", c.testName(), n), func(t *testing.T) {
				fs := newDir(t)
				s := newStore(t, fs, c)
				want := sample(n)
				m := must.Do(s.Write(0x500000005, want.source()))(t)
				require.Equal(t, FileName(0x500000005, c), m.Name)
				require.True(t, m.Verified)
				require.EqualValues(t, len(contents(t, fs, m.Name)), m.Size)

				var got state
				trailer := must.Do(s.Load(m, &got))(t)
				want.same(t, &got)
				require.Equal(t, Trailer{HasDigest: true, DigestZxid: want.lastZxid, DigestVersion: 2,
					Digest: want.digest, HasLastZxid: true, LastZxid: want.lastZxid}, trailer)
				require.Equal(t, []string{m.Name}, listed(t, fs))
			})
		}
	}
}

// With chunks of any size, records that straddle chunks are the same and seals hold.
func TestLoadInChunksOfAnySize(t *testing.T) {
	fs := newDir(t)
	want := sample(60)
	want.nodes[10].data = make([]byte, 3000)
	for _, c := range compressions {
		m := must.Do(newStore(t, fs, c).Write(1, want.source()))(t)
		for chunk := 1; chunk < 700; chunk += 1 + chunk/20 {
			var got state
			require.NoError(t, must.Err2(load(fs, dir+"/"+m.Name, &got, chunk)), "chunk %d", chunk)
			want.same(t, &got)
		}
	}
}

func TestListNewestFirst(t *testing.T) {
	fs := newDir(t)
	good := func(b []byte) []byte { return append(b, terminator...) }
	pad := []byte("0123456789")
	put(t, fs, "snapshot.5", good(pad))
	put(t, fs, "snapshot.1f", good(pad))
	put(t, fs, "snapshot.1F.bak", good(pad)) // a copy: Java takes it for a snapshot too
	put(t, fs, "snapshot.20.gz", append([]byte{0x1f, 0x8b}, pad...))
	put(t, fs, "snapshot.20.SNAPPY", append(append([]byte{}, snappyMagic...), pad...))
	put(t, fs, "snapshot.7fffffffffffffff", good(pad))
	for name, b := range map[string][]byte{
		"snapshot.ffffffffffffffff": good(pad), // zxid -1: possibly lost data
		"snapshot.8000000000000000": good(pad),
		"snapshot.-5":               good(pad),
		"snapshot.0x5":              good(pad),
		"snapshot.xyz":              good(pad),
		"snapshot.":                 good(pad),
		"snapshot":                  good(pad),
		"snapshot.40.tmp":           good(pad),
		"snapshot.40.gz.tmp":        append([]byte{0x1f, 0x8b}, pad...),
		"snapshot.41":               pad,
		"snapshot.42":               terminator,
		"snapshot.43":               nil,
		"snapshot.44.gz":            pad,
		"snapshot.45.snappy":        snappyMagic[:7],
		"log.5":                     good(pad),
	} {
		put(t, fs, name, b)
	}
	metas := must.Do(newStore(t, fs, Plain).List())(t)
	var got []string
	for _, m := range metas {
		got = append(got, m.Zxid.String()+" "+m.Name)
	}
	require.Equal(t, []string{
		"0x7fffffffffffffff snapshot.7fffffffffffffff",
		"0x20 snapshot.20.SNAPPY",
		"0x20 snapshot.20.gz",
		"0x1f snapshot.1F.bak",
		"0x1f snapshot.1f",
		"0x5 snapshot.5",
	}, got)
}

func TestNames(t *testing.T) {
	require.Equal(t, "snapshot.100000001", FileName(0x100000001, Plain))
	require.Equal(t, "snapshot.0.gz", FileName(0, Gzip))
	for name, want := range map[string]proto.Zxid{"snapshot.1f.gz": 0x1f, "snapshot.0000A": 0xa, "snapshot.0": 0} {
		got, _, ok := ParseName(name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, c := range compressions {
		z, got, ok := ParseName(FileName(0xabc, c))
		require.True(t, ok)
		require.Equal(t, c, got)
		require.EqualValues(t, 0xabc, z)
	}
	_, _, ok := ParseName("tmp.snapshot.99")
	require.False(t, ok)
}

func TestNewStoreRemovesOnlyItsOwnLeftovers(t *testing.T) {
	fs := newDir(t)
	for _, name := range []string{"tmp.snapshot.5", "tmp.snapshot.6.gz", "tmp.other", "snapshot.7.tmp", "snapshot.8"} {
		put(t, fs, name, []byte("x"))
	}
	newStore(t, fs, Plain)
	require.Equal(t, []string{"snapshot.7.tmp", "snapshot.8", "tmp.other"}, listed(t, fs))
}

func TestOptions(t *testing.T) {
	_, err := NewStore(Options{FS: newDir(t), Dir: dir, Compression: "zip"})
	require.ErrorContains(t, err, `unknown compression "zip"`)
	require.ErrorContains(t, must.Err(NewStore(Options{FS: newDir(t), Dir: "/nowhere"})), "/nowhere")
}

// Without the last section a file is what a server before 3.9 writes.
func TestWriteWithoutLastZxid(t *testing.T) {
	for _, c := range compressions {
		t.Run(c.testName(), func(t *testing.T) {
			fs := newDir(t)
			want := sample(50)
			whole := must.Do(newStore(t, fs, Plain).Write(6, want.source()))(t)
			s := must.Do(NewStore(Options{FS: fs, Dir: dir, Compression: c, OmitLastZxid: true}))(t)
			m := must.Do(s.Write(7, want.source()))(t)
			var got state
			trailer := must.Do(s.Load(m, &got))(t)
			want.same(t, &got)
			require.Equal(t,
				Trailer{HasDigest: true, DigestZxid: want.lastZxid, DigestVersion: 2, Digest: want.digest}, trailer)
			if b := contents(t, fs, whole.Name); c == Plain {
				require.Equal(t, b[:len(b)-lastZxidSize], contents(t, fs, m.Name))
			}
		})
	}
}
