package modules

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that requires one of the modules without requirements gets, at the tag, that module and those of ours
// that it needs: it is built, and the module's own tests compile, from a proxy that has nothing else.
func TestProgramsGetNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		module, use string
		with        []string
	}{
		{"proto", "proto.OpGetData", nil},
		{"client", "client.ErrNoNode", []string{"proto"}},
		{"client/zk", "zk.ErrNoNode", []string{"client", "proto"}},
		{"recipes", "recipes.ErrBusy", []string{"client", "proto"}},
	} {
		t.Run(c.module, func(t *testing.T) {
			t.Parallel()
			module := warren + "/" + c.module
			p := newProgram(t, `package main

import (
	"fmt"

	"`+module+`"
)

func main() { fmt.Println(`+c.use+`) }
`)
			p.run("go", "get", module+"@"+version)
			p.run("go", "build", "-trimpath", "-o", filepath.Join(p.dir, "program"))
			require.NotEmpty(t, p.run(filepath.Join(p.dir, "program")))
			want := []string{"program.test", module}
			for _, other := range c.with {
				want = append(want, warren+"/"+other)
			}
			require.ElementsMatch(t, want, p.modules())
			p.run("go", "mod", "tidy")
			require.ElementsMatch(t, want, p.modules())
			p.run("go", "vet", "-trimpath", module+"/...")
		})
	}
}

// A program that traces its client gets OpenTelemetry, and still no server.
func TestProgramWithOpenTelemetry(t *testing.T) {
	t.Parallel()
	const module = warren + "/client/otelclient"
	p := newProgram(t, `package main

import "`+module+`"

func main() {
	if _, err := otelclient.Hooks(nil, nil); err != nil {
		panic(err)
	}
}
`, localModules(t))
	p.run("go", "get", module+"@"+version)
	p.run("go", "build", "-trimpath", "-o", filepath.Join(p.dir, "program"))
	p.run(filepath.Join(p.dir, "program"))
	all := strings.Fields(p.run("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	require.Subset(t, all, []string{module, warren + "/client", warren + "/proto", "go.opentelemetry.io/otel"})
	require.NotContains(t, all, warren)
}

// The command can be installed from its tag, without this repository, and says which version it is.
func TestInstall(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "package main\n\nfunc main() {}\n", localModules(t))
	p.env = append(p.env, "GOBIN="+p.dir) // the program is only a place to be in
	p.run("go", "install", "-trimpath", warren+"/cmd/warren@"+version)
	require.Contains(t, p.run(filepath.Join(p.dir, "warren"), "version"), "warren "+version+"\n")
}

// The folders of the work tree are in the place of the version that the modules require of each other.
func TestWorkspaceReplacesTheVersion(t *testing.T) {
	for _, r := range here.work.Replace {
		require.Equal(t, version, r.Old.Version, "go.work replaces %s", r.Old.Path)
		require.True(t, strings.HasPrefix(r.New.Path, "./"), r.New.Path)
	}
	require.Len(t, here.work.Replace, len(here.Modules)-1, "all but the module that no other requires")
}
