package proto

import (
	"bytes"
	"testing"
)

// fuzzable is what every record can do.
type fuzzable interface {
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
}

// fuzzRecord checks that a decoder neither panics nor keeps more than it was given, and that
// what it accepts encodes to bytes that decode to the same encoding.
func fuzzRecord(f *testing.F, empty func() fuzzable) {
	f.Add(empty().AppendTo(nil))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 80))
	f.Add(bytes.Repeat([]byte{0x00}, 80))
	f.Add(bytes.Repeat([]byte{0x00, 0x00, 0x00, 0x01, 0x2f}, 30))
	f.Fuzz(func(t *testing.T, in []byte) {
		v := empty()
		if v.ReadFrom(in) != nil {
			return
		}
		once := v.AppendTo(nil)
		w := empty()
		if err := w.ReadFrom(once); err != nil {
			t.Fatalf("re-decoding: %v", err)
		}
		if twice := w.AppendTo(nil); !bytes.Equal(once, twice) {
			t.Fatalf("encoding is not stable:\n%x\n%x", once, twice)
		}
	})
}
