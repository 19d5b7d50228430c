package console

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sizeMax is what the console may add to the binary, in bytes.
const sizeMax = 2 << 20 // 2 MiB

// The console is what the binary would lose if no admin server had one: the application and its fonts, the pages of
// links, the API below them, and what only these use of the server and of libraries. The linker finds out what that
// is: the binary without it is linked from the same sources, where one condition is replaced.
func TestConsoleIsSmall(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	source := filepath.Join(root, "server", "operators.go")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	const condition = "\tif !c.Console {\n\t\treturn nil\n"
	require.Equal(t, 1, strings.Count(string(text), condition))
	without := filepath.Join(t.TempDir(), "operators.go")
	never := strings.Replace(string(text), condition, "\tif true {\n\t\treturn nil\n", 1)
	require.NoError(t, os.WriteFile(without, []byte(never), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: without}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))

	whole := sizeOfBinary(t, root)
	console := whole - sizeOfBinary(t, root, "-overlay", file)
	t.Logf("the console adds %d bytes, of %d", console, whole)
	require.Greater(t, console, int64(500_000), "the condition does not cut the console out")
	require.Less(t, console, int64(sizeMax))
}

// sizeOfBinary links warren as make build does and returns its bytes.
func sizeOfBinary(t *testing.T, root string, flags ...string) int64 {
	out := filepath.Join(t.TempDir(), "warren")
	args := append([]string{"build", "-pgo=off", "-trimpath", "-ldflags", "-s -w", "-o", out}, flags...)
	build := exec.CommandContext(t.Context(), "go", append(args, "./cmd/warren")...)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=", "GOFLAGS=")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	info, err := os.Stat(out)
	require.NoError(t, err)
	return info.Size()
}
