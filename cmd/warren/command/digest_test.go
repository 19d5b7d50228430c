package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
)

// The check values are those of operations 8.1.
func TestDigest(t *testing.T) {
	code, out, errs := run("digest", "super:admin", "super:test")
	require.Zero(t, code, errs)
	require.Equal(t,
		"super:admin->super:xQJmxLMiHGwaqBvst5y6rkB6HQs=\nsuper:test->super:D/InIHSb7yEEbrWz8b9l71RjZJU=\n", out)
	code, out, _ = run("digest", "--algorithm", "SHA-256", "a:b:c")
	require.Zero(t, code)
	require.Regexp(t, `^a:b:c->a:[A-Za-z0-9+/]{43}=\n$`, out)

	var stdout bytes.Buffer
	root := newRootCommand()
	root.SetArgs([]string{"digest"})
	root.SetIn(strings.NewReader("super:admin\nsuper:test\n"))
	root.SetOut(&stdout)
	require.NoError(t, root.Execute())
	require.Equal(t, "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=\nsuper:D/InIHSb7yEEbrWz8b9l71RjZJU=\n", stdout.String())

	for _, args := range [][]string{{"digest", "secret"}, {"digest", "a:b", "--algorithm", "MD2"}} {
		code, out, errs = run(args...)
		require.Equal(t, cli.ExitUsage, code)
		require.Empty(t, out)
		require.NotContains(t, errs, "secret")
	}
}
