package shell

import "strings"

// splitWords splits a line at blanks. A word in '...' or "..." keeps its blanks and loses the quotes; a quote without
// its partner is skipped, and a quote inside of a word is part of it. There is no escape. Source: operations 5.2.
func splitWords(line string) []string {
	var words []string
	for {
		line = strings.TrimLeft(line, blanks)
		if line == "" {
			return words
		}
		if quote := line[0]; quote == '"' || quote == '\'' {
			end := strings.IndexByte(line[1:], quote)
			if end < 0 {
				line = line[1:]
				continue
			}
			words = append(words, line[1:1+end])
			line = line[end+2:]
			continue
		}
		end := strings.IndexAny(line, blanks)
		if end < 0 {
			end = len(line)
		}
		words = append(words, line[:end])
		line = line[end:]
	}
}

// commandOf returns the first word of a line, "" if there is none.
func commandOf(line string) string {
	if words := splitWords(line); len(words) > 0 {
		return words[0]
	}
	return ""
}

// blanks are Java's \s.
const blanks = " \t\n\v\f\r"
