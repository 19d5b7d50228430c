package config

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes of operations 1.3 that a configuration can cause.
const (
	ExitInvalid = 2 // invalid invocation or configuration
	ExitDataDir = 3 // a data directory cannot be used
)

// position is where a setting was written.
type position struct {
	file string // file name, "-D", or the name of an environment variable
	line int    // 1-based, 0 outside files
}

// String returns file:line, or the file alone.
func (p position) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// Problem is one reason why a configuration cannot be used.
type Problem struct {
	// File is the file, "-D" for the command line, or the environment variable. A setting that is missing everywhere
	// is missing in the file; without a file, empty.
	File string
	// Line is the 1-based line of File, 0 if there is none.
	Line int
	// Key is the setting as it was written, empty for problems of the file itself.
	Key string
	// Value is the text of the setting; the values of passwords are left out.
	Value string
	// Rule is the broken rule, in ZooKeeper's words where ZooKeeper has a message.
	Rule string
	// Code is the exit code of the process, one of the Exit constants.
	Code int
	// Err is the error that Rule tells of, nil for a rule that is broken by the setting itself.
	Err error
}

// Error returns "file:line: key = value: rule", without the unknown parts. A rule that begins with the file says it
// alone.
func (p *Problem) Error() string {
	var b strings.Builder
	if p.File != "" && !strings.HasPrefix(p.Rule, p.File+" ") {
		b.WriteString(position{p.File, p.Line}.String())
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		if p.Value != "" {
			fmt.Fprintf(&b, " = %q", p.Value)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.Rule)
	return b.String()
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// ExitCode returns the exit code of the process.
func (p *Problem) ExitCode() int { return p.Code }

// Problems are all problems of a configuration, in the order of the file. It is the error of Load, Parse and
// Validate; each element is reachable by errors.As.
type Problems []*Problem

// Error returns one problem a line.
func (ps Problems) Error() string { return "config: " + errors.Join(ps.Unwrap()...).Error() }

// Unwrap returns the problems.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// ExitCode returns the exit code of the process: ExitInvalid if any problem has it, else that of the first.
func (ps Problems) ExitCode() int {
	for _, p := range ps {
		if p.Code == ExitInvalid {
			return ExitInvalid
		}
	}
	return ps[0].Code
}

// rule is the text of a broken rule. Many are ZooKeeper's own sentences, which operators search for, and not in
// the style of errors.
type rule string

func (r rule) Error() string { return string(r) }

func rulef(format string, args ...any) error { return rule(fmt.Sprintf(format, args...)) }

// err returns ps as an error, nil if there is no problem.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Warning is a message for the operator that does not stop the server.
type Warning struct {
	// File and Line are as in Problem.
	File string
	Line int
	// Key is the setting, empty if the warning is about several.
	Key string
	// Text is the warning, without place and key.
	Text string
}

// String returns "file:line: key: text", without the unknown parts.
func (w Warning) String() string {
	return (&Problem{File: w.File, Line: w.Line, Key: w.Key, Rule: w.Text}).Error()
}

// Warnings are the warnings of one configuration, in the order of the file.
type Warnings []Warning
