package proto

import (
	"encoding/binary"
	"reflect"
	"runtime"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// allocationRight is how many bytes a decoder may allocate for n bytes of input: the elements of
// a vector take at most seven times their smallest encoding (an ID is 8 bytes on the wire, two
// slice headers in memory).
func allocationRight(n int) uint64 { return uint64(7*n + 1024) }

// sample fills v, a pointer to a record, with short values and vectors of two elements.
func sample(v any) {
	fill(reflect.ValueOf(v).Elem())
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("/abc"))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(1)
	}
}

// allocated returns how many bytes f allocates, which must be the same each time. The counter is that of the
// whole process, so the least of three runs counts: allocations of other goroutines can only add.
func allocated(f func()) uint64 {
	least := ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// TestHostileLengths overwrites every four bytes of a sample of every record with counts and
// lengths that promise more than there is, at every size of the rest.
func TestHostileLengths(t *testing.T) {
	for name, empty := range allRecords {
		t.Run(name, func(t *testing.T) {
			v := empty()
			sample(v)
			good := v.AppendTo(nil)
			require.NoError(t, empty().ReadFrom(good))
			for at := 0; at+4 <= len(good); at++ {
				for _, word := range []uint32{0x7fffffff, 0x00ffffff, 0x80000000, 0x10000, uint32(len(good))} {
					bad := append([]byte{}, good...)
					binary.BigEndian.PutUint32(bad[at:], word)
					n := allocated(func() { _ = empty().ReadFrom(bad) }) // a used record would keep its vectors
					require.LessOrEqual(t, n, allocationRight(len(bad)), "%#x at %d", word, at)
				}
			}
		})
	}
}

// TestTruncated: every proper prefix of every record is refused.
func TestTruncated(t *testing.T) {
	for name, empty := range allRecords {
		v := empty()
		sample(v)
		good := v.AppendTo(nil)
		for n := range len(good) {
			require.Error(t, empty().ReadFrom(good[:n]), "%s, %d of %d bytes", name, n, len(good))
		}
	}
}

// TestVectorCountNeedsItsBytes: a count is believed only up to what the bytes can hold.
func TestVectorCountNeedsItsBytes(t *testing.T) {
	elements := make([]byte, 4*1000) // a thousand empty strings
	in := append([]byte{0, 0, 3, 0xe8}, elements...)
	var v GetChildrenResponse
	require.NoError(t, v.ReadFrom(in))
	require.Len(t, v.Children, 1000)
	in[3]++
	require.ErrorIs(t, new(GetChildrenResponse).ReadFrom(in), ErrCount)
}

// TestHostileMulti walks a multi of which every header is followed by nothing, and one that never
// ends.
func TestHostileMulti(t *testing.T) {
	m := NewMultiReader([]byte{0, 0, 0, 1, 0, 0, 0})
	_, ok := m.Next()
	require.False(t, ok)
	require.ErrorIs(t, m.R.Err(), ErrTruncated)

	var endless []byte
	for range 1000 {
		endless = AppendMultiOp(endless, OpDelete)
		endless = (&DeleteRequest{Path: Text("/a")}).AppendTo(endless)
	}
	ops := 0
	var rec DeleteRequest
	n := allocated(func() {
		ops, m = 0, NewMultiReader(endless)
		for {
			if _, ok = m.Next(); !ok {
				break
			}
			rec.Decode(&m.R)
			ops++
		}
	})
	require.Equal(t, 1000, ops)
	require.ErrorIs(t, m.R.Err(), ErrTruncated)
	require.Less(t, n, uint64(1024))
}
