package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// source is the place where an assignment was written. Larger ones are reported later.
type source uint8

const (
	fromFile source = iota
	// -D tokens of JVMFLAGS and SERVER_JVMFLAGS, and other variables that ZooKeeper's scripts read.
	fromJava
	fromEnvironment // WARREN_ variables
	fromCommandLine
	sources
)

// assignment is one key and value, as given.
type assignment struct {
	source
	written string // the key with its prefix, if it had one
	key     string // the key without the prefix "zookeeper."
	value   string
	pos     position
	used    bool // it has been applied, or a later one replaced it
}

// loader builds one Config out of assignments and collects their problems.
type loader struct {
	c             *Config
	problems      Problems
	warnings      Warnings
	given         [sources]map[string]*assignment // by key
	order         []*assignment                   // as they came
	withoutEffect []string                        // options and keys that only a Java server needs
	bad           map[string]bool                 // names of settings that have a problem already
	weights       map[int64]int64
	dynamic       bool   // members come from the dynamic file
	complete      bool   // every file that counts has been read
	idVariable    string // the variable that stands in for the file myid
}

func newLoader(c *Config) *loader {
	l := &loader{c: c, idVariable: "ZOO_MY_ID", bad: map[string]bool{}, weights: map[int64]int64{}}
	for i := range l.given {
		l.given[i] = map[string]*assignment{}
	}
	return l
}

// assign notes one assignment. Within a source the last one of a key wins; if that changes the value, there is a
// warning.
func (l *loader) assign(src source, written, value string, pos position) {
	a := &assignment{source: src, written: written, key: strings.TrimPrefix(written, "zookeeper."),
		value: value, pos: pos}
	if old := l.given[src][a.key]; old != nil {
		if old.value != value {
			l.warn(pos, written, fmt.Sprintf("replaces the value given at %s", old.pos))
		}
		old.used = true
	}
	l.given[src][a.key] = a
	l.order = append(l.order, a)
}

// finish applies every assignment, reads the files that they name if readFiles is set, and checks the result.
func (l *loader) finish(envID string, readFiles bool) (*Config, Warnings, error) {
	l.complete = readFiles
	for _, s := range l.c.settings() {
		l.applySetting(s)
	}
	l.dynamic = l.c.DynamicConfigFile != ""
	l.applyRest()
	l.warnInert()
	if l.dynamic && readFiles {
		l.readDynamicFile()
	}
	l.c.setWeights(l.weights)
	if readFiles {
		l.readID(envID)
	}
	l.adoptOwnLine()
	l.c.resolve()
	l.validate()
	l.sort()
	for _, p := range l.problems {
		p.File = cmp.Or(p.File, l.c.File)
	}
	if err := l.problems.err(); err != nil {
		return nil, l.warnings, err
	}
	return l.c, l.warnings, nil
}

// applySetting sets one field from the assignment that takes precedence.
func (l *loader) applySetting(s setting) {
	var at [sources]*assignment
	for src := range at {
		for _, key := range s.keys {
			a := l.given[src][key]
			if a == nil {
				continue
			}
			a.used = true
			if at[src] == nil {
				at[src] = a
			} else if at[src].value != a.value {
				l.warn(a.pos, a.written, fmt.Sprintf("loses against %s at %s", at[src].written, at[src].pos))
			}
		}
	}
	a := l.winner(s.kind, at)
	if a == nil {
		return
	}
	l.c.origins[s.name()], l.c.values[s.name()] = a.pos, a.value
	warning, err := s.parse(a.value)
	if err != nil {
		value := a.value
		if s.secret {
			value = ""
		}
		l.bad[s.name()] = true
		rule := err.Error()
		if a.value == "" {
			rule = "has no value, and " + rule
		}
		l.problem(a.pos, a.written, value, rule)
	}
	l.warn(a.pos, a.written, warning)
	if s.inFile != nil && a.pos.line > 0 {
		l.warn(a.pos, a.written, s.inFile(a.value))
	}
}

// winner returns the assignment of one setting that takes precedence among its sources, and warns if another one
// differs. Source: operations 1.1.
func (l *loader) winner(k kind, at [sources]*assignment) *assignment {
	order := []source{fromCommandLine, fromEnvironment, fromJava, fromFile}
	if k == passthrough {
		order = []source{fromFile, fromCommandLine, fromEnvironment, fromJava}
	}
	var won *assignment
	for _, src := range order {
		switch a := at[src]; {
		case a == nil:
		case won == nil:
			won = a
		case won.value != a.value:
			l.warn(won.pos, won.written, fmt.Sprintf("wins over a different value at %s", a.pos))
		}
	}
	return won
}

// applyRest applies the keys that are not settings of one field: members, families, keys without effect, unknown
// ones.
func (l *loader) applyRest() {
	families := l.c.families()
	for _, a := range l.order {
		if a.used {
			continue
		}
		var at [sources]*assignment
		for src := range at {
			if at[src] = l.given[src][a.key]; at[src] != nil {
				at[src].used = true
			}
		}
		l.applyFree(at, a.key, families)
	}
	if len(l.withoutEffect) > 0 {
		l.warn(position{}, "",
			"settings of a Java server that have no effect here: "+strings.Join(l.withoutEffect, ", "))
	}
}

// applyFree takes one key that is not the setting of one field.
func (l *loader) applyFree(at [sources]*assignment, key string, families []family) {
	if isMemberKey(key) {
		l.applyMember(l.winner(native, at))
		return
	}
	for _, f := range families {
		if suffix, ok := strings.CutPrefix(key, f.prefix); ok {
			a := l.winner(f.kind, at)
			l.c.values[key], l.c.origins[key] = a.value, a.pos
			warning, err := f.add(suffix, a.value)
			if err != nil {
				l.problem(a.pos, a.written, a.value, err.Error())
			}
			l.warn(a.pos, a.written, warning)
			return
		}
	}
	a := l.winner(native, at)
	if hasNoEffect(key) {
		l.withoutEffect = append(l.withoutEffect, a.written)
		return
	}
	l.warn(a.pos, a.written, "key is not known and has no effect"+l.suggestion(key))
}

func (l *loader) applyMember(a *assignment) {
	if l.dynamic && a.source == fromFile {
		l.problem(a.pos, a.written, a.value, "parameter: "+a.key+" must be in a separate dynamic config file")
		return
	}
	l.addMember(a.pos, a.key, a.value)
}

func (l *loader) addMember(pos position, key, value string) {
	warning, err := l.c.addMember(key, value, l.weights)
	if err != nil {
		l.bad["members"] = true
		l.problem(pos, key, value, err.Error())
		return
	}
	l.c.origins[key] = pos
	l.warn(pos, key, warning)
}

func (l *loader) problem(pos position, key, value, rule string) {
	l.problems = append(l.problems,
		&Problem{File: pos.file, Line: pos.line, Key: key, Value: value, Rule: rule, Code: ExitInvalid})
}

// warn adds a warning; an empty text is none.
func (l *loader) warn(pos position, key, text string) {
	if text != "" {
		l.warnings = append(l.warnings, Warning{File: pos.file, Line: pos.line, Key: key, Text: text})
	}
}

// sort puts the messages into the order of the files; those without a place come last.
func (l *loader) sort() {
	rank := func(file string) int {
		switch file {
		case l.c.File:
			return 0
		case "":
			return 2
		}
		return 1
	}
	slices.SortStableFunc(l.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(rank(a.File), rank(b.File)), cmp.Compare(a.Line, b.Line))
	})
	slices.SortStableFunc(l.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(rank(a.File), rank(b.File)), cmp.Compare(a.Line, b.Line))
	})
}
