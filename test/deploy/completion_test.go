package deploy

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command"
)

// The scripts are those that the command writes: make completion.
func TestCompletionsAreUpToDate(t *testing.T) {
	for shell, file := range map[string]string{"bash": "warren.bash", "zsh": "_warren", "fish": "warren.fish"} {
		var out, errs bytes.Buffer
		require.Zero(t, command.Main([]string{"completion", shell}, &out, &errs), errs.String())
		require.Equal(t, out.String(), read(t, "completion/"+file), "make completion")
	}
}

// What the scripts ask for is answered: commands, their flags.
func TestCompletionsComplete(t *testing.T) {
	for _, x := range []struct {
		words []string
		want  string
	}{
		{[]string{"do"}, "doctor\t"},
		{[]string{"wal", "v"}, "verify\t"},
		{[]string{"server", "--client-p"}, "--client-port\t"},
		{[]string{"snapshot", "compare", "--"}, "--output\t"},
	} {
		var out, errs bytes.Buffer
		require.Zero(t, command.Main(append([]string{"__complete"}, x.words...), &out, &errs), errs.String())
		require.Contains(t, out.String(), x.want)
	}
}
