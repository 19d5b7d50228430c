package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed94657493/warren/proto/paths"
)

// Completion waits so long for the server, and lists so many candidates.
const (
	completeWait = 2 * time.Second
	candidateMax = 200
)

// completion is what a line becomes when Tab is pressed at pos.
type completion struct {
	line       string
	pos        int
	candidates []string // to be listed because nothing could be added
}

// complete completes the word before pos: the first of a line to a command, one that begins with / (or a quote and /)
// to a znode, one that begins with - to a flag of the command, and those that have few values to one of them.
func (s *Shell) complete(ctx context.Context, line string, pos int) completion {
	unchanged := completion{line: line, pos: pos}
	start, quote := lastWord(line[:pos])
	word := line[start:pos]
	if quote != 0 {
		word = word[1:]
	}
	var candidates []string
	switch {
	case strings.TrimSpace(line[:start]) == "" && quote == 0:
		candidates = withPrefix(commandNames(), word)
	case strings.HasPrefix(word, "/"):
		candidates = s.completePath(ctx, word)
	case quote == 0:
		candidates = completeArgument(splitWords(line[:start]), word)
	}
	if len(candidates) == 0 {
		return unchanged
	}
	added := commonPrefix(candidates)
	if len(added) <= len(word) && len(candidates) > 1 {
		unchanged.candidates = candidates
		return unchanged
	}
	isWhole := strings.HasSuffix(added, " ")
	added = strings.TrimSuffix(added, " ")
	if quote == 0 && strings.ContainsAny(added, blanks) {
		quote = '\''
	}
	text := added
	if quote != 0 {
		text = string(quote) + added
		if isWhole {
			text += string(quote)
		}
	}
	if isWhole {
		text += " "
	}
	return completion{line: line[:start] + text + line[pos:], pos: start + len(text)}
}

// lastWord returns where the last word of a line begins, and the quote that it begins with and that is not closed, 0
// if there is none.
func lastWord(line string) (start int, quote byte) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote, start = 0, i+1
		case quote != 0:
		case strings.IndexByte(blanks, c) >= 0:
			start = i + 1
		case (c == '"' || c == '\'') && i == start:
			quote = c
		}
	}
	return start, quote
}

// completePath returns the children of the deepest complete parent in a path that go on as the path does: one alone
// with a blank behind it or, if it has children and the path is it already, with a slash.
func (s *Shell) completePath(ctx context.Context, path string) []string {
	if s.link.isOver() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeWait)
	defer cancel()
	names, _, err := s.children(ctx, paths.ParentOf(path), false)
	if err != nil {
		return nil // there is nothing to complete, and a message would be in the way
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, paths.NameOf(path)) })
	for i, name := range names {
		names[i] = paths.ChildOf(paths.ParentOf(path), name)
	}
	if len(names) == 1 {
		stat, exists, err := s.link.client.Exists(ctx, names[0])
		switch {
		case err != nil, !exists:
		case stat.NumChildren == 0:
			names[0] += " "
		case names[0] == path: // not before, because a path that ends with a slash is refused
			names[0] += "/"
		}
	}
	return names
}

// commonPrefix returns what all candidates begin with, in whole characters.
func commonPrefix(candidates []string) string {
	prefix := candidates[0]
	for _, c := range candidates[1:] {
		for !strings.HasPrefix(c, prefix) {
			_, n := utf8.DecodeLastRuneInString(prefix)
			prefix = prefix[:len(prefix)-n]
		}
	}
	return prefix
}

// columns lists candidates as wide as a screen, by their last component.
func columns(candidates []string, width int) string {
	rest := ""
	if n := len(candidates) - candidateMax; n > 0 {
		candidates, rest = candidates[:candidateMax], fmt.Sprintf("... and %d more\n", n)
	}
	names := make([]string, 0, len(candidates))
	widest := 0
	for _, c := range candidates {
		name := strings.TrimRight(c, " /")
		if strings.HasPrefix(name, "/") {
			name = paths.NameOf(name)
		}
		names = append(names, name)
		widest = max(widest, utf8.RuneCountInString(name))
	}
	perRow := max(width/(widest+2), 1)
	var b strings.Builder
	for row := range slices.Chunk(names, perRow) {
		for i, name := range row {
			b.WriteString(name)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widest+2-utf8.RuneCountInString(name)))
			}
		}
		b.WriteByte('\n')
	}
	return b.String() + rest
}
