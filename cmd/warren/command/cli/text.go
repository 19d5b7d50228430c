package cli

import (
	"strconv"
	"strings"
	"time"
)

// Clock is a time in milliseconds since 1970 as it is printed.
func Clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// Printable returns a path as it is, or quoted if it has what would spoil a line.
func Printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || strings.Contains(s, " ") {
		return q
	}
	return s
}
