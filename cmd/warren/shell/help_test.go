package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Help about a command says what each of its flags means, and its example is a call of that command.
func TestHelpExplainsEveryFlag(t *testing.T) {
	explained := 0
	for _, c := range commands() {
		e, ok := explanations[c.name]
		if ok {
			explained++
		}
		known := c.flags.flags()
		for _, f := range e.flags {
			require.Contains(t, known, f.Flag, c.name)
			require.NotEmpty(t, f.Meaning, c.name)
			delete(known, f.Flag)
		}
		require.Empty(t, known, "flags of %s without a meaning", c.name)
		if e.example == "" {
			require.True(t, c.usage == "" || c.usage == "path", "%s has arguments and no example", c.name)
			continue
		}
		words := splitWords(e.example)
		require.Equal(t, c.name, words[0])
		a, err := c.flags.parse(words[1:])
		require.NoError(t, err, e.example)
		require.GreaterOrEqual(t, len(a.words), c.wordsMin, e.example)
	}
	require.Len(t, explanations, explained, "an explanation of no command")
}

func TestHelpOfOneCommand(t *testing.T) {
	x := quiet(t)
	out, _, code := x.do("help exit") // an alias
	require.Equal(t, codeOK, code)
	require.Equal(t, "quit \n        end the shell\n", out)
	out, _, _ = x.do("help tree")
	require.Equal(t, "tree [-s] [-d depth] path\n        draw a subtree\n        -s  show versions and sizes\n"+
		"        -d  so many levels (default: all)\n        for example: tree -d 2 /app\n", out)
	out, _, _ = x.do("help")
	require.NotContains(t, out, "for example")
}
