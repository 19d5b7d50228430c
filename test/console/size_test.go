package console

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// consoleMax and pagesMax are what the console and the pages at /docs/ may add to the binary, in bytes.
const consoleMax, pagesMax = 9 << 18, 3 << 20 // 2.25 and 3 MiB

// The console is what the binary would lose if no admin server had one: the application and its fonts, the pages of
// links, the API below them, and what only these use of the server and of libraries. The pages of the documentation
// are what it would lose if the console did not serve them: their text and pictures, and what makes HTML of them. The
// linker finds out what that is: a smaller binary is linked from the same sources, where one line is replaced.
func TestConsoleIsSmall(t *testing.T) {
	root := must.Abs(t, "../..")
	whole := sizeOfBinary(t, root)
	withoutPages := sizeOfBinary(t, root, "-overlay", overlay(t,
		filepath.Join(root, "server/internal/console/console.go"), "newFiles(readPages())", "nil"))
	withoutConsole := sizeOfBinary(t, root, "-overlay", overlay(t,
		filepath.Join(root, "server/operators.go"), "if !c.Console {", "if true {"))
	pages, console := whole-withoutPages, withoutPages-withoutConsole
	t.Logf("the console adds %d bytes and the pages %d, of %d", console, pages, whole)
	require.Greater(t, console, int64(500_000), "the condition does not cut the console out")
	require.Less(t, console, int64(consoleMax))
	require.Greater(t, pages, int64(500_000), "the pages are not cut out")
	require.Less(t, pages, int64(pagesMax))
}

// overlay returns a file for the flag -overlay, by which a source has another text where it has old, once.
func overlay(t *testing.T, source, old, other string) string {
	text := must.ReadFile(t, source)
	require.Equal(t, 1, strings.Count(string(text), old), source)
	folder := t.TempDir()
	replaced := filepath.Join(folder, filepath.Base(source))
	require.NoError(t, os.WriteFile(replaced, []byte(strings.Replace(string(text), old, other, 1)), 0o600))
	record := must.Do(json.Marshal(map[string]map[string]string{"Replace": {source: replaced}}))(t)
	file := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(file, record, 0o600))
	return file
}

// sizeOfBinary links warren as make build does and returns its bytes.
func sizeOfBinary(t *testing.T, root string, flags ...string) int64 {
	out := filepath.Join(t.TempDir(), "warren")
	args := append([]string{"build", "-pgo=off", "-trimpath", "-ldflags", "-s -w", "-o", out}, flags...)
	build := exec.CommandContext(t.Context(), "go", append(args, "./cmd/warren")...)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=", "GOFLAGS=")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return must.Do(os.Stat(out))(t).Size()
}
