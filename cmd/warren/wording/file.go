package wording

import (
	"errors"
	"strings"
)

// FileError is what is wrong with a file that a flag or a setting names. It is a wrong configuration, and the usage of
// the command says nothing about it.
type FileError struct {
	By   string // the flag or the key
	File string // as it was given
	Err  error
}

// File returns an error about a file as a *FileError, unless it is one already or nil.
func File(by, file string, err error) error {
	if _, ok := errors.AsType[*FileError](err); ok || err == nil {
		return err
	}
	return &FileError{by, file, err}
}

// Error names the flag or the key, and the file once.
func (e *FileError) Error() string {
	text := Text(e.Err)
	if strings.HasPrefix(text, e.File) {
		return e.By + " " + text
	}
	return e.By + " " + e.File + ": " + text
}

// Unwrap returns what is wrong with the file.
func (e *FileError) Unwrap() error { return e.Err }

// ExitCode is that of a wrong invocation.
func (e *FileError) ExitCode() int { return 2 }
