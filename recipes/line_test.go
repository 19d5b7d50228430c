package recipes

import (
	"testing"

	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

func TestOrderIsByNumberAcrossPrefixesAndOverflow(t *testing.T) {
	markers := []string{"__READ__", "__WRIT__"}
	line := layouts.Order([]string{
		"_c_a-__READ__-2147483648", "_c_z-__WRIT__2147483646", "_c_b-__WRIT__2147483647", "_c_c-lock-0000000001",
		"__READ__", "x", "_c_0-__READ__-2147483647", "__WRIT__99999999999",
	}, markers)
	var got []string
	for _, p := range line {
		got = append(got, p.Name)
	}
	equal(t, []string{"_c_z-__WRIT__2147483646", "_c_b-__WRIT__2147483647", "_c_a-__READ__-2147483648",
		"_c_0-__READ__-2147483647"}, got)
	equal(t, "__WRIT__", line[0].Marker)
	equal(t, "__READ__", line[2].Marker)
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct{ parent, name, path string }{
		{"/", "a", "/a"}, {"/a", "b", "/a/b"}, {"/a/b", "c", "/a/b/c"},
	} {
		equal(t, tt.path, paths.ChildOf(tt.parent, tt.name))
		equal(t, tt.parent, paths.ParentOf(tt.path))
	}
}
