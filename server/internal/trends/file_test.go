package trends

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// a ring of ten minutes, and the time at which it ends.
func filled() (*Ring, int64) {
	r, at := New([]Fold{Mean, Most}), int64(1_700_000_000_000)
	for i := range 400 {
		r.Add(at+int64(i)*2000, []float32{float32(i), unknown})
	}
	for i := range eventsKept + 3 {
		r.Tell(Event{At: at + int64(i), Kind: "start", Text: fmt.Sprint("event ", i)})
	}
	return r, at + 800_000
}

// What was kept is there after a restart, and goes on where it was; figures are found by their names.
func TestRingSurvivesARestart(t *testing.T) {
	r, now := filled()
	file := r.AppendTo(nil, []string{"reads", "writes"}, "1.2.3")
	require.Less(t, len(file), FileMax)
	again := New([]Fold{Mean, Most, Mean})
	require.Equal(t, "1.2.3", must.Do(again.Load(file, []string{"new", "reads", "writes"}, now))(t))
	for _, from := range []int64{0, now - 300_000, now - 600_000} {
		before, after := r.Since(from), again.Since(from)
		require.Equal(t, before.Every, after.Every)
		require.Equal(t, before.Times, after.Times)
		require.Equal(t, before.Values[0], after.Values[1])
		require.True(t, math.IsNaN(float64(after.Values[0][0])))
		require.True(t, math.IsNaN(float64(after.Values[2][0])))
	}
	require.Equal(t, r.Events(), again.Events())

	// The clock has gone back: slots stay in their order.
	last := again.Since(0).Times
	end := last[len(last)-1]
	again.Add(end-100_000, []float32{1, 1, 1})
	again.Add(end, []float32{1, 1, 1})
	again.Add(end+300_000, []float32{1, 1, 1})
	again.Add(end+600_000, []float32{1, 1, 1})
	v := again.Since(now - 300_000)
	for i := 1; i < len(v.Times); i++ {
		require.Less(t, v.Times[i-1], v.Times[i])
	}
}

// A full ring has a file that can be loaded.
func TestFileIsBounded(t *testing.T) {
	folds, names := make([]Fold, Wide), make([]string, Wide)
	for i := range names {
		names[i] = fmt.Sprint("the name of a figure, ", i)
	}
	r, figures, at := New(folds), make([]float32, Wide), int64(1_700_000_000_000)
	for range 26 * 3600 / 2 {
		at += 2000
		r.Add(at, figures)
	}
	for range eventsKept {
		r.Tell(Event{At: at, Kind: "configuration", Text: string(make([]byte, textMax))})
	}
	file := r.AppendTo(nil, names, "version")
	require.Less(t, len(file), FileMax)
	t.Logf("a full ring of %d figures has a file of %d bytes", Wide, len(file))
	again := New(folds)
	must.Do(again.Load(file, names, at))(t)
	require.Equal(t, file, again.AppendTo(nil, names, "version"))
}

// signed gives a body its checksum.
func signed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

// What a server kept while its clock was ahead does not cost the rest: it is left out, and the ring goes on from now.
func TestLoadLeavesOutTheFuture(t *testing.T) {
	r, end := filled()
	now, names := end-400_000, []string{"reads", "writes"}
	again := New([]Fold{Mean, Most})
	must.Do(again.Load(r.AppendTo(nil, names, "1"), names, now))(t)
	until := func(v View) (times []int64) {
		for _, at := range v.Times {
			if at <= now {
				times = append(times, at)
			}
		}
		return times
	}
	require.NotEmpty(t, until(r.Since(now-150_000)))
	for _, from := range []int64{now - 150_000, now - 390_000} {
		require.Equal(t, until(r.Since(from)), again.Since(from).Times)
	}
	require.Equal(t, r.Events(), again.Events(), "all are earlier")
	for i := range levels {
		again.Add(now+int64(i+1)*300_000, []float32{1, 1})
	}
	require.Contains(t, again.Since(now-390_000).Times, now+300_000)

	// Everything was later.
	again = New([]Fold{Mean, Most})
	must.Do(again.Load(r.AppendTo(nil, names, "1"), names, end-1_000_000))(t)
	require.Empty(t, again.Since(0).Times)
	require.Empty(t, again.Events())
}

// A file that is damaged or of somebody else leaves the ring empty.
func TestDamagedFiles(t *testing.T) {
	r, now := filled()
	names := []string{"reads", "writes"}
	file := r.AppendTo(nil, names, "1")
	body := file[:len(file)-sha256.Size]
	other := func(change func(b []byte)) []byte {
		b := bytes.Clone(body)
		change(b)
		return signed(b)
	}
	slots := len(fileMagic) + 2 + 1 + 6 + 7 + 4 + 2 // where the first slot begins
	for name, bad := range map[string][]byte{
		"empty": {}, "short": file[:40], "cut": file[:len(file)-1], "long": append(bytes.Clone(file), 0),
		"a bit":           append([]byte{file[0] ^ 1}, file[1:]...),
		"magic":           other(func(b []byte) { b[0]++ }),
		"more behind":     signed(append(bytes.Clone(body), 0)),
		"an event less":   signed(body[:len(body)-5]),
		"another level":   other(func(b []byte) { b[slots-6]++ }),
		"too many slots":  other(func(b []byte) { binary.BigEndian.PutUint16(b[slots-2:], 301) }),
		"not ascending":   other(func(b []byte) { copy(b[slots+16:slots+24], b[slots:slots+8]) }),
		"between slots":   other(func(b []byte) { b[slots+7]++ }),
		"before 1970":     other(func(b []byte) { b[slots] = 0xff }),
		"huge":            make([]byte, FileMax+1),
		"no figures left": signed([]byte(fileMagic)),
	} {
		again := New([]Fold{Mean, Most})
		require.ErrorIs(t, must.Err(again.Load(bad, names, now)), errFile, name)
		require.Empty(t, again.Since(0).Times, name)
		require.Empty(t, again.Events(), name)
	}
	infinite := other(func(b []byte) {
		binary.BigEndian.PutUint32(b[slots+8:], math.Float32bits(float32(math.Inf(1))))
	})
	again := New([]Fold{Mean, Most})
	must.Do(again.Load(infinite, names, now))(t)
	require.True(t, math.IsNaN(float64(again.slots[0].values[0])), "JSON has no infinite numbers")
}

func FuzzLoad(f *testing.F) {
	r, now := filled()
	file := r.AppendTo(nil, []string{"reads", "writes"}, "1")
	f.Add(file[:len(file)-sha256.Size])
	f.Add([]byte(fileMagic))
	f.Fuzz(func(t *testing.T, body []byte) {
		again := New([]Fold{Mean, Most})
		if _, err := again.Load(signed(body), []string{"reads", "writes"}, now); err != nil {
			require.Empty(t, again.Since(0).Times)
			return
		}
		v := again.Since(0)
		for i := range v.Times {
			require.LessOrEqual(t, v.Times[i], now)
		}
		again.Add(now, []float32{1, 1})
		again.Add(now+600_000, []float32{1, 1})
	})
}
