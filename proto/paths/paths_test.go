package paths

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// The table of client-protocol 12.1, row by row, with the exceptions it names.
func TestPathValidation(t *testing.T) {
	for path, valid := range map[string]bool{
		"":                 false,
		"a":                false,
		"a/b":              false,
		"/":                true,
		"/a":               true,
		"/a/":              false,
		"//":               false,
		"//a":              false,
		"/a//b":            false,
		"/.":               false,
		"/..":              false,
		"/a/.":             false,
		"/a/..":            false,
		"/./a":             false,
		"/../a":            false,
		"/...":             true,
		"/.a":              true,
		"/a.":              true,
		"/..a":             true,
		"/a..":             true,
		"/a/./b":           false,
		"/a\x00":           false,
		"/\x01":            false,
		"/a\x1fb":          false,
		"/a b":             true,
		"/~":               true,
		"/\x7f":            false,
		"/\u0080":          false,
		"/\u009f":          false,
		"/\u00a0":          true,
		"/\u2028":          true,
		"/\ud7ff":          true,
		"/\xed\xa0\x80":    false, // U+D800, which UTF-8 does not have
		"/\ue000":          false,
		"/\uf8ff":          false,
		"/\uf900":          true,
		"/\ufeff":          true,
		"/\uffef":          true,
		"/\ufff0":          false,
		"/\ufffd":          false,
		"/\uffff":          false,
		"/\U00010000":      false,
		"/\U0001f600":      false,
		"/\xff":            false,
		"/\xc3":            false,
		"/\xc0\x80":        false, // an overlong NUL
		"/\u4e2d\u6587/ok": true,
	} {
		require.Equal(t, valid, Valid([]byte(path)), "%q", path)
	}
	require.False(t, Valid(nil))
}

func TestSplitParent(t *testing.T) {
	for _, c := range []struct {
		path, parent, name string
		ok                 bool
	}{
		{"/", "", "", true},
		{"/a", "", "a", true},
		{"/a/b", "/a", "b", true},
		{"/a/", "/a", "", true},
		{"/a//b", "/a/", "b", true},
		{"//a", "/", "a", true},
		{"a/b", "a", "b", true},
		{"a", "", "", false},
		{"", "", "", false},
		{"/a\x00", "", "", false},
	} {
		parent, name, ok := SplitParent([]byte(c.path))
		require.Equal(t, c.ok, ok, "%q", c.path)
		require.Equal(t, c.parent, string(parent), "%q", c.path)
		require.Equal(t, c.name, string(name), "%q", c.path)
	}
}

// TestValidPathLooksAtEveryByte puts every byte at every place of a name that is long enough for several to be
// looked at at once.
func TestValidPathLooksAtEveryByte(t *testing.T) {
	for at := range 40 {
		for c := range 256 {
			path := append([]byte("/"), bytes.Repeat([]byte("a"), 40)...)
			path[1+at] = byte(c)
			want := c >= 0x20 && c < 0x7f
			if c == '/' {
				want = at > 0 && at < 39
			}
			if Valid(path) != want {
				t.Fatalf("%q: valid is %v", path, !want)
			}
		}
	}
}

func BenchmarkValidPath(b *testing.B) {
	for _, path := range []string{
		"/app/config/n1", "/services/payment/instances/instance-0000012345", "/" + strings.Repeat("n", 100_000),
	} {
		b.Run(fmt.Sprint(len(path)), func(b *testing.B) {
			p := []byte(path)
			for b.Loop() {
				if !Valid(p) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

// TestLastSlash compares with the standard library's search, for slashes in every place of paths of every length.
func TestLastSlash(t *testing.T) {
	for n := range 40 {
		path := bytes.Repeat([]byte{0xaf}, n) // a slash with the high bit
		require.Equal(t, -1, LastSlash(path))
		for i := range path {
			path[i] = '/'
			require.Equal(t, i, LastSlash(path))
			for k := range i {
				path[k] = '/'
				require.Equal(t, i, LastSlash(path))
				path[k] = 0xaf
			}
			path[i] = '.'
		}
	}
}

func TestFaultAt(t *testing.T) {
	for path, want := range map[string]int{"": 0, "a": 0, "/": -1, "/a": -1, "//": 1, "/a//b": 3, "/a/": 3, "/a/..": 3,
		"/a/./b": 3, "/ab\x00": 3, "/a/\u0085": 3, "/a/\xff": 3, "/abcdefgh\x7f": 9} {
		require.Equal(t, want, FaultAt([]byte(path), false), path)
		require.Equal(t, want < 0, Valid([]byte(path)), path)
	}
	for path, want := range map[string]int{"/": -1, "/a/": -1, "/a/..": -1, "/a//b": 3, "/a//": 3, "": 0} {
		require.Equal(t, want, FaultAt([]byte(path), true), path)
	}
}

func TestPartsOfAPath(t *testing.T) {
	for path, want := range map[string][2]string{
		"/": {"/", ""}, "/a": {"/", "a"}, "/a/b": {"/a", "b"}, "/a/b/c": {"/a/b", "c"},
	} {
		require.Equal(t, want, [2]string{ParentOf(path), NameOf(path)}, path)
		if path != "/" {
			require.Equal(t, path, ChildOf(ParentOf(path), NameOf(path)))
		}
	}
	for path, want := range map[string][2]string{
		"/a": {"/", "a"}, "/a/b": {"/a", "b"}, "/": {}, "a": {}, "/a/": {}, "//a": {},
	} {
		parent, name := Split([]byte(path))
		require.Equal(t, want, [2]string{string(parent), string(name)}, path)
	}
}
