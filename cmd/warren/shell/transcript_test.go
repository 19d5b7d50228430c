package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

const manual = "../../../docs/SHELL.md"

// blocks of a document that begin with ```shell hold a session: lines that begin with the prompt are commands, the
// others what they print. A block that begins with ```shell json is one of --output json.
var block = regexp.MustCompile("(?ms)^```shell( json)?\n(.*?)^```$")

const promptText = "> "

// variable are the parts of an output that no two runs have in common.
var variable = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(.Zxid) = 0x[1-9a-f][0-9a-f]*`), "$1 = 0x1c"},
	{regexp.MustCompile(`(.time) = \w{3} \w{3} \d\d \d\d:\d\d:\d\d \S+ \d{4}`), "$1 = Sat Nov 21 12:00:00 UTC 2026"},
	{regexp.MustCompile(`"(.time)":"[^"]*"`), `"$1":"2026-11-21T12:00:00.000Z"`},
	{regexp.MustCompile(`"(.[zZ]xid|zxid)":"0x[1-9a-f][0-9a-f]*"`), `"$1":"0x1c"`},
	{regexp.MustCompile(`zxid: \d+`), "zxid: 28"},
	{regexp.MustCompile(`phemeralOwner = 0x[1-9a-f][0-9a-f]+`), "phemeralOwner = 0x1a1feed5a0c0008"},
}

func steady(text string) string {
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.replacement)
	}
	return text
}

// The sessions in docs/SHELL.md are what the shell prints. Run with -update to write them anew.
func TestTranscript(t *testing.T) {
	was := must.ReadFile(t, manual)
	s := startServer(t.TempDir())
	defer s.Stop()
	t.Chdir(t.TempDir()) // for files of export
	require.NotEmpty(t, block.FindAllStringSubmatch(string(was), -1))
	now := block.ReplaceAllStringFunc(string(was), func(old string) string {
		parts := block.FindStringSubmatch(old)
		both := new(cluster.Output)
		shell := must.Do(New(Options{Servers: s.Addr().String(), Timeout: 1e10, ConnectWait: 1e10, Quiet: true,
			JSON: parts[1] != "", Hints: true, Version: "3.9.4-0000000000000000000000000000000000000000, built on " +
				"11/21/2026 12:00 UTC", Out: both, Err: both}))(t)
		defer shell.Close()
		shell.printed.Store(true)
		shell.line(t.Context(), "sync /")
		both.Take() // of the connection
		shell.entered = nil
		var b strings.Builder
		for line := range strings.Lines(parts[2]) {
			command, ok := strings.CutPrefix(line, promptText)
			if !ok {
				continue
			}
			shell.line(t.Context(), command)
			b.WriteString(promptText + command + steady(both.Take()))
		}
		return "```shell" + parts[1] + "\n" + b.String() + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(home, manual), []byte(now), 0o644))
		return
	}
	require.Equal(t, string(was), now,
		"if this is what the shell should print, run `go test ./cmd/warren/shell -run Transcript -update`")
}

// home is the folder of the package; the test changes its own.
var home = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(fmt.Sprint("no working directory: ", err))
	}
	return dir
}()

// Every command is in the document.
func TestEveryCommandIsDocumented(t *testing.T) {
	text := must.ReadFile(t, filepath.Join(home, manual))
	for _, c := range commands() {
		require.Contains(t, string(text), "\n"+promptText+c.name, "no session shows %s", c.name)
	}
}
