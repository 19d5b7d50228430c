package build

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What parsers of ZooKeeper's version line look for.
func TestZooKeeperVersion(t *testing.T) {
	shape := regexp.MustCompile(`^\d+\.\d+\.\d+-[0-9a-f]{40}, built on \d\d/\d\d/\d{4} \d\d:\d\d UTC$`)
	require.Regexp(t, shape, Build{}.ZooKeeperVersion())
	b := Build{Commit: strings.Repeat("ab", 20), Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}
	require.Equal(t, "3.9.4-"+b.Commit+", built on 01/02/2026 02:04 UTC", b.ZooKeeperVersion())
	require.Regexp(t, shape, This().ZooKeeperVersion())
}
