package console

import (
	"fmt"
	"strings"
	"time"
)

// when writes ms since 1970; 0 is the time of the znodes that every tree begins with.
func when(ms int64) string {
	if ms == 0 {
		return "with the tree itself"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}

// ago tells how long a time is past, after the time itself; the time of the first znodes is not told.
func ago(ms int64) string {
	past := time.Now().UnixMilli() - ms
	if ms == 0 || past < 0 {
		return ""
	}
	return ", " + duration(past) + " ago"
}

// duration writes ms.
func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

func sizeOf(n int64) string {
	switch f := float64(n); {
	case n == 1:
		return "1 byte"
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", f/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", f/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", f/(1<<30))
	}
}
