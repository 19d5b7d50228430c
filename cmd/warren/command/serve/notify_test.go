package serve

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A manager that cannot be told is an error, and that there is none is not.
func TestNotifyWithoutManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	require.NoError(t, notifyManager("READY=1"))
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	require.ErrorContains(t, notifyManager("READY=1"), "NOTIFY_SOCKET")
}
