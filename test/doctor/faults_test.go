package doctor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// The faults of a machine that no program can bring about from outside are built into a server for these tests: an
// overlay replaces two lines of its source. Its disk and its clock then obey files in the folder in which it runs, the
// folder of its zoo.cfg. A server without these files is as any other.
const (
	syncFault  = "fault.sync"  // how long each sync takes, as a duration; hold until the file is gone; fail
	clockFault = "fault.clock" // by how much the clock differs from when the server starts, as a duration
)

// faults are the lines of files, below the root of the repository, and what replaces them.
var faults = []struct{ file, line, by string }{
	{"wal/vfs/os.go", "func (o *osFile) Sync() error { return osError(syncData(o.f)) }\n", `
func (o *osFile) Sync() error {
	for {
		fault, _ := os.ReadFile("` + syncFault + `")
		switch d, err := time.ParseDuration(string(fault)); {
		case string(fault) == "fail":
			return &fs.PathError{Op: "fdatasync", Path: o.f.Name(), Err: syscall.EIO}
		case string(fault) == "hold":
			time.Sleep(10 * time.Millisecond)
			continue
		case err == nil:
			time.Sleep(d)
		}
		return osError(syncData(o.f))
	}
}
`},
	{"wal/vfs/os.go", "\t\"syscall\"\n", "\t\"syscall\"\n\t\"time\"\n"},
	{"internal/sched/runtime.go", "func (goRuntime) Now() time.Time { return time.Now() }\n", `
var clockFault = sync.OnceValue(func() time.Duration {
	fault, _ := os.ReadFile("` + clockFault + `")
	d, _ := time.ParseDuration(string(fault))
	return d
})

func (goRuntime) Now() time.Time { return time.Now().Add(clockFault()) }
`},
	{"internal/sched/runtime.go", "\t\"math/rand/v2\"\n", "\t\"math/rand/v2\"\n\t\"os\"\n\t\"sync\"\n"},
}

// faultyBinary is the one of this process.
var faultyBinary struct {
	once sync.Once
	dir  string // to remove
}

// faulty returns the path of a warren binary whose servers may have faults.
func faulty(t *testing.T) string {
	t.Helper()
	b := &faultyBinary
	b.once.Do(func() {
		root := must.Abs(t, "../..")
		b.dir = must.Do(os.MkdirTemp("", "warren-faulty-"))(t)
		sources := map[string]string{}
		for _, f := range faults {
			if sources[f.file] == "" {
				text := must.ReadFile(t, filepath.Join(root, f.file))
				sources[f.file] = string(text)
			}
			require.Equal(t, 1, strings.Count(sources[f.file], f.line), "%s: %s", f.file, f.line)
			sources[f.file] = strings.Replace(sources[f.file], f.line, f.by, 1)
		}
		replaced := map[string]string{}
		for file, text := range sources {
			to := filepath.Join(b.dir, filepath.Base(file))
			require.NoError(t, os.WriteFile(to, []byte(text), 0o600))
			replaced[filepath.Join(root, file)] = to
		}
		overlay := must.Do(json.Marshal(map[string]any{"Replace": replaced}))(t)
		name := filepath.Join(b.dir, "overlay.json")
		require.NoError(t, os.WriteFile(name, overlay, 0o600))
		args := []string{"build", "-pgo=off", "-overlay", name, "-o", filepath.Join(b.dir, "warren")}
		if cluster.RaceEnabled() {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, "./cmd/warren")...)
		build.Dir = root
		must.Output(t, build)
	})
	binary := filepath.Join(b.dir, "warren")
	require.FileExists(t, binary)
	return binary
}

// fault gives a server a fault, or takes it away if what is empty.
func (h *hosts) fault(i int, file, what string) {
	h.t.Helper()
	name := filepath.Join(h.nodes[i].Dir(), file)
	if what == "" {
		require.NoError(h.t, os.Remove(name))
		return
	}
	require.NoError(h.t, os.WriteFile(name, []byte(what), 0o600))
}
