package trends

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// A server keeps a Ring whatever happens to it, so its size is a promise.
func TestMemoryIsBounded(t *testing.T) {
	require.Less(t, unsafe.Sizeof(Ring{}), uintptr(192<<10))
	sum := 0
	for _, l := range levels {
		sum += l.slots
	}
	require.Equal(t, slotsAll, sum)
	last := levels[len(levels)-1]
	require.GreaterOrEqual(t, last.every*time.Duration(last.slots), 24*time.Hour)

	r, figures := New([]Fold{Mean, Most}), []float32{1, 2}
	allocated := testing.AllocsPerRun(10_000, func() { r.Add(time.Now().UnixMilli(), figures) })
	require.Zero(t, allocated)
}

func TestSlotsFoldTheirSamples(t *testing.T) {
	r := New([]Fold{Mean, Most, Mean})
	for i := range 4 { // two slots of two seconds, and one that is open
		r.Add(1_000_000+int64(i)*1000, []float32{float32(i), float32(10 - i), unknown})
	}
	r.Add(1_004_000, []float32{100, 100, 100})
	v := r.Since(0)
	require.Equal(t, 2*time.Second, v.Every)
	require.Equal(t, []int64{1_000_000, 1_002_000}, v.Times)
	require.Equal(t, []float32{0.5, 2.5}, v.Values[0])
	require.Equal(t, []float32{10, 8}, v.Values[1])
	require.True(t, math.IsNaN(float64(v.Values[2][0])))
	require.Equal(t, []int64{1_002_000}, r.Since(1_001_000).Times)
}

// The resolution falls with the age: what the fine levels have lost, the coarse ones still have.
func TestADayIsKept(t *testing.T) {
	r := New([]Fold{Mean, Most})
	const begin, day = int64(1_000_000_200_000), int64(24 * time.Hour / time.Millisecond)
	peak := begin + day/2
	end := begin + day
	for at := begin; at <= end; at += 2000 {
		sample := []float32{1, 1}
		if at == peak {
			sample[1] = 500
		}
		r.Add(at, sample)
	}
	for _, c := range []struct{ back, every time.Duration }{{9 * time.Minute, 2 * time.Second},
		{59 * time.Minute, 10 * time.Second}, {5 * time.Hour, time.Minute}, {24 * time.Hour, 5 * time.Minute}} {
		v := r.Since(end - c.back.Milliseconds())
		require.Equal(t, c.every, v.Every, c.back)
		require.Less(t, v.Times[0]-(end-c.back.Milliseconds()), c.every.Milliseconds(), c.back)
		require.Greater(t, v.Times[len(v.Times)-1], end-2*c.every.Milliseconds(), c.back)
	}
	v := r.Since(begin)
	most := float32(0)
	for i := range v.Times {
		require.InDelta(t, 1, v.Values[0][i], 1e-6)
		most = max(most, v.Values[1][i])
	}
	require.Equal(t, float32(500), most, "a peak of two seconds is still there after half a day")
}

func TestAClockThatGoesBack(t *testing.T) {
	r := New([]Fold{Most})
	for _, at := range []int64{10_000, 2000, 9999, 12_000, 14_000} {
		r.Add(at, []float32{float32(at)})
	}
	require.Equal(t, []int64{10_000, 12_000}, r.Since(0).Times)
}

// A clock that was ahead for a while and is set right leaves no gap: figures are kept from then on, at every level,
// and those of the time to come are not shown.
func TestAClockThatWasAhead(t *testing.T) {
	const hour = int64(time.Hour / time.Millisecond)
	for _, before := range []int64{hour / 60, 30 * hour} { // with room in every level, and with none
		r := New([]Fold{Most})
		at := int64(1_000_000_200_000)
		add := func(during, ahead int64) {
			for end := at + during; at < end; at += 2000 {
				r.Add(at+ahead, []float32{float32(ahead)})
			}
		}
		add(before, 0)
		add(20*60_000, 2*hour)
		back := at
		add(20*60_000, 0)
		for from, every := range map[int64]time.Duration{back: 10 * time.Second, at - 6*60_000: 2 * time.Second} {
			v := r.Since(from)
			if before > hour {
				require.Equal(t, every, v.Every)
			}
			require.IsIncreasing(t, v.Times)
			require.Less(t, v.Times[len(v.Times)-1], at)
			require.GreaterOrEqual(t, len(v.Times), 30)
			for _, value := range v.Values[0] {
				require.Zero(t, value)
			}
		}
		loaded := New([]Fold{Most})
		must.Do(loaded.Load(r.AppendTo(nil, []string{"f"}, ""), []string{"f"}, at))(t)
		require.Equal(t, r.Since(at-6*60_000), loaded.Since(at-6*60_000))
		if before > hour {
			v := r.Since(at - 23*hour)
			require.Equal(t, 5*time.Minute, v.Every)
			require.Greater(t, len(v.Times), 200)
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	r := New(nil)
	for i := range eventsKept + 5 {
		r.Tell(Event{At: int64(i), Text: strings.Repeat("x", 1000)})
	}
	all := r.Events()
	require.Len(t, all, eventsKept)
	require.Equal(t, int64(eventsKept+4), all[0].At)
	require.Len(t, all[0].Text, textMax)
	r.Tell(Event{Text: "x" + strings.Repeat("é", textMax)})
	require.Equal(t, "x"+strings.Repeat("é", textMax/2-1), r.Events()[0].Text, "no part of a character is kept")
}
