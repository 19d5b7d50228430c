package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/modules"
	"github.com/seed94657493/warren/test/must"
)

// The image is built in two steps, so that modules of others are downloaded again only if a go.mod has changed. What
// is copied for the first step must be enough for it.
func TestImageDownloadsModulesOfEveryGoMod(t *testing.T) {
	dir, hasDownloaded := t.TempDir(), false
	for _, i := range stages(t, read(t, "docker/Dockerfile"))[0] {
		if i.name == "RUN" && i.rest == "go mod download" {
			hasDownloaded = true
			break
		}
		if i.name != "COPY" {
			continue
		}
		words := strings.Fields(i.rest)
		into := filepath.Join(dir, words[len(words)-1])
		require.NoError(t, os.MkdirAll(into, 0o755))
		for _, name := range words[:len(words)-1] {
			text := must.ReadFile(t, filepath.Join("..", "..", name))
			require.NoError(t, os.WriteFile(filepath.Join(into, filepath.Base(name)), text, 0o644))
		}
	}
	require.True(t, hasDownloaded)
	list := exec.Command("go", "list", "-m")
	list.Dir, list.Env = dir, append(os.Environ(), "GOWORK=", "GOPROXY=off")
	out := must.Output(t, list)

	w := must.Do(modules.Read(filepath.Join("..", "..")))(t)
	var want []string
	for _, m := range w.Modules {
		want = append(want, m.Path)
		sums := filepath.Join(m.Folder, "go.sum")
		if _, err := os.Stat(filepath.Join("..", "..", sums)); err == nil {
			require.FileExists(t, filepath.Join(dir, sums))
		}
	}
	require.ElementsMatch(t, want, strings.Fields(string(out)))
	require.FileExists(t, filepath.Join(dir, "go.work.sum"))
}
