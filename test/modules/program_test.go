package modules

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const warren = "github.com/seed94657493/warren"

// program is a module that uses modules of this repository.
type program struct {
	t   *testing.T
	dir string
	env []string
}

var (
	here    *Workspace // the work tree
	version string     // that its modules require of each other
	// folder of what all programs share: a proxy with the modules of the work tree, and a module cache
	shared string
)

// writeProxy writes the proxy when the first program needs it.
var writeProxy = sync.OnceValues(func() (string, error) {
	proxy := filepath.Join(shared, "proxy")
	return proxy, here.WriteProxy(proxy, version)
})

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if here, err = Read(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	if version, err = here.Version(); err != nil {
		panic(err)
	}
	if shared, err = os.MkdirTemp("", "warren-modules-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(shared)
	return m.Run()
}

// newProgram makes a module with one file. The proxies that others name are asked for what is not ours; there is no
// network.
func newProgram(t *testing.T, text string, others ...string) *program {
	t.Helper()
	proxy, err := writeProxy()
	require.NoError(t, err)
	p := &program{t: t, dir: t.TempDir()}
	p.env = Environment(proxy, filepath.Join(shared, "cache"), append(others, "off")...)
	p.write("go.mod", "module program.test\n\ngo 1.26.0\n")
	p.write("main.go", text)
	return p
}

func (p *program) write(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

// run runs a command in the folder of the program and returns its standard output.
func (p *program) run(name string, args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(p.t, err, "%s %s\n%s%s", name, strings.Join(args, " "), out, &said)
	return string(out)
}

// modules returns the paths of the modules that take part in the choice of the program's versions.
func (p *program) modules() []string {
	p.t.Helper()
	return strings.Fields(p.run("go", "list", "-m", "-f", "{{.Path}}", "all"))
}

// localModules is the module cache of this machine: what the tests are built from is there.
func localModules(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	return CacheProxy(strings.TrimSpace(string(out)))
}
