package formats

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func framed(text string) []byte {
	var b bytes.Buffer
	w := snappy.NewBufferedWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func xerialed(texts ...string) []byte {
	b := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for _, t := range texts {
		packed := snappy.Encode(nil, []byte(t))
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(packed))), packed...)
	}
	return b
}

func TestUnpack(t *testing.T) {
	text := strings.Repeat("some text ", 50) // a shorter one, as raw snappy, may be text itself
	for how, data := range map[Packing][]byte{Plain: []byte(text), Gzip: gzipped(text), SnappyFramed: framed(text),
		SnappyXerial: xerialed(text[:100], text[100:]), SnappyRaw: snappy.Encode(nil, []byte(text))} {
		plain, got, cut, err := Unpack(data, 1000)
		require.NoError(t, err, how)
		require.False(t, cut)
		require.Equal(t, how, got)
		require.Equal(t, text, string(plain))
		if how != Plain && how != SnappyRaw {
			_, _, cut, err = Unpack(data, 4)
			require.NoError(t, err)
			require.True(t, cut, how)
			_, _, _, err = Unpack(data[:len(data)-3], 1000)
			require.ErrorIs(t, err, errPacked, how)
		}
	}
	plain, how, _, err := Unpack([]byte{0xff, 0xd8, 0xff, 0xe0}, 100)
	require.NoError(t, err)
	require.Equal(t, Plain, how)
	require.Len(t, plain, 4)
}

// A megabyte that stands for a gigabyte takes no more memory than the bound.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 64<<20)
	for name, bomb := range map[string][]byte{"gzip": gzipped(zeros), "framed": framed(zeros),
		"xerial": xerialed(zeros), "raw": snappy.Encode(nil, []byte(zeros))} {
		got := testing.AllocsPerRun(1, func() {
			plain, _, _, _ := Unpack(bomb, 1<<20)
			require.LessOrEqual(t, len(plain), max(1<<20, len(bomb)), name)
		})
		require.Less(t, got, 1000.0)
	}
	lie := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff, 0x07)
	_, _, cut, _ := Unpack(lie, 1<<20)
	require.True(t, cut, "a block that claims 2 GiB is not opened")

	deep := strings.Repeat("[", 9000) + strings.Repeat("1,", 400_000) + "1" + strings.Repeat("]", 9000)
	require.Equal(t, JSON, Detect([]byte(deep)))
	text, err := Lay([]byte(deep), JSON)
	require.ErrorIs(t, err, errLong, "indented it would have 7 GB")
	require.Equal(t, deep, text)
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	text = must.Do(Lay([]byte(laughs), YAML))(t)
	require.Less(t, len(text), 4<<10)
	require.Error(t, must.Err(Lay([]byte(strings.Repeat("<a>", 100_000)), XML)))
}

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		data string
		f    Format
		want string
	}{
		{`{"a":[1,"x,{"]}`, JSON, "{\n  \"a\": [\n    1,\n    \"x,{\"\n  ]\n}"},
		{"---\na:   {b: 1}   # why\n", YAML, "a: {b: 1} # why\n"},
		{"---\r\na:   {b: 1}\r\n", YAML, "a: {b: 1}\n"},
		{`<?xml version="1.0"?><a k='1'><b>x &lt; y</b><c/></a>`, XML,
			"<?xml version=\"1.0\"?>\n<a k='1'>\n  <b>x &lt; y</b>\n  <c/>\n</a>\n"},
		{"plain\ntext", Text, "plain\ntext"},
		{"\x00ab", Hex, "000000  00 61 62" + strings.Repeat(" ", 41) + ".ab\n"},
	} {
		require.Equal(t, c.f, Detect([]byte(c.data)), "%q", c.data)
		text, err := Lay([]byte(c.data), c.f)
		require.NoError(t, err, "%q", c.data)
		require.Equal(t, c.want, text)
	}
	for _, wrong := range []struct {
		data string
		f    Format
	}{{"{", JSON}, {"a: [", YAML}, {"<a></b>", XML}, {"<a>", XML}, {"x", XML}} {
		text, err := Lay([]byte(wrong.data), wrong.f)
		require.Error(t, err, "%q", wrong.data)
		require.Equal(t, wrong.data, text)
	}
	require.Equal(t, Text, Detect([]byte("<not xml")))
	require.Equal(t, Text, Detect(nil))
}

// Whatever a client has written, the reader gets a bounded text or the data itself.
func FuzzShow(f *testing.F) {
	for _, data := range [][]byte{gzipped("x"), framed("x"), xerialed("x", "y"), snappy.Encode(nil, []byte("x y z")),
		[]byte(`{"a":[1]}`), []byte("---\na: &b [1]\nc: *b\n"), []byte("<a>x</a>")} {
		f.Add(data)
	}
	const most = 16 << 10
	f.Fuzz(func(t *testing.T, data []byte) {
		plain, how, _, err := Unpack(data, most)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(plain), max(most, len(data)))
		require.True(t, how != Plain || bytes.Equal(plain, data))
		Detect(plain)
		for _, a := range All {
			text, err := Lay(plain, a)
			if err == nil && (a == JSON || a == YAML || a == XML) {
				require.LessOrEqual(t, len(text), 3*layMax)
			}
		}
	})
}
