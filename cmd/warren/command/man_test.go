package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/must"
)

// There is a page for every command that --help lists, and each names every flag.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	var errs bytes.Buffer
	require.Zero(t, Main([]string{"man", dir}, &errs, &errs), errs.String())
	root := newRootCommand()
	pages := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		pages++
		b := must.ReadFile(t, filepath.Join(dir, pageName(cmd)+".1"))
		page := string(b)
		require.True(t, strings.HasPrefix(page, ".TH WARREN"), page)
		for _, section := range []string{".SH NAME\n", ".SH SYNOPSIS\n"} {
			require.Contains(t, page, section)
		}
		for line := range strings.Lines(page) {
			if line[0] == '.' {
				macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				require.Contains(t, []string{".TH", ".SH", ".PP", ".nf", ".fi", ".TP", ".BR"}, macro)
			}
		}
		for _, line := range strings.Split(cmd.LocalFlags().FlagUsages(), "\n") {
			for _, word := range strings.Fields(line)[:min(2, len(strings.Fields(line)))] {
				if strings.HasPrefix(word, "--") {
					require.Contains(t, page, roff(word), pageName(cmd))
				}
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
	require.GreaterOrEqual(t, len(must.ReadDir(t, dir)), pages) // cobra's own commands have pages, too
	require.Contains(t, string(must.ReadFile(t, filepath.Join(dir, "warren-wal-verify.1"))), `.BR warren\-wal (1)`)
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		"plain":          "plain",
		".hidden\n'too":  "\\&.hidden\n\\&'too",
		`a\b --flag`:     `a\eb \-\-flag`,
		"no dot. inside": "no dot. inside",
	} {
		require.Equal(t, want, roff(text))
	}
}

func TestManUsage(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, cli.ExitUsage, Main([]string{"man"}, &out, &out))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.Equal(t, cli.ExitUnexpected, Main([]string{"man", file}, &out, &out))
}
