package recovery

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func good() *Record {
	return &Record{Format: formatNow, Time: time.Unix(1e9, 0).UTC(), Server: 3, Voters: []int64{1, 2, 3}, Epoch: 1028,
		Current: 4, Last: 0x400000009, Ensemble: "00000000000000ab", Identity: "00000000000000cd", GivenUp: []int64{2},
		Seen: []string{"something"}}
}

func TestRecord(t *testing.T) {
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("/b"))
	require.ErrorIs(t, must.Err(ReadRecord(mem, "/b")), fs.ErrNotExist)
	y := &Recovery{FS: mem, Backup: "/b"}
	require.NoError(t, y.write("/b/"+recordFile, good()))
	r := must.Do(ReadRecord(mem, "/b"))(t)
	require.Equal(t, good(), r)
	require.Empty(t, mem.OpenFiles())

	for name, spoil := range map[string]func(*Record){
		"format":   func(r *Record) { r.Format = 2 },
		"epoch":    func(r *Record) { r.Epoch = 0 },
		"current":  func(r *Record) { r.Current = 1028 },
		"voters":   func(r *Record) { r.Voters = nil },
		"identity": func(r *Record) { r.Identity = "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			spoil(r)
			require.NoError(t, y.write("/b/"+recordFile, r))
			require.ErrorContains(t, must.Err(ReadRecord(mem, "/b")), "/b/"+recordFile)
		})
	}
	require.NoError(t, vfs.WriteFile(mem, "/b/"+recordFile, make([]byte, recordMax+1)))
	require.ErrorIs(t, must.Err(ReadRecord(mem, "/b")), vfs.ErrTooLarge)
}

func FuzzRecord(f *testing.F) {
	text := must.Do(json.Marshal(good()))(f)
	f.Add(text)
	f.Add([]byte(`{"format":1,"epoch":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Record
		if parseRecord(text, &r) == nil {
			require.Positive(t, r.Epoch)
			require.NotEmpty(t, r.Voters)
		}
	})
}

// The log of recoveries grows by lines, and stops growing.
func TestLogOfRecoveries(t *testing.T) {
	mem := vfs.NewMem()
	y := &Recovery{FS: mem, SnapDir: "/d/version-2", Now: func() time.Time { return time.Unix(1e9, 0) }}
	require.NoError(t, errors.Join(y.note("one"), y.note("two")))
	read := func() int64 {
		info := must.Do(mem.Stat(filepath.Join("/d", LogFile)))(t)
		return info.Size()
	}
	require.Equal(t, int64(2*len("2001-09-09T01:46:40Z one\n")), read())
	for range 5 {
		require.NoError(t, y.note(strings.Repeat("x", logMax/2)))
	}
	require.Less(t, read(), int64(2*logMax))
}
