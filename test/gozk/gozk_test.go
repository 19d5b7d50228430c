package gozk_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/seed94657493/warren/client/zk" // after a change of it, go test must not reuse a result
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// The modules that have the API.
const (
	theirs = "github.com/go-zookeeper/zk"
	ours   = "github.com/seed94657493/warren/client/zk"
)

var serverFlag = flag.String("gozk.server", "",
	"fresh server to use instead of one of our own, such as an Apache ZooKeeper with extended types "+
		"and all four-letter words")

// startServer returns the address of a server that ends with the test.
func startServer(t *testing.T) string {
	t.Helper()
	if *serverFlag != "" {
		return *serverFlag
	}
	e := embed.Start(t, embed.Options{Version: "3.9.1-warren, built on 01/02/2026 10:00 UTC",
		Configure: func(_ int, cfg *config.Config) {
			cfg.ExtendedTypes = true
			cfg.Container.CheckInterval, cfg.Container.MaxPerMinute = 20*time.Millisecond, 100_000
		}})
	return e.Addr(1)
}

// Both clients see the same in every scenario.
func TestScenarios(t *testing.T) {
	addr := startServer(t)
	// go-zookeeper has a data race of its own, so only ours is built with the race detector that this test may have.
	programs := map[string]string{
		"theirs": build(t, theirs),
		"ours":   build(t, ours, append(ownFlags(t), "-overlay", overlay(t))...),
	}
	seen := map[string]map[string][]string{}
	var mu sync.Mutex
	t.Run("run", func(t *testing.T) {
		for side, program := range programs {
			t.Run(side, func(t *testing.T) {
				t.Parallel()
				lines := run(t, program, addr, side)
				mu.Lock()
				defer mu.Unlock()
				seen[side] = lines
			})
		}
	})
	if t.Failed() {
		return
	}
	names := slices.Sorted(maps.Keys(seen["theirs"]))
	require.NotEmpty(t, names)
	require.Equal(t, names, slices.Sorted(maps.Keys(seen["ours"])))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			want, got := strings.Join(seen["theirs"][name], "\n"), strings.Join(seen["ours"][name], "\n")
			require.NotEmpty(t, want)
			require.NotContains(t, want, "in time false") // what both missed was not compared
			require.Equal(t, want, got, "go-zookeeper is what was expected, client/zk the actual")
			if testing.Verbose() {
				t.Log(want)
			}
		})
	}
}

// build builds the program of the scenarios, and checks that it has the API of module and not the other.
func build(t *testing.T, module string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "run")
	must.Output(t, exec.CommandContext(t.Context(), "go",
		slices.Concat([]string{"build", "-o", program}, flags, []string{"./run"})...))
	info := must.Do(buildinfo.ReadFile(program))(t)
	for _, m := range []string{theirs, ours} {
		isThere := slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == m })
		require.Equal(t, m == module, isThere, "is %s in the program that was built with %s?", m, module)
	}
	return program
}

// ownFlags are the flags that this test was built with and that its program should have, too.
func ownFlags(t *testing.T) (flags []string) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	for _, s := range info.Settings {
		if s.Key == "-race" || s.Key == "-tags" {
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	return flags
}

// overlay returns an overlay in which the program imports ours instead of theirs.
func overlay(t *testing.T) string {
	t.Helper()
	files := must.Glob(t, "run/*.go")
	dir := t.TempDir()
	replace := map[string]string{}
	for _, name := range files {
		text := must.ReadFile(t, name)
		moved := bytes.ReplaceAll(text, []byte(`"`+theirs+`"`), []byte(`"`+ours+`"`))
		from := must.Abs(t, name)
		replace[from] = filepath.Join(dir, filepath.Base(name))
		require.NoError(t, os.WriteFile(replace[from], moved, 0o600))
	}
	text := must.Do(json.Marshal(map[string]any{"Replace": replace}))(t)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// run returns what every scenario of a program has seen.
func run(t *testing.T, program, addr, prefix string) (seen map[string][]string) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, addr, prefix)
	cmd.Stderr = &said
	out := must.Do(cmd.Output())(t, "the program says:\n%s", &said)
	require.NoError(t, json.Unmarshal(out, &seen))
	return seen
}
