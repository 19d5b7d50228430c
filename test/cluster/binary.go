package cluster

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// onceBuilt is a binary that is built once in this test process.
type onceBuilt struct {
	once sync.Once
	dir  string // to remove
	path string
	err  error
}

var usual, static onceBuilt

// Binary returns the path of the warren binary: $WARREN_BIN, or one that is built from this
// module once per test process, with the race detector if the tests have it.
func Binary(t testing.TB) string {
	t.Helper()
	return usual.built(t, func() (dir, path string, err error) {
		if path := os.Getenv("WARREN_BIN"); path != "" {
			path, err := filepath.Abs(path)
			if err == nil {
				_, err = os.Stat(path) // go test notes that, and does not show the results that another binary has had
			}
			return "", path, err
		}
		if RaceEnabled() {
			return build(os.Environ(), "-race")
		}
		return build(os.Environ())
	})
}

// StaticBinary returns the path of a warren binary that needs no other file, for tests that run it in a root folder of
// its own. It is built from this module once per test process.
func StaticBinary(t testing.TB) string {
	t.Helper()
	return static.built(t, func() (dir, path string, err error) {
		return build(append(os.Environ(), "CGO_ENABLED=0"))
	})
}

func (b *onceBuilt) built(t testing.TB, build func() (dir, path string, err error)) string {
	t.Helper()
	b.once.Do(func() { b.dir, b.path, b.err = build() })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

func build(env []string, flags ...string) (dir, path string, err error) {
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", "", fmt.Errorf("cluster: go env GOMOD: %w", err)
	}
	if dir, err = os.MkdirTemp("", "warren-bin-"); err != nil {
		return "", "", fmt.Errorf("cluster: %w", err)
	}
	path = filepath.Join(dir, "warren")
	args := append([]string{"build", "-pgo=off", "-o", path}, flags...) // a build with the profile takes a minute
	cmd := exec.Command("go", append(args, "./cmd/warren")...)
	cmd.Env = env
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

// Main runs the tests of a package that uses Node and removes the binary. It returns the exit code. Tests that run
// beside others do not measure times, and wait for their servers most of the time: twice as many run at once as usual.
func Main(m *testing.M) int { return MainBeside(m, 2) }

// MainBeside is Main with so many times as many tests at once as usual.
func MainBeside(m *testing.M, times int) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !RaceEnabled() {
		if err := flag.Set("test.parallel", strconv.Itoa(times*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	for _, b := range []*onceBuilt{&usual, &static} {
		if b.dir != "" {
			os.RemoveAll(b.dir)
		}
	}
	return code
}
