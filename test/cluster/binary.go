package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// build is the one binary of this test process.
var build struct {
	once sync.Once
	dir  string // to remove
	path string
	err  error
}

// Binary returns the path of the warren binary: $WARREN_BIN, or one that is built from this
// module once per test process, with the race detector if the tests have it.
func Binary(t testing.TB) string {
	t.Helper()
	build.once.Do(func() { build.dir, build.path, build.err = buildBinary() })
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.path
}

func buildBinary() (dir, path string, err error) {
	if path := os.Getenv("WARREN_BIN"); path != "" {
		path, err := filepath.Abs(path)
		return "", path, err
	}
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", "", fmt.Errorf("cluster: go env GOMOD: %w", err)
	}
	if dir, err = os.MkdirTemp("", "warren-bin-"); err != nil {
		return "", "", fmt.Errorf("cluster: %w", err)
	}
	path = filepath.Join(dir, "warren")
	args := []string{"build", "-pgo=off", "-o", path} // a build with the profile takes a minute
	if RaceEnabled() {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/warren")...)
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(gomod)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, "", fmt.Errorf("cluster: go build ./cmd/warren: %w\n%s", err, out)
	}
	return dir, path, nil
}

// RaceEnabled reports whether the tests, and so the server, run with the race detector.
func RaceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-race" && s.Value == "true"
	})
}

// Main runs the tests of a package that uses Node and removes the binary. It returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if build.dir != "" {
		os.RemoveAll(build.dir)
	}
	return code
}
