package client_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestOnWarren runs the tests of package client that are for each server, on a Warren server: that package cannot
// start one.
func TestOnWarren(t *testing.T) {
	// The colon is that of an address, so that the fake server is left out.
	args := []string{"test", "-count=1", "-v", "-timeout=10m", "-run=OnEachServer$/:"}
	if cluster.RaceEnabled() {
		args = append(args, "-race")
	}
	args = append(args, "github.com/seed94657493/warren/client")
	cmd := exec.CommandContext(within(t, 10*time.Minute), "go", args...)
	cmd.Env = append(os.Environ(), "WARREN_TEST_SERVERS="+embedded)
	out := must.Output(t, cmd)
	for _, test := range []string{"TestOperations", "TestTxn", "TestExpiryByServer", "TestOneShotWatches",
		"TestPersistentWatches", "TestCacheFollowsSubtree", "TestNoWatchIsLostOverThousandsOfReconnects"} {
		require.Contains(t, string(out), "    --- PASS: "+test+"OnEachServer/"+embedded)
	}
}
