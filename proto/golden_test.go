package proto

import (
	"bufio"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// goldenLine is one labelled byte string of a file in testdata/golden.
type goldenLine struct {
	label string // everything before the hex, such as "V7 C"
	bytes []byte
}

// readGolden reads testdata/golden/name.hex, whose lines are `label... hex...` with labelWords
// words of label. Lines that start with # are comments, indented ones continue the line above.
func readGolden(t testing.TB, name string, labelWords int) []goldenLine {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "golden", name+".hex"))
	require.NoError(t, err)
	defer f.Close()
	var lines []goldenLine
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		text, _, _ := strings.Cut(line, "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			require.LessOrEqual(t, labelWords, len(words), "%s: %s", name, line)
			lines = append(lines, goldenLine{label: strings.Join(words[:labelWords], " ")})
			words = words[labelWords:]
		}
		b, err := hex.DecodeString(strings.Join(words, ""))
		require.NoError(t, err, "%s: %s", name, line)
		last := &lines[len(lines)-1]
		last.bytes = append(last.bytes, b...)
	}
	require.NotEqual(t, 0, len(lines))
	return lines
}

// readGoldenFile reads a file without labels as one byte string.
func readGoldenFile(t testing.TB, name string) []byte {
	t.Helper()
	var b []byte
	for _, line := range readGolden(t, name, 0) {
		b = append(b, line.bytes...)
	}
	return b
}

// record is what the generator makes; ConnectRequest and ConnectResponse lack Decode, because
// they need to know where the frame ends.
type record interface {
	AppendTo([]byte) []byte
	Decode(*Reader)
}

// requireRecords checks that b is exactly the records of want, one after the other: decoded into
// empty records they equal want, and want encodes to b.
func requireRecords(t testing.TB, b []byte, want ...record) {
	t.Helper()
	r := NewReader(b)
	var again []byte
	for i, w := range want {
		got := reflect.New(reflect.TypeOf(w).Elem()).Interface().(record)
		got.Decode(&r)
		require.NoError(t, r.Err(), "record %d, %T", i, w)
		require.Equal(t, w, got, "record %d", i)
		again = w.AppendTo(again)
	}
	require.Zero(t, r.Len(), "bytes are left: %x", r.Rest())
	require.Equal(t, hex.EncodeToString(b), hex.EncodeToString(again))
}

// requireFrame is requireRecords of a frame with its length word.
func requireFrame(t testing.TB, frame []byte, want ...record) {
	t.Helper()
	r := NewReader(frame)
	n := r.Int32()
	require.NoError(t, r.Err())
	require.EqualValues(t, r.Len(), n, "length word")
	requireRecords(t, r.Rest(), want...)
}

var anyone = []ACL{{Perms: PermAll, Id: ID{Scheme: Text("world"), Id: Text("anyone")}}}

// Parts of files and frames that are no record of their own.
type (
	int8Record  byte
	int64Record int64
	textRecord  Text
)

func (v *int8Record) AppendTo(b []byte) []byte  { return append(b, byte(*v)) }
func (v *int64Record) AppendTo(b []byte) []byte { return AppendInt64(b, int64(*v)) }
func (v *textRecord) AppendTo(b []byte) []byte  { return AppendBuffer(b, *v) }

func (v *int8Record) Decode(r *Reader) {
	if r.Len() < 1 {
		r.fail(ErrTruncated)
		return
	}
	*v = int8Record(r.buf[r.off])
	r.off++
}
func (v *int64Record) Decode(r *Reader) { *v = int64Record(r.Int64()) }
func (v *textRecord) Decode(r *Reader)  { *v = textRecord(r.Text()) }

func newInt8(v byte) record   { r := int8Record(v); return &r }
func newInt64(v int64) record { r := int64Record(v); return &r }
func newText(v string) record { r := textRecord(v); return &r }

type int32Record int32

func (v *int32Record) AppendTo(b []byte) []byte { return AppendInt32(b, int32(*v)) }
func (v *int32Record) Decode(r *Reader)         { *v = int32Record(r.Int32()) }
func newInt32(v int32) record                   { r := int32Record(v); return &r }
