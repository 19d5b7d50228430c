package zk

import (
	"testing"
)

func TestLockNumber(t *testing.T) {
	for name, want := range map[string]int{"lock-0000000007": 7,
		"_c_00112233445566778899aabbccddeeff-lock-0000000012": 12, "_c_lock-0000000001-lock-0000000012": 12,
		"0123456789abcdef__lock__0000000003": 3, "lock--2147483648": -2147483648} {
		n, err := lockNumber(name)
		works(t, err, name)
		same(t, want, n, name)
	}
	for _, name := range []string{"", "n-0000000001", "lock-", "lock-x", "__"} {
		_, err := lockNumber(name)
		fails(t, err, name)
	}
}
