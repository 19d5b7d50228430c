// Command unentered prints the blocks of code that none of the given coverage profiles has entered, with their first
// line: what no seed has tried. Several profiles count as one run.
//
//	go run ./test/seeds/unentered PROFILE...
package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

const module = "github.com/seed94657493/warren/"

// block is where a block of statements lies. Lines and columns count from 1.
type block struct {
	file                             string
	line, column, endLine, endColumn int
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "unentered:", err)
		os.Exit(1)
	}
}

func run(profiles []string) error {
	entered := map[block]bool{}
	for _, name := range profiles {
		if err := read(name, entered); err != nil {
			return err
		}
	}
	var never []block
	for b, ok := range entered {
		if !ok {
			never = append(never, b)
		}
	}
	slices.SortFunc(never, func(a, b block) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	sources := map[string][]string{}
	for _, b := range never {
		if sources[b.file] == nil {
			text, err := os.ReadFile(b.file)
			if err != nil {
				return err
			}
			sources[b.file] = strings.Split(string(text), "\n")
		}
		fmt.Printf("%s:%d: %s\n", b.file, b.line, first(sources[b.file], b))
	}
	fmt.Printf("%d of %d blocks were not entered\n", len(never), len(entered))
	return nil
}

// read adds the blocks of a profile to those of the profiles before it.
func read(name string, entered map[block]bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		file, rest, ok := strings.Cut(lines.Text(), ".go:")
		if !ok {
			continue // the mode
		}
		b := block{file: strings.TrimPrefix(file, module) + ".go"}
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &b.endLine, &b.endColumn,
			&statements, &count); err != nil {
			return fmt.Errorf("%s: %q: %w", name, rest, err)
		}
		entered[b] = entered[b] || count > 0
	}
	return nil
}

// first returns the condition that leads into a block, which ends in its opening brace, and the first statement.
func first(source []string, b block) string {
	text := strings.TrimSpace(source[b.line-1])
	if b.line < b.endLine && strings.HasSuffix(text, "{") {
		text += " " + strings.TrimSpace(source[b.line])
	}
	return text
}
