package datatree

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of client-protocol section 12.1, row by row, with the exceptions it names.
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
		require.Equal(t, valid, validPath([]byte(path)), "%q", path)
	}
	require.False(t, validPath(nil))
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
		parent, name, ok := splitParent([]byte(c.path))
		require.Equal(t, c.ok, ok, "%q", c.path)
		require.Equal(t, c.parent, string(parent), "%q", c.path)
		require.Equal(t, c.name, string(name), "%q", c.path)
	}
}
