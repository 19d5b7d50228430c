package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed94657493/warren/test/must"
)

// workflow is one of the forge, as far as ours go; a field that is unknown here is an error.
type workflow struct {
	Name        string            `yaml:"name"`
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Needs       string            `yaml:"needs"`
		RunsOn      string            `yaml:"runs-on"`
		Timeout     int               `yaml:"timeout-minutes"`
		Permissions map[string]string `yaml:"permissions"`
		Env         map[string]string `yaml:"env"`
		Steps       []struct {
			Name string         `yaml:"name"`
			If   string         `yaml:"if"`
			Uses string         `yaml:"uses"`
			With map[string]any `yaml:"with"`
			Run  string         `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

var (
	makeTarget = regexp.MustCompile(`(?m)^\s*make ([a-z0-9-]+)`)
	ownScript  = regexp.MustCompile(`(?m)^\s*(\.ci/[a-z]+)`)
	pinned     = regexp.MustCompile(`^actions/[a-z-]+@v\d+$`)
)

// What the forge runs exists, is allowed no more than it needs, and is of one version everywhere.
func TestWorkflows(t *testing.T) {
	makefile := must.ReadFile(t, filepath.Join("..", "..", "Makefile"))
	names := must.Glob(t, filepath.Join("..", "..", ".github", "workflows", "*.yml"))
	require.Len(t, names, 2)
	var ran []string // by the release, in order
	actions := map[string]string{}
	for _, name := range names {
		text := must.ReadFile(t, name)
		d := yaml.NewDecoder(strings.NewReader(string(text)))
		d.KnownFields(true)
		var w workflow
		require.NoError(t, d.Decode(&w), name)
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions, name)
		isRelease := w.Name == "release"
		for _, job := range []string{"check", "publish"} {
			j, found := w.Jobs[job]
			require.Equal(t, job == "check" || isRelease, found, "%s: job %s", name, job)
			if job == "publish" && isRelease {
				require.Equal(t, "check", j.Needs)
				require.Equal(t, map[string]string{"contents": "write", "packages": "write"}, j.Permissions)
			} else {
				require.Empty(t, j.Permissions, "%s: job %s", name, job)
			}
			for _, s := range j.Steps {
				if s.Uses != "" {
					require.Regexp(t, pinned, s.Uses, name)
					action, version, _ := strings.Cut(s.Uses, "@")
					require.Contains(t, []string{"", version}, actions[action], "%s: %s", name, action)
					actions[action] = version
				}
				require.NotContains(t, s.Run, "${{", "a name of a tag is no part of a script")
				for _, m := range makeTarget.FindAllStringSubmatch(s.Run, -1) {
					require.Regexp(t, `(?m)^`+m[1]+`:.* ## `, string(makefile), name)
					ran = append(ran, "make "+m[1])
				}
				for _, m := range ownScript.FindAllStringSubmatch(s.Run, -1) {
					info := must.Do(os.Stat(filepath.Join("..", "..", m[1])))(t)
					require.NotZero(t, info.Mode()&0o100, m[1])
					ran = append(ran, m[1])
				}
			}
		}
		delete(w.Jobs, "check")
		delete(w.Jobs, "publish")
		require.Empty(t, w.Jobs, name)
	}
	require.Equal(t, []string{".ci/run", ".ci/run", "make dist", "make push"}, ran)
}
