package wal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestScan(t *testing.T) {
	m := newMem(t)
	whole := logFile(batch(3, 5, 9))
	for name, c := range map[string]struct {
		file []byte
		want FileSummary
		err  error
	}{
		"whole": {whole, FileSummary{3, 3, 5, int64(len(whole)), int64(len(whole)), false, 0}, nil},
		"padded": {join(whole, pad(50)),
			FileSummary{3, 3, 5, int64(len(whole) + 50), int64(len(whole)), false, 0}, nil},
		"torn": {join(whole, []byte{0, 0, 0, 0, 7}),
			FileSummary{3, 3, 5, int64(len(whole) + 5), int64(len(whole)), true, 0}, nil},
		"gap": {logFile(batch(3, 3, 0), batch(9, 9, 0)),
			FileSummary{2, 3, 9, headerSize + 2*recordMin, headerSize + 2*recordMin, false, 0}, nil},
		"damaged": {with(whole, len(whole)-2, 0),
			FileSummary{2, 3, 4, int64(len(whole)), headerSize + 2*(recordMin+9), false, 0}, ErrCorrupt},
		"empty": {nil, FileSummary{}, ErrCorrupt},
	} {
		writeFile(t, m, "any", c.file)
		records := 0
		got, err := Scan(m, dir+"/any", func(r *Record) error { records++; return nil })
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.want.Records, records)
	}
	_, err := Scan(m, dir+"/any2", nil)
	require.True(t, isNotExist(err))
	require.Empty(t, m.OpenFiles())
}

// The header of the last file may be missing after a crash. Of any other file that is damage.
func TestScanLastWithoutHeader(t *testing.T) {
	m := newMem(t)
	for _, size := range []int64{0, 1, headerSize - 1, headerSize} {
		writeFile(t, m, "log.3", fileHeader()[:size])
		got := must.Do(ScanLast(m, dir+"/log.3", 1, nil))(t)
		want := FileSummary{Size: size, IsTorn: size > 0 && size < headerSize}
		if size == headerSize {
			want.End = headerSize
		}
		require.Equal(t, want, got)
	}
}

func TestNeeded(t *testing.T) {
	m := newMem(t)
	for _, name := range []string{"log.9", "log.a1", "log.20", "log.20.bak", "snapshot.1"} {
		writeFile(t, m, name, nil)
	}
	names := must.Do(Names(m, dir))(t)
	require.Equal(t, []string{"log.9", "log.20", "log.a1"}, names)
	for from, first := range map[proto.Zxid]int{1: 0, 9: 0, 0x1f: 0, 0x20: 1, 0xa0: 1, 0xa1: 2, 0xffff: 2} {
		require.Equal(t, names[first:], Needed(names, from), "%v", from)
	}
	require.Empty(t, Needed(nil, 1))
}
