package command

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// On a terminal the operator is asked, and anything but the word means no.
func TestAdoptAsksOnATerminal(t *testing.T) {
	for answer, code := range map[string]int{"adopt\n": 0, "yes\n": 1, "\n": 1} {
		root, zooCfg := memberFiles(t)
		before := contents(t, root)
		master, terminal := openTerminal(t)
		_, err := master.WriteString(answer)
		require.NoError(t, err)
		cmd := newRootCommand()
		var out bytes.Buffer
		cmd.SetArgs([]string{"adopt", zooCfg})
		cmd.SetOut(&out)
		cmd.SetIn(terminal)
		require.Equal(t, code, exitCode(cmd.Execute()), out.String())
		require.Contains(t, out.String(), "Type adopt")
		if code == 0 {
			before = renamed(before)
		}
		require.Equal(t, before, timeless(t, contents(t, root)))
		require.NoError(t, terminal.Close())
		require.NoError(t, master.Close())
	}
}
