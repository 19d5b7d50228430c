package docs

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command"
)

// Every command of warren in the pages exists, with its flags.
func TestCommandsExist(t *testing.T) {
	c := checker{help: map[string]string{}}
	checked := 0
	for _, p := range readPages(t) {
		lines := p.lines
		for _, b := range slices.Concat(p.blocks, p.hosted) {
			for i, s := range strings.Split(b.text, "\n") {
				lines = append(lines, line{b.at + i, s})
			}
		}
		for _, l := range lines {
			for _, words := range invocations(l.text) {
				checked++
				if err := c.check(words); err != nil {
					t.Errorf("%s:%d: %q: %v", p.name, l.at, l.text, err)
				}
			}
		}
	}
	require.Greater(t, checked, 50, "the pages have many commands: is parsePage broken?")
}

func TestCheck(t *testing.T) {
	c := checker{help: map[string]string{}}
	for text, want := range map[string]string{
		"warren wal verify DIR --from 0x5":                "",
		"bin/warren server 2181 /data -D snapCount=5":     "",
		"sudo -u zookeeper warren status --servers a:1":   "",
		"warren shell -s zk1:2181 get -s /a":              "",
		"warren shell --serverr zk1:2181 ls --nonsense":   "flag --serverr",
		"warren shell --readonly ls --nonsense":           "",
		"warren wall verify":                              "no command wall",
		"warren wal verifie DIR":                          "no command verifie",
		"warren status | grep x && warren status --serve": "flag --serve ",
		"warren status --output=json # --nothing":         "",
		"echo warren server":                              "",
	} {
		var errs []string
		for _, words := range invocations(text) {
			if err := c.check(words); err != nil {
				errs = append(errs, err.Error()+" ")
			}
		}
		if want == "" {
			require.Empty(t, errs, text)
			continue
		}
		require.Len(t, errs, 1, text)
		require.Contains(t, errs[0], want)
	}
}

var (
	separator = regexp.MustCompile(`\|\||&&|[|;&()]|\s#.*$`)
	name      = regexp.MustCompile(`^[a-z][a-z-]+$`)
	variable  = regexp.MustCompile(`^[A-Z_][A-Z_0-9]*=`)
)

// invocations returns the words of each call of warren in a line, without the program.
func invocations(text string) (all [][]string) {
	for _, part := range separator.Split(text, -1) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(part), "$ "))
		for len(words) > 0 &&
			(variable.MatchString(words[0]) ||
				slices.Contains([]string{"if", "while", "until", "!", "do", "exec", "time"}, words[0])) {
			words = words[1:]
		}
		if len(words) > 2 && words[0] == "sudo" {
			words = words[1:]
			if words[0] == "-u" {
				words = words[2:]
			}
		}
		if len(words) > 1 && (words[0] == "warren" || words[0] == "bin/warren") &&
			(name.MatchString(words[1]) || words[1][0] == '-') {
			all = append(all, words[1:])
		}
	}
	return all
}

// checker knows what --help says of each command.
type checker struct{ help map[string]string }

// about returns the help of a command, or of the last one above it that there is.
func (c *checker) about(path ...string) string {
	key := strings.Join(path, " ")
	text, known := c.help[key]
	if !known {
		var out bytes.Buffer
		command.Main(append(slices.Clone(path), "--help"), &out, &out)
		text = out.String()
		c.help[key] = text
	}
	return text
}

// exists reports whether a path is a command of its own.
func (c *checker) exists(path []string) bool {
	usage := regexp.MustCompile(`(?m)^  warren ` + regexp.QuoteMeta(strings.Join(path, " ")) + `( |$)`)
	_, text, _ := strings.Cut(c.about(path...), "Usage:\n")
	return usage.MatchString(strings.SplitN(text, "\n\n", 2)[0])
}

// check returns what is wrong with an invocation.
func (c *checker) check(words []string) error {
	var path []string
	for len(words) > 0 && name.MatchString(words[0]) {
		if slices.Contains([]string{"help", "completion"}, words[0]) {
			return nil
		}
		if !c.exists(append(slices.Clone(path), words[0])) {
			if len(path) == 0 || strings.Contains(c.about(path...), "Available Commands:") {
				return fmt.Errorf("there is no command %s", words[0])
			}
			break
		}
		path = append(path, words[0])
		words = words[1:]
	}
	help := c.about(path...)
	flagBefore := false
	for _, word := range words {
		flag, found := strings.CutPrefix(word, "-")
		if !found || flag == "" {
			if len(path) > 0 && path[0] == "shell" && !flagBefore {
				return nil // what follows is for the shell's command
			}
			flagBefore = false
			continue
		}
		flag, _, hasValue := strings.Cut(word, "=")
		form := regexp.MustCompile(`(?m)^ +(-\w, )?` + regexp.QuoteMeta(flag) + `( \S.*?)?(  |$)`)
		if !strings.HasPrefix(word, "--") {
			form = regexp.MustCompile(`(?m)^ +` + regexp.QuoteMeta(flag[:2]) + `, --[a-zA-Z-]+( \S.*?)?(  |$)`)
		}
		m := form.FindStringSubmatch(help)
		if m == nil {
			return fmt.Errorf("%s has no flag %s", strings.Join(path, " "), flag)
		}
		flagBefore = !hasValue && m[len(m)-2] != ""
	}
	return nil
}
