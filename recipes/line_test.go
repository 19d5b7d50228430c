package recipes

import (
	"testing"

	"github.com/seed94657493/warren/proto/layouts"
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
