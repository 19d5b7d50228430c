package deploy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// instruction is one of a Dockerfile, with continuation lines joined.
type instruction struct{ name, rest string }

// stages returns the instructions of each stage; the last is the image.
func stages(t *testing.T, text string) (all [][]instruction) {
	t.Helper()
	joined := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if more, found := strings.CutSuffix(line, `\`); found {
			joined += more + " "
			continue
		}
		name, rest, found := strings.Cut(joined+line, " ")
		require.True(t, found, "instruction %q has no arguments", line)
		require.Equal(t, strings.ToUpper(name), name)
		joined = ""
		if name == "FROM" {
			all = append(all, nil)
		}
		require.NotEmpty(t, all, "an instruction before FROM")
		last := &all[len(all)-1]
		*last = append(*last, instruction{name, strings.TrimSpace(rest)})
	}
	require.Empty(t, joined, "the last line goes on")
	return all
}

// image is what a container inherits.
type image struct {
	env, command, health, volumes []string
	ports                         []string
	user, workdir, base           string
}

func readImage(t *testing.T) image {
	t.Helper()
	var im image
	all := stages(t, read(t, "docker/Dockerfile"))
	for _, i := range all[len(all)-1] {
		switch i.name {
		case "FROM":
			im.base = i.rest
		case "ENV":
			im.env = append(im.env, strings.Fields(i.rest)...)
		case "USER":
			im.user = i.rest
		case "WORKDIR":
			im.workdir = i.rest
		case "EXPOSE":
			im.ports = strings.Fields(i.rest)
		case "VOLUME":
			im.volumes = execForm(t, i.rest)
		case "CMD":
			im.command = execForm(t, i.rest)
		case "HEALTHCHECK":
			_, command, found := strings.Cut(i.rest, "CMD ")
			require.True(t, found)
			im.health = execForm(t, command)
		case "COPY":
		default:
			require.Fail(t, fmt.Sprintf("instruction %s is unknown to this test", i.name))
		}
	}
	return im
}

// execForm reads a JSON list; the other form would need a shell.
func execForm(t *testing.T, text string) (words []string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &words), "%s", text)
	return words
}
