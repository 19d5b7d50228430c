package reach

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithPort(t *testing.T) {
	for address, want := range map[string]string{
		"zk1": "zk1:2181", "zk1:2182": "zk1:2182", "10.0.0.1": "10.0.0.1:2181", "[::1]:5": "[::1]:5",
		"[::1]": "[::1]:2181", "::1": "[::1]:2181", "fe80::1%eth0": "[fe80::1%eth0]:2181",
		"[fe80::1%eth0]:5": "[fe80::1%eth0]:5", "[fe80::1%eth0]": "[fe80::1%eth0]:2181", "zk1:2181:x": "zk1:2181:x",
	} {
		require.Equal(t, want, WithPort(address))
	}
}
