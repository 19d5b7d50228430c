package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/client"
)

// flagSet says which flags a command takes, separated by blanks, each followed by a colon if it has a value: "s v:".
type flagSet string

// flags returns the names, and whether each takes a value.
func (s flagSet) flags() map[string]bool {
	known := map[string]bool{}
	for flag := range strings.FieldsSeq(string(s)) {
		name, hasValue := strings.CutSuffix(flag, ":")
		known[name] = hasValue
	}
	return known
}

// arguments are the words after a command's name.
type arguments struct {
	flags map[string]string
	words []string // those that are not flags, in order
}

func (a *arguments) has(flag string) bool {
	_, ok := a.flags[flag]
	return ok
}

// word returns the i-th word, "" if there is none.
func (a *arguments) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

// number returns the value of a flag, or otherwise if the flag is not given.
func (a *arguments) number(flag string, otherwise int32) (int32, error) {
	text, ok := a.flags[flag]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, wrong(fmt.Sprintf("-%s argument must be an int value", flag),
			"give a number instead of "+strconv.Quote(text))
	}
	return int32(n), nil
}

// numberAndPath is number for a command about a path, which it checks, too.
func (a *arguments) numberAndPath(flag string, otherwise int32, path string) (int32, error) {
	n, err := a.number(flag, otherwise)
	if err == nil {
		err = checkPath(path, false)
	}
	return n, err
}

// stat returns the Stat of a result if it was asked for, nil otherwise.
func (a *arguments) stat(st client.Stat) *shownStat {
	if !a.has("s") {
		return nil
	}
	return (*shownStat)(&st)
}

// parse reads flags wherever they stand, as Apache's commons-cli does: "-sw" is "-s -w", "-n7" is "-n 7", and after
// "--" there are none. A value may begin with a dash unless it is a flag itself.
func (s flagSet) parse(words []string) (*arguments, error) {
	known := s.flags()
	a := &arguments{flags: map[string]string{}}
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			a.words = append(a.words, words[i+1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			a.words = append(a.words, word)
			continue
		}
		for rest := word[1:]; rest != ""; {
			name := rest
			hasValue, ok := known[name]
			if ok {
				rest = ""
			} else {
				name, rest = rest[:1], rest[1:]
				if hasValue, ok = known[name]; !ok {
					return nil, wrong("Unrecognized option: "+word, "")
				}
			}
			value := ""
			if hasValue {
				value, rest = rest, ""
				if value == "" {
					if i+1 == len(words) || isFlag(known, words[i+1]) {
						return nil, wrong("Missing argument for option: "+name, "")
					}
					i++
					value = words[i]
				}
			}
			a.flags[name] = value
		}
	}
	return a, nil
}

func isFlag(known map[string]bool, word string) bool {
	if !strings.HasPrefix(word, "-") {
		return false
	}
	_, ok := known[word[1:]]
	return ok
}

// unsent is the error of a command whose context has ended before it was run.
func (a *arguments) unsent() error {
	path := a.word(0)
	if !strings.HasPrefix(path, "/") {
		path = "/"
	}
	return &client.Error{Op: "connect", Path: path, Err: context.Canceled}
}
