package rescue

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// On a terminal the operator is asked, and anything but the word means no.
func TestAdoptAsksOnATerminal(t *testing.T) {
	for answer, code := range map[string]int{"adopt\n": 0, "yes\n": 1, "\n": 1} {
		root, zooCfg := memberFiles(t)
		before := cmdline.Contents(t, root)
		master, terminal := cmdline.OpenTerminal(t)
		must.Do(master.WriteString(answer))(t)
		cmd := cli.Root(Commands()...)
		var out bytes.Buffer
		cmd.SetArgs([]string{"adopt", zooCfg})
		cmd.SetOut(&out)
		cmd.SetIn(terminal)
		require.Equal(t, code, cli.ExitCode(cmd.Execute()), out.String())
		require.Contains(t, out.String(), "Type adopt")
		if code == 0 {
			before = renamed(before)
		}
		require.Equal(t, before, timeless(t, cmdline.Contents(t, root)))
		require.NoError(t, terminal.Close())
		require.NoError(t, master.Close())
	}
}
