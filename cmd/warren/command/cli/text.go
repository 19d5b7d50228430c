package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// NeedsCredentials says what a command lacks to which a server refuses something without credentials.
const NeedsCredentials = "this needs a super user, or every permission on /: put USER:PASSWORD into a file, and " +
	"name the file with --auth-file"

// Clock is a time in milliseconds since 1970 as it is printed.
func Clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// Printf is fmt.Fprintf for a command whose output ends here: it fails if the output is lost.
func Printf(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// Printable returns a path as it is, or quoted if it has what would spoil a line.
func Printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || strings.Contains(s, " ") {
		return q
	}
	return s
}
